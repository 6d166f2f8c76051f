#include "device/cores.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

#if defined(__linux__)
#include <sched.h>
#endif

namespace lq::tools {
namespace {

constexpr int kMaxCore = 1023;

/// The number in a file of one line, -1 without one.
long read_number(const std::string& path) {
  std::ifstream file(path);
  long value = -1;
  return file >> value ? value : -1;
}

std::string core_file(const std::string& folder, int core, const char* name) {
  return folder + "/cpu" + std::to_string(core) + "/" + name;
}

bool exists(const std::string& folder, int core) {
  return std::ifstream(core_file(folder, core, "cpu_capacity")).good() ||
         std::ifstream(core_file(folder, core, "cpufreq/cpuinfo_max_freq")).good();
}

Result<std::vector<int>> cores_of_kind(bool big, const std::string& folder) {
  std::vector<long> capacity;
  for (int core = 0; core <= kMaxCore && exists(folder, core); ++core) {
    const long told = read_number(core_file(folder, core, "cpu_capacity"));
    capacity.push_back(told >= 0 ? told : read_number(core_file(folder, core, "cpufreq/cpuinfo_max_freq")));
  }
  const char* name = big ? "big" : "little";
  if (capacity.empty())
    return not_found(std::string("--cores ") + name +
                     ": this system does not tell its cores' capacity; give a list, e.g. 0-3");
  const auto [least, most] = std::minmax_element(capacity.begin(), capacity.end());
  if (*least == *most)
    return not_found(std::string("--cores ") + name + ": all " + std::to_string(capacity.size()) +
                     " cores are alike; give a list, e.g. 0");
  std::vector<int> cores;
  for (size_t i = 0; i < capacity.size(); ++i) {
    if (capacity[i] == (big ? *most : *least)) cores.push_back(int(i));
  }
  return cores;
}

bool parse_number(std::string_view text, int base, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

/// "0-3,6"
bool parse_list(std::string_view text, std::vector<int>& cores) {
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const size_t dash = part.find('-');
    uint64_t first = 0, last = 0;
    if (!parse_number(part.substr(0, dash), 10, first)) return false;
    if (dash == std::string_view::npos) {
      last = first;
    } else if (!parse_number(part.substr(dash + 1), 10, last)) {
      return false;
    }
    if (first > last || last > kMaxCore) return false;
    for (uint64_t core = first; core <= last; ++core) cores.push_back(int(core));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return true;
}

std::vector<int> allowed_cores() {
  std::vector<int> cores;
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
#endif
  return cores;
}

/// MHz, 0 if nobody tells.
long clock_of(int core, const std::string& folder) {
  const long khz = read_number(core_file(folder, core, "cpufreq/scaling_cur_freq"));
  if (khz > 0) return khz / 1000;
  if (folder != kCpuFolder) return 0;
  std::ifstream file("/proc/cpuinfo");
  int current = -1;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    if (line.starts_with("processor")) current = std::atoi(line.c_str() + colon + 1);
    if (current == core && line.starts_with("cpu MHz")) return std::atol(line.c_str() + colon + 1);
  }
  return 0;
}

}  // namespace

Result<std::vector<int>> parse_cores(const std::string& text, const std::string& folder) {
  if (text == "big" || text == "little") return cores_of_kind(text == "big", folder);
  std::vector<int> cores;
  uint64_t mask = 0;
  if (text.starts_with("0x") && parse_number(std::string_view(text).substr(2), 16, mask)) {
    for (int core = 0; core < 64; ++core) {
      if (mask >> core & 1) cores.push_back(core);
    }
  } else if (!parse_list(text, cores)) {
    cores.clear();
  }
  if (cores.empty())
    return invalid_argument("--cores: '" + text + "' is not big, little, a mask such as 0xf0 or a list such as 0-3,6");
  return cores;
}

std::string describe_cores(const std::vector<int>& given, const std::string& folder) {
  const std::vector<int> cores = given.empty() ? allowed_cores() : given;
  std::string text, clocks;
  for (const int core : cores) {
    text += (text.empty() ? "" : ",") + std::to_string(core);
    const long mhz = clock_of(core, folder);
    if (mhz > 0) clocks += (clocks.empty() ? "" : ",") + std::to_string(mhz);
  }
  if (text.empty()) text = "unknown";
  return text + (clocks.empty() ? ", clock unknown" : " at " + clocks + " MHz");
}

}  // namespace lq::tools
