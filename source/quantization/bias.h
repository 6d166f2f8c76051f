// int32 bias in units of s_x·s_w[c], and the bounds that keep an int32 accumulator from overflowing.
#pragma once
#include <cstdint>
#include <vector>

#include "numerics/quant_params.h"
#include "quantization/weights.h"

namespace lq::quantization {

struct QuantizedProduct {
  std::vector<int8_t> weights;
  std::vector<float> weight_scale;  // one an output channel
  std::vector<int32_t> bias;        // empty when the product has none
  std::vector<float> bias_scale;    // float(double(s_x)·s_w[c]), always normal
  std::vector<int32_t> raised;      // channels whose weight scale had to grow
};

/// Everything a product needs for one input: weights by weight_scales(), bias rounded to s_x·s_w[c]. A channel's weight
/// scale is raised until   max|q_x − zp|·Σ|q_w| + |bias| <= 2^31 − 1,  s_x·s_w is a normal float, and so is
/// s_x·s_w/s_y. A channel of zero weights has scale 1 unless its bias needs a finer step. `bias`: one value a channel,
/// or empty. `output_scale` 0: float output.
QuantizedProduct quantize_product(const std::vector<float>& weights, const std::vector<int32_t>& channel,
                                  const std::vector<double>& bias, size_t channels, const QuantParams& input,
                                  float output_scale, WeightGranularity granularity,
                                  WeightScale how = WeightScale::kMax);

/// Σ|q_w| that each channel of `product` may have at most beside its bias.
std::vector<double> largest_weight_sums(const QuantizedProduct& product, const QuantParams& input);

}  // namespace lq::quantization
