// Quantize, Dequantize and R on contiguous runs.
#include "kernels/elementwise_inline.h"
#include "kernels/scalar/elementwise_scalar.h"

namespace lq::scalar {

void quantize_s8(const float* x, int8_t* y, int64_t n, const QuantizeArgs& args) {
  const QuantizeArgs a = args;
  for (int64_t i = 0; i < n; ++i) y[i] = quantize_one(x[i], a);
}

void dequantize_s8(const int8_t* x, float* y, int64_t n, float scale, int32_t zero_point) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i] - zero_point) * scale;
}

void requantize_s8(const int8_t* x, int8_t* y, int64_t n, const RescaleArgs& args) {
  const RescaleArgs a = args;
  for (int64_t i = 0; i < n; ++i) y[i] = rescale_one(x[i], a);
}

}  // namespace lq::scalar
