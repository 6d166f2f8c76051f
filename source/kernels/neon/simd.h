// Pieces of Advanced SIMD that the 64-bit instruction set has and the 32-bit one has not, or the other way round, and
// the rounding tail of every int8 rule. Everything is inlined: folders with newer instructions include it too.
//
// ARMv7: a NEON float operation flushes denormals to zero, whatever FPSCR says. The int8 rules give the same bits all
// the same. Their inputs are integers (float(int) is 0 or of magnitude >= 1) and multipliers, finite and normal. So a
// denormal can only be a product, of magnitude < 2^-126, on its way to rint and integer bounds: it and zero give the
// same. In Add it meets another product t: if |t| >= 2^-100, adding less than 2^-126 leaves t (its ulp is >= 2^-123);
// if not, the sum rounds to 0 in either case. Float results are another matter: they are left to VFP.
#pragma once
#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

namespace lq::neon {

#if defined(__aarch64__)
inline constexpr bool kIs64Bit = true;  // 32 vector registers

/// Sums of neighbours: of a in the low half, of b in the high half.
[[gnu::always_inline]] static inline int32x4_t pair_sums(int32x4_t a, int32x4_t b) { return vpaddq_s32(a, b); }
[[gnu::always_inline]] static inline int32x4_t add_wide_high(int32x4_t a, int16x8_t b) { return vaddw_high_s16(a, b); }
/// a · b of the high halves, and added to acc.
[[gnu::always_inline]] static inline int16x8_t mull_high(int8x16_t a, int8x16_t b) { return vmull_high_s8(a, b); }
[[gnu::always_inline]] static inline int16x8_t mlal_high(int16x8_t acc, int8x16_t a, int8x16_t b) {
  return vmlal_high_s8(acc, a, b);
}
/// 64 bytes.
[[gnu::always_inline]] static inline void copy_64(int8_t* to, const int8_t* from) {
  vst1q_s8_x4(to, vld1q_s8_x4(from));
}
/// Of the low halves, in assembler: with vget_low_s8 g++ keeps a second copy of every half used in a loop.
[[gnu::always_inline]] static inline int16x8_t mull_low(int8x16_t a, int8x16_t b) {
  int16x8_t v;
  __asm__("smull %0.8h, %1.8b, %2.8b" : "=w"(v) : "w"(a), "w"(b));
  return v;
}
[[gnu::always_inline]] static inline int16x8_t mlal_low(int16x8_t acc, int8x16_t a, int8x16_t b) {
  __asm__("smlal %0.8h, %1.8b, %2.8b" : "+w"(acc) : "w"(a), "w"(b));
  return acc;
}
/// Neighbouring bytes, in instructions that load several registers.
[[gnu::always_inline]] static inline int8x8x2_t load_two(const int8_t* p) {
  return {{vld1_s8(p), vld1_s8(p + 8)}};  // one ldp
}
[[gnu::always_inline]] static inline int8x8x4_t load_four(const int8_t* p) { return vld1_s8_x4(p); }
/// acc + the low or high half of w times lane kLane of x.
template <int kLane>
[[gnu::always_inline]] static inline int32x4_t mla_low(int32x4_t acc, int16x8_t w, int16x8_t x) {
  return vmlal_laneq_s16(acc, vget_low_s16(w), x, kLane);
}
template <int kLane>
[[gnu::always_inline]] static inline int32x4_t mla_high(int32x4_t acc, int16x8_t w, int16x8_t x) {
  return vmlal_high_laneq_s16(acc, w, x, kLane);
}
#else
inline constexpr bool kIs64Bit = false;  // 16 of them

[[gnu::always_inline]] static inline int32x4_t pair_sums(int32x4_t a, int32x4_t b) {
  return vcombine_s32(vpadd_s32(vget_low_s32(a), vget_high_s32(a)), vpadd_s32(vget_low_s32(b), vget_high_s32(b)));
}
[[gnu::always_inline]] static inline int32x4_t add_wide_high(int32x4_t a, int16x8_t b) {
  return vaddw_s16(a, vget_high_s16(b));
}
[[gnu::always_inline]] static inline int16x8_t mull_high(int8x16_t a, int8x16_t b) {
  return vmull_s8(vget_high_s8(a), vget_high_s8(b));
}
[[gnu::always_inline]] static inline int16x8_t mlal_high(int16x8_t acc, int8x16_t a, int8x16_t b) {
  return vmlal_s8(acc, vget_high_s8(a), vget_high_s8(b));
}
[[gnu::always_inline]] static inline void copy_64(int8_t* to, const int8_t* from) {
  const int8x16_t v[4] = {vld1q_s8(from), vld1q_s8(from + 16), vld1q_s8(from + 32), vld1q_s8(from + 48)};
  vst1q_s8(to, v[0]), vst1q_s8(to + 16, v[1]), vst1q_s8(to + 32, v[2]), vst1q_s8(to + 48, v[3]);
}
[[gnu::always_inline]] static inline int16x8_t mull_low(int8x16_t a, int8x16_t b) {
  return vmull_s8(vget_low_s8(a), vget_low_s8(b));
}
[[gnu::always_inline]] static inline int16x8_t mlal_low(int16x8_t acc, int8x16_t a, int8x16_t b) {
  return vmlal_s8(acc, vget_low_s8(a), vget_low_s8(b));
}
[[gnu::always_inline]] static inline int8x8x2_t load_two(const int8_t* p) {
  const int8x16_t v = vld1q_s8(p);
  return {{vget_low_s8(v), vget_high_s8(v)}};
}
[[gnu::always_inline]] static inline int8x8x4_t load_four(const int8_t* p) {
  const int8x8x2_t a = load_two(p), b = load_two(p + 16);
  return {{a.val[0], a.val[1], b.val[0], b.val[1]}};
}
template <int kLane>
[[gnu::always_inline]] static inline int32x4_t mla_low(int32x4_t acc, int16x8_t w, int16x8_t x) {
  return vmlal_lane_s16(acc, vget_low_s16(w), kLane < 4 ? vget_low_s16(x) : vget_high_s16(x), kLane % 4);
}
template <int kLane>
[[gnu::always_inline]] static inline int32x4_t mla_high(int32x4_t acc, int16x8_t w, int16x8_t x) {
  return vmlal_lane_s16(acc, vget_high_s16(w), kLane < 4 ? vget_low_s16(x) : vget_high_s16(x), kLane % 4);
}
#endif

/// y = int(rint(clamp(t, low, high))) + zp, eight values at a time; t is no NaN. The bounds are integers, so they may
/// as well be kept after rounding: 64-bit code lets every narrowing saturate, far outside of int8, and clamps bytes.
struct Rounder {
  int16x8_t zero_point;
#if defined(__aarch64__)
  int8x16_t low, high;
  [[gnu::always_inline]] Rounder(float qmin, float qmax, int32_t zp)
      : zero_point(vdupq_n_s16(int16_t(zp))),
        low(vdupq_n_s8(int8_t(int32_t(qmin) + zp))),
        high(vdupq_n_s8(int8_t(int32_t(qmax) + zp))) {}
  /// Of integers already rounded.
  [[gnu::always_inline]] int16x8_t narrow(int32x4_t a, int32x4_t b) const {
    return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), zero_point);
  }
  [[gnu::always_inline]] int16x8_t round8(float32x4_t a, float32x4_t b) const {
    return narrow(vcvtnq_s32_f32(a), vcvtnq_s32_f32(b));
  }
  [[gnu::always_inline]] int8x16_t narrow(int16x8_t a, int16x8_t b) const { return vqmovn_high_s16(vqmovn_s16(a), b); }
  /// False if narrowing to bytes saturates at the bounds already.
  [[gnu::always_inline]] bool clamps() const { return vgetq_lane_s8(low, 0) != -128 || vgetq_lane_s8(high, 0) != 127; }
  [[gnu::always_inline]] int8x16_t clamp(int8x16_t q) const { return vminq_s8(vmaxq_s8(q, low), high); }
  [[gnu::always_inline]] int8x16_t finish(int16x8_t a, int16x8_t b) const { return clamp(narrow(a, b)); }
  [[gnu::always_inline]] int8x8_t finish(int16x8_t a) const {
    return vmin_s8(vmax_s8(vqmovn_s16(a), vget_low_s8(low)), vget_low_s8(high));
  }
