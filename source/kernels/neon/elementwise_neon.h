// Advanced SIMD pieces the elementwise kernels share: sixteen int8 at a time, R, and where ARMv7 has to stay scalar.
#pragma once
#include "kernels/elementwise_inline.h"
#include "kernels/neon/simd.h"

namespace lq::neon {

/// Eight float values.
struct Float8 {
  float32x4_t low, high;
};

[[gnu::always_inline]] static inline Rounder rounder_of(const RoundArgs& r) {
  return Rounder(r.low, r.high, r.zero_point);
}

/// float(v) of eight int16.
[[gnu::always_inline]] static inline Float8 to_float(int16x8_t v) {
  return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(v))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(v)))};
}
/// float(q − zp) of eight int8; `zero` is zp in every lane.
[[gnu::always_inline]] static inline Float8 value8(int8x8_t q, int8x8_t zero) { return to_float(vsubl_s8(q, zero)); }
[[gnu::always_inline]] static inline Float8 times(Float8 a, float32x4_t m) {
  return {vmulq_f32(a.low, m), vmulq_f32(a.high, m)};
}

/// NaN -> low; values below low may become low too.
[[gnu::always_inline]] static inline float32x4_t nan_to_low(float32x4_t t, float32x4_t low) {
#if defined(__aarch64__)
  return vmaxnmq_f32(t, low);  // the operand that is no NaN
#else
  return vbslq_f32(vceqq_f32(t, t), t, low);
#endif
}

/// y[i…i+8) = rounder of f(i) for whole vectors, two at a time where they fit; returns how many were done.
template <typename F>
[[gnu::always_inline]] static inline int64_t for_vectors(int8_t* y, int64_t n, const Rounder& r, F f) {
  const auto round = [&](int64_t k) __attribute__((always_inline)) {
    const Float8 t = f(k);
    return r.round8(t.low, t.high);
  };
  int64_t i = 0;
  const bool clamps = r.clamps();
  for (; i + 16 <= n; i += 16) {
    const int8x16_t q = r.narrow(round(i), round(i + 8));
    vst1q_s8(y + i, clamps ? r.clamp(q) : q);
  }
  for (; i + 8 <= n; i += 8) vst1_s8(y + i, r.finish(round(i)));
  return i;
}

void dequantize_s8(const int8_t* x, float* y, int64_t n, float scale, int32_t zero_point);
void requantize_s8(const int8_t* x, int8_t* y, int64_t n, const RescaleArgs& args);
void add_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args);
void mul_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args);
void prelu_s8(const int8_t* x, const float* negative, int step, int8_t* y, int64_t n, const RescaleArgs& args);
void to_blocked_1(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill);
void to_blocked_4(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill);
void to_linear_1(const void* x, void* y, int64_t y_stride, int channels, int64_t count);
void to_linear_4(const void* x, void* y, int64_t y_stride, int channels, int64_t count);
void move_channels_1(const ChannelSource* sources, int source_count, uint32_t fill, void* y, int64_t count);
void max_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& args);
void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& args);
void resize_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& args);
#if defined(__aarch64__)
// ARMv7's NEON has no division, no lookup in more than 32 bytes, and flushes the denormals of float pools.
void quantize_s8(const float* x, int8_t* y, int64_t n, const QuantizeArgs& args);
void table_u8(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table);
void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& args);
void average_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& args);
#endif

}  // namespace lq::neon
