// Transforms of exact integer Winograd, AVX-512: a pair of input channels of 16 outputs a vector of weights, 16 output
// channels a vector of sums. Inputs are transformed by AVX2's kernel.
#include "kernels/avx512vnni/conv_store.h"
#include "kernels/winograd_kernels.h"

namespace lq::avx512vnni {
namespace {

struct S16 {
  static constexpr int kLanes = 32;
  __m512i v;
};
struct S32 {
  __m512i v;
};
[[gnu::always_inline]] static inline S16 add(S16 a, S16 b) { return {_mm512_add_epi16(a.v, b.v)}; }
[[gnu::always_inline]] static inline S16 sub(S16 a, S16 b) { return {_mm512_sub_epi16(a.v, b.v)}; }
[[gnu::always_inline]] static inline S32 add(S32 a, S32 b) { return {_mm512_add_epi32(a.v, b.v)}; }
[[gnu::always_inline]] static inline S32 sub(S32 a, S32 b) { return {_mm512_sub_epi32(a.v, b.v)}; }
template <int kBits>
[[gnu::always_inline]] static inline S16 shl(S16 a) {
  return {_mm512_slli_epi16(a.v, kBits)};
}
[[gnu::always_inline]] static inline S16 widen(const int8_t* p) {
  return {_mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
[[gnu::always_inline]] static inline void store(int16_t* p, S16 v) { _mm512_storeu_si512(p, v.v); }
[[gnu::always_inline]] static inline S32 load_sums(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
[[gnu::always_inline]] static inline S32 times(S32 a, int32_t factor) {
  return {_mm512_mullo_epi32(a.v, _mm512_set1_epi32(factor))};
}
[[gnu::always_inline]] static inline S32 shift_right(S32 a, int bits) {
  return {_mm512_srai_epi32(a.v, unsigned(bits))};
}

#include "kernels/winograd_inline.h"

template <int kM>
void output(const WinogradOutputArgs& a) {
  PanelGeometry g{};
  g.y_blocked = true;
  g.y = a.y, g.y_block = a.y_block, g.lanes = a.lanes;
  const S8Store<1> out(g, a.epilogue);
  const S32 bias = load_sums(a.epilogue.bias);
  const int32_t* sum = a.sum;
  for (int t = 0; t < a.tiles; ++t, sum += kWinogradPanel) {
    S32 half[kM][kM + 2];
    transform_sum_columns<kM>(sum, a.sum_position, half);
    const int count = a.cols - t * kM < kM ? a.cols - t * kM : kM;
#pragma GCC unroll 4
    for (int i = 0; i < kM; ++i) {
      if (i >= a.rows) break;
      S32 y[kM];
      finish_row<kM>(half, i, bias, y);
      __m512i acc[kM][1];
#pragma GCC unroll 4
      for (int j = 0; j < kM; ++j) acc[j][0] = y[j].v;
      const ptrdiff_t pixel = i * a.y_row + 8 * t * kM;
      if (count == kM) {
        ptrdiff_t at[kM];
        for (int j = 0; j < kM; ++j) at[j] = pixel + 8 * j;
        out.store_tile<kM>(acc, at);
      } else {
        for (int j = 0; j < count; ++j) out.store(acc[j], pixel + 8 * j);
      }
    }
  }
}

}  // namespace

void winograd_weights(const WinogradWeightsArgs& a) { a.m == 4 ? weights<4>(a) : weights<2>(a); }
void winograd_output(const WinogradOutputArgs& a) { a.m == 4 ? output<4>(a) : output<2>(a); }

}  // namespace lq::avx512vnni
