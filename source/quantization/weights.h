// Symmetric int8 weights, one scale an output channel.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lq::quantization {

enum class WeightGranularity { kPerChannel, kPerTensor };

enum class WeightScale {
  kMax,   // max|w|/127: nothing is clipped
  kMse,   // the scale with the least squared rounding error of 64 from max|w|/127 down to half of it
  kAdmm,  // by turns the nearest integers for a scale and the least-squares scale for these, from max|w|/127 on (Leng et
          // al. 2018, "Extremely Low Bit Neural Network: Squeeze the Last Bit Out with ADMM", equations 12 and 13)
};

struct QuantizedWeights {
  std::vector<int8_t> values;  // −127…127, in the order of the float data
  std::vector<float> scale;    // one an output channel; all equal for kPerTensor
};

/// Scale of each channel (1 for a channel of zeros); never subnormal. `channel[i]` is the output channel of element i.
std::vector<float> weight_scales(const std::vector<float>& weights, const std::vector<int32_t>& channel,
                                 size_t channels, WeightGranularity granularity, WeightScale how = WeightScale::kMax);

/// rint(w / s) clamped to ±127, division in float as Quantize does it.
std::vector<int8_t> round_weights(const std::vector<float>& weights, const std::vector<int32_t>& channel,
                                  const std::vector<float>& scale);

/// A constant operand of Add, Sub, Mul: one scale for all. A single value v becomes ±127 with scale |v|/127.
QuantizedWeights quantize_constant(const std::vector<float>& values);

}  // namespace lq::quantization
