// mse: the threshold with the smallest expected squared quantization error, values standing for the middle of their
// bin. Rounding error inside, clipping error outside; 256 candidates T = limit·k/256, steps of T/(levels − 1).
#include <cmath>

#include "calibration/methods/method.h"

namespace lq::calibration {
namespace {

constexpr int kCandidates = 256;

double squared_error(const std::vector<uint64_t>& fold, double bin_width, double threshold, int levels) {
  const double step = threshold / (levels - 1), steps_per_unit = (levels - 1) / threshold;
  double error = 0;
  for (int b = 0; b < kBins; ++b) {
    if (fold[size_t(b)] == 0) continue;
    const double x = (b + 0.5) * bin_width;
    const double quantized = x >= threshold ? threshold : double(int(x * steps_per_unit + 0.5)) * step;
    error += double(fold[size_t(b)]) * (x - quantized) * (x - quantized);
  }
  return error;
}

}  // namespace

double expected_squared_error(const Histogram& histogram, double threshold, int levels) {
  return threshold > 0 ? squared_error(histogram.fold(), histogram.limit() / kBins, threshold, levels) : 0;
}

ValueRange mse_threshold(const MethodInput& input) {
  const Histogram& h = input.histogram;
  const std::vector<uint64_t> fold = h.fold();
  const double limit = h.limit(), bin_width = limit / kBins;
  double best_error = INFINITY, best = limit;
  for (int k = kCandidates; k >= 1; --k) {  // from the top: ties keep the larger threshold, which clips less
    const double threshold = limit * k / kCandidates;
    const double error = squared_error(fold, bin_width, threshold, input.levels);
    if (error < best_error) best_error = error, best = threshold;
  }
  return clip_range(input.range, best);
}

}  // namespace lq::calibration
