// Transforms of exact integer Winograd, SSE4.1. Inputs: the columns of a row of tiles first, a pixel of 8 channels a
// vector, then the rows. Weights: 8 (output channel, input channel) pairs a vector. Outputs: 4 channels a vector.
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

#include "kernels/winograd_inline.h"

/// Columns [begin, end) of the input, transformed, to columns of `out`: [column][m + 2][8 channels]. row[i]: input row
/// i of the tile, pixel 0.
template <int kM>
void transform_columns(const int8_t* const (&row)[kM + 2], int begin, int end, int32_t zero_point, int16_t* out) {
  constexpr int kSize = kM + 2;
  const S16 zero = {_mm_set1_epi16(int16_t(zero_point))};
  for (int c = begin; c < end; ++c, out += 8 * kSize) {
    S16 d[kSize], v[kSize];
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) d[i] = sub(widen(row[i] + 8 * ptrdiff_t(c)), zero);
    transform_input<kM>(d, v);
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) store(out + 8 * i, v[i]);
  }
}

/// The exact sums of a tile's outputs of 4 channels, bias added, at acc + 2 · (output).
template <int kM>
[[gnu::always_inline]] static inline void finish_tile(const int32_t* sum, ptrdiff_t sum_position, S32 bias,
                                                      __m128i* acc) {
  S32 half[kM][kM + 2];
  transform_sum_columns<kM>(sum, sum_position, half);
#pragma GCC unroll 4
  for (int i = 0; i < kM; ++i) {
    S32 y[kM];
    finish_row<kM>(half, i, bias, y);
#pragma GCC unroll 4
    for (int j = 0; j < kM; ++j) acc[2 * (kM * i + j)] = y[j].v;
  }
}

/// 8 of the 16 channels.
template <int kM>
void output_half(const WinogradOutputArgs& a, const PanelGeometry& g, const Epilogue& e, const int32_t* sum) {
  const S8Store<1> out(g, e);
  const S32 bias[2] = {load_sums(e.bias), load_sums(e.bias + 4)};
  for (int t = 0; t < a.tiles; ++t, sum += kWinogradPanel) {
    __m128i acc[kM * kM][2];
    for (int h = 0; h < 2; ++h) finish_tile<kM>(sum + 4 * h, a.sum_position, bias[h], &acc[0][h]);
    const int count = a.cols - t * kM < kM ? a.cols - t * kM : kM;
    for (int i = 0; i < kM && i < a.rows; ++i) {
      const ptrdiff_t pixel = i * a.y_row + 8 * t * kM;
      if (!e.float_output && count == kM) {
        for (int j = 0; j < kM; j += 2)
          out.store_two(acc[kM * i + j], acc[kM * i + j + 1], pixel + 8 * j, pixel + 8 * j + 8);
      } else {
        for (int j = 0; j < count; ++j) out.store(acc[kM * i + j], pixel + 8 * j);
      }
    }
  }
}

#include "kernels/winograd_rows_inline.h"

template <int kM>
void input(const WinogradInputArgs& a) {
  constexpr int kSize = kM + 2;
  input_columns<kM>(a);
  for (int t = 0; t < a.tiles; ++t) {
    const int16_t* tile = a.rows + ptrdiff_t(t) * kM * kSize * 8;
    for (int i = 0; i < kSize; ++i) {
      S16 d[kSize], v[kSize];
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) d[j].v = load_128(tile + (j * kSize + i) * 8);
      transform_input<kM>(d, v);
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) store(a.v + 8 * t + (i * kSize + j) * a.v_position, v[j]);
    }
  }
}

}  // namespace

void winograd_input(const WinogradInputArgs& a) { a.m == 4 ? input<4>(a) : input<2>(a); }
void winograd_weights(const WinogradWeightsArgs& a) { a.m == 4 ? weights<4>(a) : weights<2>(a); }
void winograd_output(const WinogradOutputArgs& a) { a.m == 4 ? output<4>(a) : output<2>(a); }

}  // namespace lq::sse41
