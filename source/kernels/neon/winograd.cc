// Transforms of exact integer Winograd, Advanced SIMD.
#include "kernels/neon/conv_store.h"
#include "kernels/winograd_kernels.h"

namespace lq::neon {
namespace {

/// int16 and int32 lanes as types of their own, so that the transforms can be written once. Sums wrap: unsigned.
struct S16 {
  static constexpr int kLanes = 8;
  int16x8_t v;
};
struct S32 {
  uint32x4_t v;
};
[[gnu::always_inline]] static inline S16 add(S16 a, S16 b) { return {vaddq_s16(a.v, b.v)}; }
[[gnu::always_inline]] static inline S16 sub(S16 a, S16 b) { return {vsubq_s16(a.v, b.v)}; }
[[gnu::always_inline]] static inline S32 add(S32 a, S32 b) { return {vaddq_u32(a.v, b.v)}; }
[[gnu::always_inline]] static inline S32 sub(S32 a, S32 b) { return {vsubq_u32(a.v, b.v)}; }
template <int kBits>
[[gnu::always_inline]] static inline S16 shl(S16 a) {
  return {vshlq_n_s16(a.v, kBits)};
}
[[gnu::always_inline]] static inline S16 widen(const int8_t* p) { return {vmovl_s8(vld1_s8(p))}; }
[[gnu::always_inline]] static inline S16 splat(int16_t value) { return {vdupq_n_s16(value)}; }
[[gnu::always_inline]] static inline S16 load(const int16_t* p) { return {vld1q_s16(p)}; }
[[gnu::always_inline]] static inline void store(int16_t* p, S16 v) { vst1q_s16(p, v.v); }
[[gnu::always_inline]] static inline S16 difference(const int8_t* q, S16 zero) {
  return {vsubl_s8(vld1_s8(q), vmovn_s16(zero.v))};
}
[[gnu::always_inline]] static inline S32 load_sums(const int32_t* p) { return {vreinterpretq_u32_s32(vld1q_s32(p))}; }
[[gnu::always_inline]] static inline S32 times(S32 a, int32_t factor) { return {vmulq_n_u32(a.v, uint32_t(factor))}; }
[[gnu::always_inline]] static inline S32 shift_right(S32 a, int bits) {
  return {vreinterpretq_u32_s32(vreinterpretq_s32_u32(a.v) >> bits)};
}
[[gnu::always_inline]] static inline int32x4_t as_signed(S32 a) { return vreinterpretq_s32_u32(a.v); }

/// BlockStore on vectors of S32.
template <bool kWhole>
struct PixelStore {
  BlockStore<kWhole> out;
  [[gnu::always_inline]] void store(const S32 (&a)[2], ptrdiff_t pixel) const {
    out.store({as_signed(a[0]), as_signed(a[1])}, pixel);
  }
  [[gnu::always_inline]] void store_two(const S32 (&a)[2], const S32 (&b)[2], ptrdiff_t pixel) const {
    out.store_two({as_signed(a[0]), as_signed(a[1])}, {as_signed(b[0]), as_signed(b[1])}, pixel);
  }
};
template <typename F>
[[gnu::always_inline]] static inline void with_store(const PanelGeometry& g, const Epilogue& e, const F& f) {
  if (is_whole<2>(g, e)) return f(PixelStore<true>{BlockStore<true>(g, e)});
  f(PixelStore<false>{BlockStore<false>(g, e)});
}

#include "kernels/winograd_128_inline.h"

}  // namespace

void winograd_input(const WinogradInputArgs& a) { a.m == 4 ? input<4>(a) : input<2>(a); }
void winograd_weights(const WinogradWeightsArgs& a) { a.m == 4 ? weights<4>(a) : weights<2>(a); }
void winograd_output(const WinogradOutputArgs& a) { a.m == 4 ? output<4>(a) : output<2>(a); }

}  // namespace lq::neon
