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
[[gnu::always_inline]] static inline S32 load_sums(const int32_t* p) { return {load_256(p)}; }
[[gnu::always_inline]] static inline S32 times(S32 a, int32_t factor) {
  return {_mm256_mullo_epi32(a.v, _mm256_set1_epi32(factor))};
}
[[gnu::always_inline]] static inline S32 shift_right(S32 a, int bits) { return {_mm256_srai_epi32(a.v, bits)}; }

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
[[gnu::always_inline]] static inline void store_row(const S8Store<1>& out, bool is_float, const S32 (&y)[kM], int count,
                                                    ptrdiff_t pixel) {
  if (!is_float && count == kM) {
#pragma GCC unroll 2
    for (int j = 0; j < kM; j += 2) out.store_two(y[j].v, y[j + 1].v, pixel + 8 * j, pixel + 8 * j + 8);
    return;
  }
#pragma GCC unroll 4
  for (int j = 0; j < kM; ++j) {
    if (j < count) out.store(&y[j].v, pixel + 8 * j);
  }
}

/// 8 of the 16 channels.
template <int kM>
void output_half(const WinogradOutputArgs& a, const PanelGeometry& g, const Epilogue& e, const int32_t* sum) {
  const S8Store<1> out(g, e);
  const S32 bias = load_sums(e.bias);
  for (int t = 0; t < a.tiles; ++t, sum += kWinogradPanel) {
    S32 half[kM][kM + 2];
    transform_sum_columns<kM>(sum, a.sum_position, half);
    const int count = a.cols - t * kM < kM ? a.cols - t * kM : kM;
#pragma GCC unroll 4
    for (int i = 0; i < kM; ++i) {
      if (i >= a.rows) break;
      S32 y[kM];
      finish_row<kM>(half, i, bias, y);
      store_row<kM>(out, e.float_output, y, count, i * a.y_row + 8 * t * kM);
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

}  // namespace

void winograd_input(const WinogradInputArgs& a) { a.m == 4 ? input<4>(a) : input<2>(a); }
void winograd_weights(const WinogradWeightsArgs& a) { a.m == 4 ? weights<4>(a) : weights<2>(a); }
void winograd_output(const WinogradOutputArgs& a) { a.m == 4 ? output<4>(a) : output<2>(a); }

}  // namespace lq::avx2
