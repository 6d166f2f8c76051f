// Quantization parameters: real = scale * (q - zero_point), q in [qmin, qmax]. The type is the schema's own.
#pragma once
#include <cstdint>
#include <vector>

#include "model_generated.h"

namespace lq {

using schema::DType;
using QuantParams = schema::QuantParamsT;

/// Bytes of one element; 0 for Undefined and the sub-byte types.
size_t dtype_size(DType dtype);
/// "float32", "int8" … as printed and as in numpy.
const char* dtype_name(DType dtype);

/// Per-tensor parameters over the whole range of `dtype` (int8: −128…127) unless qmin/qmax are narrowed after.
QuantParams per_tensor_params(DType dtype, float scale, int32_t zero_point);
/// Per-channel symmetric weights: zero point 0, −127…127.
QuantParams per_channel_weights(std::vector<float> scales, int axis);
/// True for finite, normal, positive (subnormal, 0, inf and NaN are refused everywhere).
bool is_valid_scale(float scale);
/// dtype known, qmin <= zero_point <= qmax within dtype, scales valid, list lengths agree with granularity.
bool is_valid_params(const QuantParams& params);

inline float scale_at(const QuantParams& p, size_t channel) { return p.scale.size() == 1 ? p.scale[0] : p.scale[channel]; }
inline int32_t zero_point_at(const QuantParams& p, size_t channel) {
  return p.zero_point.empty() ? 0 : p.zero_point.size() == 1 ? p.zero_point[0] : p.zero_point[channel];
}

}  // namespace lq