#else
  float32x4_t low, high;
  [[gnu::always_inline]] Rounder(float qmin, float qmax, int32_t zp)
      : zero_point(vdupq_n_s16(int16_t(zp))), low(vdupq_n_f32(qmin)), high(vdupq_n_f32(qmax)) {}
  /// Adding 1.5 · 2^23 rounds to an integer, ties to even (NEON has no other mode), for |t| <= 2^22: it is then in the
  /// low bits.
  [[gnu::always_inline]] int16x4_t round4(float32x4_t t) const {
    const float32x4_t v = vaddq_f32(vminq_f32(vmaxq_f32(t, low), high), vdupq_n_f32(12582912.0f));
    return vmovn_s32(vreinterpretq_s32_f32(v));
  }
  [[gnu::always_inline]] int16x8_t round8(float32x4_t a, float32x4_t b) const {
    return vaddq_s16(vcombine_s16(round4(a), round4(b)), zero_point);
  }
  [[gnu::always_inline]] int8x16_t narrow(int16x8_t a, int16x8_t b) const {
    return vcombine_s8(vmovn_s16(a), vmovn_s16(b));
  }
  [[gnu::always_inline]] bool clamps() const { return false; }  // done before rounding
  [[gnu::always_inline]] int8x16_t clamp(int8x16_t q) const { return q; }
  [[gnu::always_inline]] int8x16_t finish(int16x8_t a, int16x8_t b) const { return narrow(a, b); }
  [[gnu::always_inline]] int8x8_t finish(int16x8_t a) const { return vmovn_s16(a); }
#endif
};

}  // namespace lq::neon
