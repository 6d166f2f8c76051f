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

template <int kM>
void input(const WinogradInputArgs& a) {
  constexpr int kSize = kM + 2;
  const int width = a.tiles * kM + 2;
  const int begin = a.first_col < 0 ? 0 : a.first_col;
  const int last = a.first_col + width;
  const int end = last < a.in_w ? (last < begin ? begin : last) : (a.in_w < begin ? begin : a.in_w);
  int16_t* const columns = a.rows;
  int8_t* const padding = reinterpret_cast<int8_t*>(columns + ptrdiff_t(kSize) * 8 * width);
  const int8_t* row[kSize];
  bool padded = false;
  for (int i = 0; i < kSize; ++i) {
    const int at = a.first_row + i;
    const bool inside = at >= 0 && at < a.in_h;
    row[i] = inside ? a.x + ptrdiff_t(at) * a.in_w * 8 : padding;
    padded |= !inside;
  }
  if (padded) __builtin_memset(padding, int(a.zero_point), size_t(a.in_w) * 8);
  // Columns outside the image are zero, and so is their transform.
  const int left = end > begin ? begin - a.first_col : width;
  __builtin_memset(columns, 0, size_t(left) * kSize * 16);
  if (end > begin) {
    transform_columns<kM>(row, begin, end, a.zero_point, columns + ptrdiff_t(left) * kSize * 8);
    const int right = end - a.first_col;
    __builtin_memset(columns + ptrdiff_t(right) * kSize * 8, 0, size_t(width - right) * kSize * 16);
  }
  for (int t = 0; t < a.tiles; ++t) {
    const int16_t* tile = columns + ptrdiff_t(t) * kM * kSize * 8;
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

/// The exact sums of a tile's outputs of 4 channels, bias added, at acc + 2 · (output).
template <int kM>
[[gnu::always_inline]] static inline void finish_tile(const int32_t* sum, ptrdiff_t sum_position, __m128i bias,
                                                      __m128i* acc) {
  constexpr int kSize = kM + 2;
  const __m128i inverse = _mm_set1_epi32(954437177);  // of 9, modulo 2^32
  S32 half[kM][kSize];
  for (int j = 0; j < kSize; ++j) {
    S32 s[kSize], y[kM];
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) s[i].v = load_128(sum + (i * kSize + j) * sum_position);
    transform_output<kM>(s, y);
#pragma GCC unroll 4
    for (int i = 0; i < kM; ++i) half[i][j] = y[i];
  }
#pragma GCC unroll 4
  for (int i = 0; i < kM; ++i) {
    S32 y[kM];
    transform_output<kM>(half[i], y);
#pragma GCC unroll 4
    for (int j = 0; j < kM; ++j) {
      const __m128i scaled = kM == 4 ? _mm_mullo_epi32(y[j].v, inverse) : y[j].v;
      acc[2 * (kM * i + j)] = _mm_add_epi32(_mm_srai_epi32(scaled, output_shift<kM>(i) + output_shift<kM>(j)), bias);
    }
  }
}

/// 8 of the 16 channels.
template <int kM>
void output_half(const WinogradOutputArgs& a, const PanelGeometry& g, const Epilogue& e, const int32_t* sum) {
  const S8Store<1> out(g, e);
  const __m128i bias[2] = {load_128(e.bias), load_128(e.bias + 4)};
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

template <int kM>
void output(const WinogradOutputArgs& a) {
  PanelGeometry g{};
  g.y_blocked = true;
  g.y_block = a.y_block;
  Epilogue e = a.epilogue;
  for (int h = 0; h < 2 && a.lanes > 8 * h; ++h) {
    g.lanes = a.lanes - 8 * h;
    g.y = static_cast<char*>(a.y) + h * a.y_block * (e.float_output ? 4 : 1);
    e.bias = a.epilogue.bias + 8 * h;
    e.multiplier = a.epilogue.multiplier + 8 * h;
    output_half<kM>(a, g, e, a.sum + 8 * h);
  }
}

}  // namespace

void winograd_input(const WinogradInputArgs& a) { a.m == 4 ? input<4>(a) : input<2>(a); }
void winograd_weights(const WinogradWeightsArgs& a) { a.m == 4 ? weights<4>(a) : weights<2>(a); }
void winograd_output(const WinogradOutputArgs& a) { a.m == 4 ? output<4>(a) : output<2>(a); }

}  // namespace lq::sse41
