#include "quantization/weights.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "numerics/quantize.h"

namespace lq::quantization {
namespace {

constexpr int32_t kLevels = 127;

/// max|w|/127, kept normal: a channel of 1e-40 would otherwise have a subnormal scale, which no file may hold.
float scale_for(float largest) {
  if (largest == 0) return 1;
  return std::max(largest / float(kLevels), FLT_MIN);
}

}  // namespace

std::vector<float> weight_scales(const std::vector<float>& weights, const std::vector<int32_t>& channel,
                                 size_t channels, WeightGranularity granularity) {
  std::vector<float> largest(channels, 0.0f);
  for (size_t i = 0; i < weights.size(); ++i) {
    float& of_channel = largest[size_t(channel[i])];
    of_channel = std::max(of_channel, std::abs(weights[i]));
  }
  if (granularity == WeightGranularity::kPerTensor && channels > 0) {
    largest.assign(channels, *std::max_element(largest.begin(), largest.end()));
  }
  for (float& v : largest) v = scale_for(v);
  return largest;
}

std::vector<int8_t> round_weights(const std::vector<float>& weights, const std::vector<int32_t>& channel,
                                  const std::vector<float>& scale) {
  std::vector<int8_t> values(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    values[i] = int8_t(quantize(weights[i], scale[size_t(channel[i])], 0, -kLevels, kLevels));
  }
  return values;
}

QuantizedWeights quantize_constant(const std::vector<float>& values) {
  const std::vector<int32_t> channel(values.size(), 0);
  QuantizedWeights result;
  result.scale = weight_scales(values, channel, 1, WeightGranularity::kPerTensor);
  result.values = round_weights(values, channel, result.scale);
  return result;
}

}  // namespace lq::quantization
