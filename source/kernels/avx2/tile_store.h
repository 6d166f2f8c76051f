// The epilogue of a whole tile, AVX2: the same bits as S8Store pixel by pixel, for outputs that lie side by side.
#pragma once
#include "kernels/avx2/conv_store.h"

namespace lq::avx2 {

/// Clamping to `high` happens in float, to `low` as a byte: what lies below −2^31 becomes INT32_MIN by cvtps2dq, and
/// every later step (saturating packs, saturating add of the zero point) keeps it below the smallest q, to which maxsb
/// lifts it.
template <int kHalves>
struct S8TileStore {
  S8Store<kHalves> pixel;
  __m256i zero_point16, smallest, lanes[kHalves], empty[kHalves];  // empty: zp in lanes without a channel, else 0
  bool dense;

  __attribute__((always_inline)) S8TileStore(const PanelGeometry& g, const Epilogue& e) : pixel(g, e) {
    zero_point16 = _mm256_set1_epi16(int16_t(e.zero_point));
    smallest = _mm256_set1_epi8(int8_t(e.float_output ? 0 : int(e.low) + e.zero_point));
    for (int h = 0; h < kHalves; ++h) {
      const __m256i real = _mm256_cmpgt_epi8(_mm256_set1_epi8(int8_t(g.lanes - 8 * h < 8 ? g.lanes - 8 * h : 8)),
                                             _mm256_set1_epi64x(0x0706050403020100));
      lanes[h] = real;
      empty[h] = _mm256_andnot_si256(real, _mm256_set1_epi8(int8_t(e.zero_point)));
    }
    dense = g.y_blocked && !e.float_output && g.y_col == kBlock;
  }

  [[gnu::always_inline]] inline __m256i scale(__m256i acc, int h) const {
    const __m256 t = _mm256_mul_ps(_mm256_cvtepi32_ps(acc), pixel.multiplier[h]);
    return _mm256_cvtps_epi32(_mm256_min_ps(t, pixel.high));
  }
  /// 4 pixels of block h as 32 bytes, pixel after pixel.
  [[gnu::always_inline]] inline __m256i bytes(__m256i a, __m256i b, __m256i c, __m256i d, int h) const {
    const __m256i ab = _mm256_adds_epi16(_mm256_packs_epi32(scale(a, h), scale(b, h)), zero_point16);
    const __m256i cd = _mm256_adds_epi16(_mm256_packs_epi32(scale(c, h), scale(d, h)), zero_point16);
    const __m256i v = _mm256_max_epi8(_mm256_packs_epi16(ab, cd), smallest);  // a0-3 b0-3 c0-3 d0-3 | a4-7 …
    const __m256i q = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    return _mm256_or_si256(_mm256_and_si256(q, lanes[h]), empty[h]);
  }

  template <int kPixels>
  [[gnu::always_inline]] inline void store_tile(const __m256i (&acc)[kPixels][kHalves], const ptrdiff_t* y_at) const {
    if (dense && y_at[kPixels - 1] - y_at[0] == (kPixels - 1) * kBlock) {
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) {
        int8_t* y = static_cast<int8_t*>(pixel.g.y) + h * pixel.g.y_block + y_at[0];
#pragma GCC unroll 4
        for (int p = 0; p < kPixels; p += 4, y += 32) {
          const int n = kPixels - p;
          const __m256i q =
              bytes(acc[p][h], acc[n > 1 ? p + 1 : p][h], acc[n > 2 ? p + 2 : p][h], acc[n > 3 ? p + 3 : p][h], h);
          if (n >= 4) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), q);
          } else {
            if (n >= 2) _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_castsi256_si128(q));
            if (n == 1) S8Store<kHalves>::store_low(y, _mm256_castsi256_si128(q));
            if (n == 3) S8Store<kHalves>::store_low(y + 16, _mm256_extracti128_si256(q, 1));
          }
        }
      }
      return;
    }
    __m256i kept[kPixels][kHalves];  // acc itself must not get an address: it lives in registers
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) kept[p][h] = acc[p][h];
    }
    scattered(kept[0], y_at, kPixels);
  }

  __attribute__((noinline)) void scattered(const __m256i* acc, const ptrdiff_t* y_at, int pixels) const {
    for (int p = 0; p < pixels; ++p) pixel.store(acc + p * kHalves, y_at[p]);
  }
};

}  // namespace lq::avx2
