// percentile P: at most a share (100 − P) % of the histogram's values is clipped, half of it on each side when both
// sides hold values. Thresholds are ends of bins, of fine ones where these lie across an edge, so a little less may be
// clipped, never more.
#include <algorithm>
#include <cmath>

#include "calibration/methods/method.h"

namespace lq::calibration {
namespace {

/// End of the outermost bin that must stay when `allowed` values may be dropped from the outside.
double side_threshold(const Histogram& histogram, const std::vector<uint64_t>& bins, uint64_t allowed) {
  uint64_t dropped = 0;
  for (int b = kBins - 1; b >= 0; --b) {
    dropped += bins[size_t(b)];
    if (dropped > allowed) return histogram.reach(b);
  }
  return 0;
}

}  // namespace

ValueRange percentile_threshold(const MethodInput& input) {
  const Histogram& h = input.histogram;
  const double share = (100.0 - input.parameter) / 100.0;
  const bool two_sided = input.range.min < 0 && input.range.max > 0;
  const auto allowed = uint64_t(std::floor(double(h.total()) * (two_sided ? share / 2 : share)));
  return {std::max(input.range.min, float(-side_threshold(h, h.negative(), allowed))),
          std::min(input.range.max, float(side_threshold(h, h.positive(), allowed)))};
}

}  // namespace lq::calibration
