#include "quantization/bias.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "numerics/quantize.h"

namespace lq::quantization {
namespace {

constexpr double kInt32Max = 2147483647.0;

/// What bounds one channel's accumulator.
struct Bounds {
  double input_scale;   // s_x
  double input_peak;    // max|q_x − zp| over q_x in qmin…qmax
  double output_scale;  // s_y, 0 for float output
};

/// Smallest weight scale that keeps both multipliers normal floats. Twice FLT_MIN leaves room for their rounding.
double smallest_scale(const Bounds& bounds) {
  const double unit = bounds.output_scale > 0 ? std::max(1.0, bounds.output_scale) : 1.0;
  return std::max(2.0 * FLT_MIN * unit / bounds.input_scale, double(FLT_MIN));
}

/// `scale`, or a float a few steps above it, for which s_x·s_w/s_y rounds to one float whether it is formed in double,
/// as here (docs/NUMERICS.md), or by two operations in float, as ONNX Runtime does: so an exported model requantizes by
/// our multipliers there. Every other step or so will do; 2^-17 of the scale is no loss.
float scale_all_agree_on(float scale, const Bounds& bounds) {
  constexpr int kSteps = 64;
  if (bounds.output_scale == 0) return scale;  // one product: one rounding
  const float s_x = float(bounds.input_scale), s_y = float(bounds.output_scale);
  float tried = scale;
  for (int i = 0; i < kSteps; ++i, tried = std::nextafter(tried, FLT_MAX)) {
    const float in_float = s_x * tried / s_y;
    if (in_float == requantize_multiplier(s_x, tried, s_y)) return tried;
  }
  return scale;
}

/// A zero channel's accumulator is its bias alone: scale 1 unless that would round the bias visibly.
double scale_of_zero_channel(double bias, const Bounds& bounds) {
  double scale = 1;
  const double wanted = std::abs(bias) / 65536;  // relative error of the bias below 2^-17
  while (bounds.input_scale * scale > wanted && wanted > 0 && scale > 0x1p-40) scale /= 2;
  return scale;
}

}  // namespace

QuantizedProduct quantize_product(const std::vector<float>& weights, const std::vector<int32_t>& channel,
                                  const std::vector<double>& bias, size_t channels, const QuantParams& input,
                                  float output_scale, WeightGranularity granularity, WeightScale how) {
  const int32_t zero_point = zero_point_at(input, 0);
  const Bounds bounds{double(scale_at(input, 0)), double(std::max(input.qmax - zero_point, zero_point - input.qmin)),
                      double(output_scale)};
  QuantizedProduct result;
  result.weight_scale = weight_scales(weights, channel, channels, granularity, how);
  std::vector<bool> raised(channels, false), is_zero(channels, true);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] != 0) is_zero[size_t(channel[i])] = false;
  }
  for (size_t c = 0; c < channels; ++c) {
    if (is_zero[c] && !bias.empty()) result.weight_scale[c] = float(scale_of_zero_channel(bias[c], bounds));
    const double least = smallest_scale(bounds);
    if (double(result.weight_scale[c]) < least) result.weight_scale[c] = float(least * 1.0000002), raised[c] = true;
  }
  // Raising a scale makes both terms smaller, so a few rounds settle every channel.
  for (bool again = true; again;) {
    again = false;
    for (size_t c = 0; c < channels; ++c) {
      if (!is_zero[c]) result.weight_scale[c] = scale_all_agree_on(result.weight_scale[c], bounds);
    }
    result.weights = round_weights(weights, channel, result.weight_scale);
    std::vector<double> sum(channels, 0.0);  // exact: integers far below 2^53
    for (size_t i = 0; i < weights.size(); ++i) sum[size_t(channel[i])] += std::abs(double(result.weights[i]));
    for (size_t c = 0; c < channels; ++c) {
      const double step = bounds.input_scale * double(result.weight_scale[c]);
      const double total = bounds.input_peak * sum[c] + (bias.empty() ? 0.0 : std::abs(std::nearbyint(bias[c] / step)));
      if (total <= kInt32Max) continue;
      result.weight_scale[c] = float(double(result.weight_scale[c]) * std::max(total / kInt32Max, 1.0) * 1.001);
      raised[c] = again = true;
    }
  }
  for (size_t c = 0; c < channels; ++c) {
    const double step = bounds.input_scale * double(result.weight_scale[c]);
    if (raised[c]) result.raised.push_back(int32_t(c));
    result.bias_scale.push_back(float(step));
    if (!bias.empty()) result.bias.push_back(int32_t(std::nearbyint(bias[c] / step)));
  }
  return result;
}

std::vector<double> largest_weight_sums(const QuantizedProduct& product, const QuantParams& input) {
  const int32_t zero_point = zero_point_at(input, 0);
  const double peak = double(std::max(input.qmax - zero_point, zero_point - input.qmin));
  std::vector<double> sums;
  for (size_t c = 0; c < product.weight_scale.size(); ++c)
    sums.push_back((kInt32Max - (product.bias.empty() ? 0.0 : std::abs(double(product.bias[c])))) / peak);
  return sums;
}

}  // namespace lq::quantization
