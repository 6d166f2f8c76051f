#include "device/profile.h"

#include <cstdio>

#include "runtime/model.h"

namespace lq::tools {

void print_profile(const std::vector<Step>& steps, const std::vector<StepTime>& times) {
  double total = 0, macs = 0;
  double macs_of_isa[kIsaCount] = {};
  for (const StepTime& t : times) total += t.milliseconds;
  std::printf("%-22s %-34s %9s %7s %9s  %s\n", "operator", "kernel", "ms", "share", "GMAC/s", "node");
  for (size_t i = 0; i < steps.size() && i < times.size(); ++i) {
    const Step& s = steps[i];
    const double ms = times[i].milliseconds;
    macs += double(s.macs);
    macs_of_isa[int(s.isa)] += double(s.macs);
    std::printf("%-22s %-34s %9.4f %6.2f%% ", op_name(s.op), s.kernel, ms, total > 0 ? 100 * ms / total : 0);
    if (s.macs > 0 && ms > 0) {
      std::printf("%9.2f", double(s.macs) / ms / 1e6);
    } else {
      std::printf("%9s", "-");
    }
    std::printf("  %s", s.node_name.c_str());
    for (const Step& fused : s.fused) std::printf(" + %s %s", op_name(fused.op), fused.kernel);
    std::printf("\n");
  }
  std::printf("total_ms %.4f\n", total);
  for (int i = 0; i < kIsaCount; ++i) {
    std::printf("mac_share_%s %.4f\n", isa_name(Isa(i)), macs > 0 ? macs_of_isa[i] / macs : 0);
  }
}

}  // namespace lq::tools
