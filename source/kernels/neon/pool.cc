// Blocked pools: a channel block is a half register of int8, two registers of floats or sums.
#include "kernels/neon/elementwise_neon.h"
#include "kernels/pool_inline.h"

namespace lq::neon {
namespace {

struct Sums {
  int32x4_t low, high;
};

struct Lanes {
  static int8x8_t least() { return vdup_n_s8(-128); }
  static int8x8_t greatest(int8x8_t best, const int8_t* v) { return vmax_s8(best, vld1_s8(v)); }
  static void store(int8_t* p, int8x8_t v) { vst1_s8(p, v); }

  static Sums all(int32_t v) { return {vdupq_n_s32(v), vdupq_n_s32(v)}; }
  static Sums plus(Sums sum, const int8_t* v) {
    const int16x8_t wide = vmovl_s8(vld1_s8(v));
    return {vaddw_s16(sum.low, vget_low_s16(wide)), add_wide_high(sum.high, wide)};
  }
  static Rounder rounder(const RoundArgs& r) { return rounder_of(r); }
  static void store_scaled(int8_t* y, Sums sum, float m, const Rounder& r) {
    const Float8 t = times({vcvtq_f32_s32(sum.low), vcvtq_f32_s32(sum.high)}, vdupq_n_f32(m));
    vst1_s8(y, r.finish(r.round8(t.low, t.high)));
  }

#if defined(__aarch64__)
  static Float8 all(float v) { return {vdupq_n_f32(v), vdupq_n_f32(v)}; }
  static Float8 load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
  static void store(float* p, Float8 v) {
    vst1q_f32(p, v.low);
    vst1q_f32(p + 4, v.high);
  }
  static Float8 add(Float8 a, Float8 b) { return {vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)}; }
  static Float8 divide(Float8 a, float n) {
    return {vdivq_f32(a.low, vdupq_n_f32(n)), vdivq_f32(a.high, vdupq_n_f32(n))};
  }
  static Float8 greater(Float8 v, Float8 best) {
    return {vbslq_f32(vcgtq_f32(v.low, best.low), v.low, best.low),
            vbslq_f32(vcgtq_f32(v.high, best.high), v.high, best.high)};
  }
#endif
};

}  // namespace

void max_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  max_pool_s8_of<Lanes>(x, y, begin, end, a);
}
void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  average_pool_s8_of<Lanes>(x, y, begin, end, a);
}

#if defined(__aarch64__)
void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  max_pool_f32_of<Lanes>(x, y, begin, end, a);
}
void average_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  average_pool_f32_of<Lanes>(x, y, begin, end, a);
}
#endif

}  // namespace lq::neon
