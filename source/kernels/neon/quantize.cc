// Quantize, Dequantize and R on contiguous runs.
#include "kernels/neon/elementwise_neon.h"

namespace lq::neon {

#if defined(__aarch64__)
void quantize_s8(const float* x, int8_t* y, int64_t n, const QuantizeArgs& args) {
  const QuantizeArgs a = args;
  const Rounder r = rounder_of(a.round);
  const float32x4_t scale = vdupq_n_f32(a.scale), low = vdupq_n_f32(a.round.low);
  const auto divided = [&](const float* p) { return nan_to_low(vdivq_f32(vld1q_f32(p), scale), low); };
  int64_t i = for_vectors(y, n, r, [&](int64_t k) { return Float8{divided(x + k), divided(x + k + 4)}; });
  for (; i < n; ++i) y[i] = quantize_one(x[i], a);
}
#endif

// Safe from ARMv7's flushing: |q − zp| >= 1 times a normal scale is normal, and 0 is 0.
void dequantize_s8(const int8_t* x, float* y, int64_t n, float scale, int32_t zero_point) {
  const float32x4_t s = vdupq_n_f32(scale);
  const int8x8_t z = vdup_n_s8(int8_t(zero_point));
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const Float8 v = times(value8(vld1_s8(x + i), z), s);
    vst1q_f32(y + i, v.low);
    vst1q_f32(y + i + 4, v.high);
  }
  for (; i < n; ++i) y[i] = static_cast<float>(x[i] - zero_point) * scale;
}

void requantize_s8(const int8_t* x, int8_t* y, int64_t n, const RescaleArgs& args) {
  const RescaleArgs a = args;
  const Rounder r = rounder_of(a.round);
  const float32x4_t m = vdupq_n_f32(a.multiplier);
  const int8x8_t z = vdup_n_s8(int8_t(a.zero_x));
  int64_t i = for_vectors(y, n, r, [&](int64_t k) { return times(value8(vld1_s8(x + k), z), m); });
  for (; i < n; ++i) y[i] = rescale_one(x[i], a);
}

}  // namespace lq::neon
