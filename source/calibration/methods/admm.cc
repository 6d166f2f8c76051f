// admm: the step whose rounded values are closest to the tensor's, found by turns: given the step, every value takes
// its nearest level; given the levels, the step is the least-squares fit. (Leng et al. 2018, "Extremely Low Bit Neural
// Network: Squeeze the Last Bit Out with ADMM", section 3, equations 12 and 13: the projection of the proximal step.)
// Values stand for the middle of their bin. Each turn lowers the squared error, so it ends in a local minimum near
// where it starts: at the whole range.
#include <algorithm>
#include <cmath>

#include "calibration/methods/method.h"

namespace lq::calibration {
namespace {

constexpr int kTurns = 100;
constexpr double kSettled = 1e-6;

}  // namespace

ValueRange admm_threshold(const MethodInput& input) {
  const std::vector<uint64_t> fold = input.histogram.fold();
  const double limit = input.histogram.limit(), bin_width = limit / kBins, top = input.levels - 1;
  double step = limit / top;
  for (int turn = 0; turn < kTurns; ++turn) {
    double values = 0, levels = 0;  // Σ x·q, Σ q²
    for (int b = 0; b < kBins; ++b) {
      if (fold[size_t(b)] == 0) continue;
      const double x = (b + 0.5) * bin_width, q = std::min(double(int(x / step + 0.5)), top);
      values += double(fold[size_t(b)]) * x * q;
      levels += double(fold[size_t(b)]) * q * q;
    }
    if (levels == 0) break;
    const double next = values / levels;
    const bool settled = std::fabs(next - step) <= kSettled * step;
    step = next;
    if (settled) break;
  }
  return clip_range(input.range, std::min(step * top, limit));
}

}  // namespace lq::calibration
