// Transforms of exact integer Winograd, SSE4.1.
#include "kernels/sse41/conv_store.h"
#include "kernels/winograd_kernels.h"

namespace lq::sse41 {
namespace {

/// int16 and int32 lanes as types of their own, so that the transforms can be written once.
struct S16 {
  static constexpr int kLanes = 8;
  __m128i v;
};
struct S32 {
  __m128i v;
};
[[gnu::always_inline]] static inline S16 add(S16 a, S16 b) { return {_mm_add_epi16(a.v, b.v)}; }
[[gnu::always_inline]] static inline S16 sub(S16 a, S16 b) { return {_mm_sub_epi16(a.v, b.v)}; }
[[gnu::always_inline]] static inline S32 add(S32 a, S32 b) { return {_mm_add_epi32(a.v, b.v)}; }
[[gnu::always_inline]] static inline S32 sub(S32 a, S32 b) { return {_mm_sub_epi32(a.v, b.v)}; }
template <int kBits>
[[gnu::always_inline]] static inline S16 shl(S16 a) {
  return {_mm_slli_epi16(a.v, kBits)};
}
[[gnu::always_inline]] static inline S16 widen(const int8_t* p) { return {_mm_cvtepi8_epi16(load_64(p))}; }
[[gnu::always_inline]] static inline void store(int16_t* p, S16 v) { store_128(p, v.v); }
[[gnu::always_inline]] static inline S32 load_sums(const int32_t* p) { return {load_128(p)}; }
[[gnu::always_inline]] static inline S32 times(S32 a, int32_t factor) {
  return {_mm_mullo_epi32(a.v, _mm_set1_epi32(factor))};
}
[[gnu::always_inline]] static inline S32 shift_right(S32 a, int bits) { return {_mm_srai_epi32(a.v, bits)}; }

[[gnu::always_inline]] static inline S16 splat(int16_t value) { return {_mm_set1_epi16(value)}; }
[[gnu::always_inline]] static inline S16 load(const int16_t* p) { return {load_128(p)}; }
[[gnu::always_inline]] static inline S16 difference(const int8_t* q, S16 zero) { return sub(widen(q), zero); }

/// S8Store on vectors of S32.
struct PixelStore {
  S8Store<1> out;
  [[gnu::always_inline]] void store(const S32 (&a)[2], ptrdiff_t pixel) const { out.store({a[0].v, a[1].v}, pixel); }
  [[gnu::always_inline]] void store_two(const S32 (&a)[2], const S32 (&b)[2], ptrdiff_t pixel) const {
    out.store_two({a[0].v, a[1].v}, {b[0].v, b[1].v}, pixel, pixel + 8);
  }
};
template <typename F>
[[gnu::always_inline]] static inline void with_store(const PanelGeometry& g, const Epilogue& e, const F& f) {
  f(PixelStore{S8Store<1>(g, e)});
}

#include "kernels/winograd_128_inline.h"

}  // namespace

void winograd_input(const WinogradInputArgs& a) { a.m == 4 ? input<4>(a) : input<2>(a); }
void winograd_weights(const WinogradWeightsArgs& a) { a.m == 4 ? weights<4>(a) : weights<2>(a); }
void winograd_output(const WinogradOutputArgs& a) { a.m == 4 ? output<4>(a) : output<2>(a); }

}  // namespace lq::sse41
