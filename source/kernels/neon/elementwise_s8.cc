// int8 Add, Sub, Mul, PRelu.
#include "kernels/neon/elementwise_neon.h"

namespace lq::neon {

void add_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args) {
  const BinaryArgs g = args;
  const Rounder r = rounder_of(g.round);
  const int8x8_t za = vdup_n_s8(int8_t(g.zero_a)), zb = vdup_n_s8(int8_t(g.zero_b));
  const float32x4_t ma = vdupq_n_f32(g.mul_a), mb = vdupq_n_f32(g.mul_b), low = vdupq_n_f32(g.round.low);
  // Two products that overflow with opposite signs make a NaN: never below 255 · 1e36.
  const bool finite = __builtin_fabsf(g.mul_a) < 1e36f && __builtin_fabsf(g.mul_b) < 1e36f;
  const auto sum = [&](int64_t k, Float8 tb) {
    const Float8 ta = times(value8(vld1_s8(a + k), za), ma);
    if (finite) return Float8{vaddq_f32(ta.low, tb.low), vaddq_f32(ta.high, tb.high)};
    return Float8{nan_to_low(vaddq_f32(ta.low, tb.low), low), nan_to_low(vaddq_f32(ta.high, tb.high), low)};
  };
  int64_t i = 0;
  if (b_step != 0) {
    i = for_vectors(y, n, r, [&](int64_t k) { return sum(k, times(value8(vld1_s8(b + k), zb), mb)); });
    for (; i < n; ++i) y[i] = add_one(a[i], b[i], g);
  } else {
    if (n >= 8) {
      const Float8 tb = times(value8(vld1_s8(b), zb), mb);
      i = for_vectors(y, n, r, [&](int64_t k) { return sum(k, tb); });
    }
    for (int lane = 0; i < n; ++i, ++lane) y[i] = add_one(a[i], b[lane], g);
  }
}

void mul_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args) {
  const BinaryArgs g = args;
  const Rounder r = rounder_of(g.round);
  const int16x8_t za = vdupq_n_s16(int16_t(g.zero_a)), zb = vdupq_n_s16(int16_t(g.zero_b));
  const float32x4_t m = vdupq_n_f32(g.mul_a);
  const auto centred = [](const int8_t* p, int16x8_t z) { return vsubq_s16(vmovl_s8(vld1_s8(p)), z); };
  const auto product = [&](int64_t k, int16x8_t vb) {
    const int16x8_t va = centred(a + k, za);
    const int32x4_t low = vmull_s16(vget_low_s16(va), vget_low_s16(vb)),
                    high = vmull_s16(vget_high_s16(va), vget_high_s16(vb));
    return times(Float8{vcvtq_f32_s32(low), vcvtq_f32_s32(high)}, m);
  };
  int64_t i = 0;
  if (b_step != 0) {
    i = for_vectors(y, n, r, [&](int64_t k) { return product(k, centred(b + k, zb)); });
    for (; i < n; ++i) y[i] = mul_one(a[i], b[i], g);
  } else {
    if (n >= 8) {
      const int16x8_t vb = centred(b, zb);
      i = for_vectors(y, n, r, [&](int64_t k) { return product(k, vb); });
    }
    for (int lane = 0; i < n; ++i, ++lane) y[i] = mul_one(a[i], b[lane], g);
  }
}

void prelu_s8(const int8_t* x, const float* negative, int step, int8_t* y, int64_t n, const RescaleArgs& args) {
  const RescaleArgs a = args;
  const Rounder r = rounder_of(a.round);
  const int8x8_t z = vdup_n_s8(int8_t(a.zero_x));
  const float32x4_t positive = vdupq_n_f32(a.multiplier), low = vdupq_n_f32(a.round.low);
  const auto scaled = [&](float32x4_t acc, const float* slope) {
    const float32x4_t m = vbslq_f32(vcltq_f32(acc, vdupq_n_f32(0)), vld1q_f32(slope), positive);
    return nan_to_low(vmulq_f32(acc, m), low);  // nobody checks slopes
  };
  int64_t i = for_vectors(y, n, r, [&](int64_t k) {
    const Float8 acc = value8(vld1_s8(x + k), z);
    const float* slope = negative + (step != 0 ? k : 0);
    return Float8{scaled(acc.low, slope), scaled(acc.high, slope + 4)};
  });
  const float* tail = negative + (step != 0 ? i : 0);
  for (int lane = 0; i < n; ++i, ++lane) y[i] = prelu_one(x[i], tail[lane], a);
}

}  // namespace lq::neon
