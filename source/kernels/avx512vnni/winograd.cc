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

#include "kernels/winograd_inline.h"

/// The exact sums of output row i of a tile, bias added.
template <int kM>
[[gnu::always_inline]] static inline void finish_row(const S32 (&half)[kM][kM + 2], int i, __m512i bias,
                                                     __m512i (&acc)[kM][1]) {
  S32 y[kM];
  transform_output<kM>(half[i], y);
  const __m512i inverse = _mm512_set1_epi32(954437177);  // of 9, modulo 2^32
#pragma GCC unroll 4
  for (int j = 0; j < kM; ++j) {
    const __m512i scaled = kM == 4 ? _mm512_mullo_epi32(y[j].v, inverse) : y[j].v;
    acc[j][0] = _mm512_add_epi32(_mm512_srai_epi32(scaled, unsigned(output_shift<kM>(i) + output_shift<kM>(j))), bias);
  }
}

template <int kM>
void output(const WinogradOutputArgs& a) {
  constexpr int kSize = kM + 2;
  PanelGeometry g{};
  g.y_blocked = true;
  g.y = a.y, g.y_block = a.y_block, g.lanes = a.lanes;
  const S8Store<1> out(g, a.epilogue);
  const __m512i bias = _mm512_loadu_si512(a.epilogue.bias);
  const int32_t* sum = a.sum;
  for (int t = 0; t < a.tiles; ++t, sum += kWinogradPanel) {
    S32 half[kM][kSize];
#pragma GCC unroll 6
    for (int j = 0; j < kSize; ++j) {
      S32 s[kSize], y[kM];
#pragma GCC unroll 6
      for (int i = 0; i < kSize; ++i) s[i].v = _mm512_loadu_si512(sum + (i * kSize + j) * a.sum_position);
      transform_output<kM>(s, y);
#pragma GCC unroll 4
      for (int i = 0; i < kM; ++i) half[i][j] = y[i];
    }
    const int count = a.cols - t * kM < kM ? a.cols - t * kM : kM;
#pragma GCC unroll 4
    for (int i = 0; i < kM; ++i) {
      if (i >= a.rows) break;
      __m512i acc[kM][1];
      finish_row<kM>(half, i, bias, acc);
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
