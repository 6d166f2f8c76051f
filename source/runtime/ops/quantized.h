// What the int8 operators share: parameters of a quantized tensor as kernels want them, and the checks of prepare.
#pragma once
#include <string>

#include "kernels/elementwise_kernels.h"
#include "numerics/quantize.h"
#include "runtime/op.h"

namespace lq {

inline RoundArgs round_args(const QuantParams& q, size_t channel = 0) {
  const int32_t zp = zero_point_at(q, channel);
  return {float(q.qmin - zp), float(q.qmax - zp), zp};
}
inline float scale_of(const Tensor& t) { return scale_at(*t.quant, 0); }
inline int32_t zero_of(const Tensor& t) { return zero_point_at(*t.quant, 0); }

/// int8 with one scale and zero point, as every int8 rule but the products wants it.
inline Status expect_per_tensor_s8(const Tensor& t) {
  if (t.dtype == DType::Int8 && t.quant && t.quant->scale.size() == 1) return {};
  return unsupported("tensor '" + t.name + "' is " + dtype_name(t.dtype) +
                     (t.quant ? "" : " without quantization parameters") +
                     (t.quant && t.quant->scale.size() > 1 ? " per channel" : "") +
                     ", this operator's int8 form wants int8 with one scale");
}

}  // namespace lq
