// ema:D: exponential moving average of each sample's own minimum and maximum, in the order of the samples' names: what
// quantization-aware training uses for activations. (Jacob et al. 2018, "Quantization and Training of Neural Networks
// for Efficient Integer-Arithmetic-Only Inference", section 3.1.) The first sample starts it, each further one counts 1
// − D. One odd sample cannot stretch the range for all; what exceeds the average is clipped.
#include <algorithm>

#include "calibration/methods/method.h"

namespace lq::calibration {

ValueRange ema_threshold(const MethodInput& input) {
  if (input.samples == nullptr || input.samples->empty()) return input.range;
  const double keep = input.parameter;
  double low = 0, high = 0;
  bool is_first = true;
  for (const ValueRange& sample : *input.samples) {
    const double min = std::min(double(sample.min), 0.0), max = std::max(double(sample.max), 0.0);
    low = is_first ? min : keep * low + (1 - keep) * min;
    high = is_first ? max : keep * high + (1 - keep) * max;
    is_first = false;
  }
  return {std::max(input.range.min, float(low)), std::min(input.range.max, float(high))};
}

}  // namespace lq::calibration
