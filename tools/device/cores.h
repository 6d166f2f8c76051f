// The processors of this machine as Linux and Android describe them: which are big, which little, how fast they run
// now.
#pragma once
#include <string>
#include <vector>

#include "base/status.h"

namespace lq::tools {

inline constexpr const char* kCpuFolder = "/sys/devices/system/cpu";

/// "big" (those of the highest capacity), "little" (of the lowest), a hexadecimal mask ("0xf0") or a list ("0-3,6").
/// Capacity is cpu_capacity, or cpufreq/cpuinfo_max_freq; where neither is told or all are alike, big and little are an
/// error: naming all cores so would be a lie.
Result<std::vector<int>> parse_cores(const std::string& text, const std::string& folder = kCpuFolder);

/// "0,1 at 2841 MHz"; clocks are what the kernel tells now (cpufreq, or /proc/cpuinfo), "clock unknown" without. Empty:
/// all cores the calling thread may run on.
std::string describe_cores(const std::vector<int>& cores, const std::string& folder = kCpuFolder);

}  // namespace lq::tools
