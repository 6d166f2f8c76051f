// Transforms of exact integer Winograd, AVX2. Inputs: the columns of a row of tiles first, two pixels of 8 channels a
// vector, then the rows, two of them a vector. Weights: 16 (output channel, input channel) pairs a vector. Outputs: 8
// channels a vector.
#include "kernels/avx2/conv_store.h"
#include "kernels/winograd_kernels.h"

namespace lq::avx2 {
namespace {

/// int16 and int32 lanes as types of their own, so that the transforms can be written once.
struct S16 {
  static constexpr int kLanes = 16;
  __m256i v;
};
struct S32 {
  __m256i v;
};
[[gnu::always_inline]] static inline S16 add(S16 a, S16 b) { return {_mm256_add_epi16(a.v, b.v)}; }
[[gnu::always_inline]] static inline S16 sub(S16 a, S16 b) { return {_mm256_sub_epi16(a.v, b.v)}; }
[[gnu::always_inline]] static inline S32 add(S32 a, S32 b) { return {_mm256_add_epi32(a.v, b.v)}; }
[[gnu::always_inline]] static inline S32 sub(S32 a, S32 b) { return {_mm256_sub_epi32(a.v, b.v)}; }
template <int kBits>
[[gnu::always_inline]] static inline S16 shl(S16 a) {
  return {_mm256_slli_epi16(a.v, kBits)};
}

[[gnu::always_inline]] static inline void store_256(void* p, __m256i v) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), v);
}
[[gnu::always_inline]] static inline S16 widen(const int8_t* p) {
  return {_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
[[gnu::always_inline]] static inline void store(int16_t* p, S16 v) { store_256(p, v.v); }

#include "kernels/winograd_inline.h"

[[gnu::always_inline]] static inline void store_128(int16_t* p, __m128i v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
}

/// Columns [begin, end) of the input, transformed, to columns of `out`: [column][m + 2][8 channels]. row[i]: input row
/// i of the tile, pixel 0.
template <int kM>
void transform_columns(const int8_t* const (&row)[kM + 2], int begin, int end, int32_t zero_point, int16_t* out) {
  constexpr int kSize = kM + 2;
  const __m256i zero = _mm256_set1_epi16(int16_t(zero_point));
  int c = begin;
  for (; c + 2 <= end; c += 2, out += 2 * 8 * kSize) {
    S16 d[kSize], v[kSize];
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) {
      const __m128i q = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row[i] + 8 * ptrdiff_t(c)));
      d[i].v = _mm256_sub_epi16(_mm256_cvtepi8_epi16(q), zero);
    }
    transform_input<kM>(d, v);
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) {
      store_128(out + 8 * i, _mm256_castsi256_si128(v[i].v));
      store_128(out + 8 * (kSize + i), _mm256_extracti128_si256(v[i].v, 1));
    }
  }
  if (c < end) {
    S16 d[kSize], v[kSize];
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) {
      const __m128i q = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row[i] + 8 * ptrdiff_t(c)));
      d[i].v = _mm256_sub_epi16(_mm256_cvtepi8_epi16(q), zero);
    }
    transform_input<kM>(d, v);
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) store_128(out + 8 * i, _mm256_castsi256_si128(v[i].v));
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
    int16_t* out = a.v + 8 * t;
#pragma GCC unroll 3
    for (int i = 0; i < kSize; i += 2) {
      S16 d[kSize], v[kSize];
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) d[j].v = load_256(tile + (j * kSize + i) * 8);
      transform_input<kM>(d, v);
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) {
        store_128(out + (i * kSize + j) * a.v_position, _mm256_castsi256_si128(v[j].v));
        store_128(out + ((i + 1) * kSize + j) * a.v_position, _mm256_extracti128_si256(v[j].v, 1));
      }
    }
  }
}

/// The exact sums of output row i of a tile, bias added.
template <int kM>
[[gnu::always_inline]] static inline void finish_row(const S32 (&half)[kM][kM + 2], int i, __m256i bias,
                                                     __m256i (&acc)[kM]) {
  S32 y[kM];
  transform_output<kM>(half[i], y);
  const __m256i inverse = _mm256_set1_epi32(954437177);  // of 9, modulo 2^32
#pragma GCC unroll 4
  for (int j = 0; j < kM; ++j) {
    const __m256i scaled = kM == 4 ? _mm256_mullo_epi32(y[j].v, inverse) : y[j].v;
    acc[j] = _mm256_add_epi32(_mm256_srai_epi32(scaled, output_shift<kM>(i) + output_shift<kM>(j)), bias);
  }
}

template <int kM>
[[gnu::always_inline]] static inline void store_row(const S8Store<1>& out, bool is_float, const __m256i (&acc)[kM],
                                                    int count, ptrdiff_t pixel) {
  if (!is_float && count == kM) {
#pragma GCC unroll 2
    for (int j = 0; j < kM; j += 2) out.store_two(acc[j], acc[j + 1], pixel + 8 * j, pixel + 8 * j + 8);
    return;
  }
#pragma GCC unroll 4
  for (int j = 0; j < kM; ++j) {
    if (j < count) out.store(&acc[j], pixel + 8 * j);
  }
}

/// 8 of the 16 channels.
template <int kM>
void output_half(const WinogradOutputArgs& a, const PanelGeometry& g, const Epilogue& e, const int32_t* sum) {
  constexpr int kSize = kM + 2;
  const S8Store<1> out(g, e);
  const __m256i bias = load_256(e.bias);
  for (int t = 0; t < a.tiles; ++t, sum += kWinogradPanel) {
    S32 half[kM][kSize];
#pragma GCC unroll 6
    for (int j = 0; j < kSize; ++j) {
      S32 s[kSize], y[kM];
#pragma GCC unroll 6
      for (int i = 0; i < kSize; ++i) s[i].v = load_256(sum + (i * kSize + j) * a.sum_position);
      transform_output<kM>(s, y);
#pragma GCC unroll 4
      for (int i = 0; i < kM; ++i) half[i][j] = y[i];
    }
    const int count = a.cols - t * kM < kM ? a.cols - t * kM : kM;
#pragma GCC unroll 4
    for (int i = 0; i < kM; ++i) {
      if (i >= a.rows) break;
      __m256i acc[kM];
      finish_row<kM>(half, i, bias, acc);
      store_row<kM>(out, e.float_output, acc, count, i * a.y_row + 8 * t * kM);
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
    const ptrdiff_t bytes = h * a.y_block * (e.float_output ? 4 : 1);
    g.y = static_cast<char*>(a.y) + bytes;
    e.bias = a.epilogue.bias + 8 * h;
    e.multiplier = a.epilogue.multiplier + 8 * h;
    output_half<kM>(a, g, e, a.sum + 8 * h);
  }
}

}  // namespace

void winograd_input(const WinogradInputArgs& a) { a.m == 4 ? input<4>(a) : input<2>(a); }
void winograd_weights(const WinogradWeightsArgs& a) { a.m == 4 ? weights<4>(a) : weights<2>(a); }
void winograd_output(const WinogradOutputArgs& a) { a.m == 4 ? output<4>(a) : output<2>(a); }

}  // namespace lq::avx2
