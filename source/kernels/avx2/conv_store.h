// From accumulators to memory, AVX2: the vector form of scalar/conv_store.h, the same bits.
#pragma once
#include <immintrin.h>

#include "kernels/conv_kernels.h"

namespace lq::avx2 {

[[gnu::always_inline]] static inline __m256i load_256(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
/// 4 bytes to every 32-bit lane (a pair of int16).
[[gnu::always_inline]] static inline __m256i broadcast_pair(const int16_t* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm256_set1_epi32(v);
}
/// Makes g++ compute `v` here: left alone it hoists a tile's products ahead of its sums and spills them all.
[[gnu::always_inline]] static inline void pin(__m256i& v) { __asm__("" : "+x"(v)); }
[[gnu::always_inline]] static inline void pin(__m256& v) { __asm__("" : "+x"(v)); }
/// x > low ? x : low and so on: maxps/minps give their second operand for a NaN, so NaN -> low.
[[gnu::always_inline]] static inline __m256 clamp_ps(__m256 x, __m256 low, __m256 high) {
  return _mm256_min_ps(_mm256_max_ps(x, low), high);
}

/// All ones in lanes < count.
[[gnu::always_inline]] static inline __m256i lane_mask(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/// Constants of an int8 kernel's epilogue, loaded once a call. kHalves: 1 or 2 blocks of 8 channels.
template <int kHalves>
struct S8Store {
  __m256 multiplier[kHalves], low, high;
  __m256i zero_point, mask[kHalves];
  const PanelGeometry& g;
  const Epilogue& e;

  __attribute__((always_inline)) S8Store(const PanelGeometry& geometry, const Epilogue& epilogue)
      : g(geometry), e(epilogue) {
    for (int h = 0; h < kHalves; ++h) {
      multiplier[h] = _mm256_loadu_ps(e.multiplier + 8 * h);
      mask[h] = lane_mask(g.lanes - 8 * h);
    }
    low = _mm256_set1_ps(e.low);
    high = _mm256_set1_ps(e.high);
    zero_point = _mm256_set1_epi32(e.zero_point);
  }

  /// R of one block as int32, zp in lanes without a channel.
  __attribute__((always_inline)) __m256i requantize(__m256i acc, int h) const {
    const __m256 t = clamp_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(acc), multiplier[h]), low, high);
    return _mm256_add_epi32(_mm256_and_si256(_mm256_cvtps_epi32(t), mask[h]), zero_point);
  }

  /// Two blocks of 8 as bytes: the first in the low half.
  static __attribute__((always_inline)) __m128i narrow(__m256i q0, __m256i q1) {
    const __m256i q16 = _mm256_packs_epi32(q0, q1);                                          // a0-3 b0-3 | a4-7 b4-7
    const __m256i q8 = _mm256_packs_epi16(q16, q16);                                         // the same as bytes
    return _mm_unpacklo_epi32(_mm256_castsi256_si128(q8), _mm256_extracti128_si256(q8, 1));  // a0-7 b0-7
  }
  static __attribute__((always_inline)) void store_low(int8_t* y, __m128i v) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y), v);
  }
  static __attribute__((always_inline)) void store_high(int8_t* y, __m128i v) {
    _mm_storeh_pd(reinterpret_cast<double*>(y), _mm_castsi128_pd(v));
  }

  /// One pixel: 8 · kHalves channels.
  __attribute__((always_inline)) void store(const __m256i* acc, ptrdiff_t pixel) const {
    if (e.float_output) return store_float(acc, pixel);
    const __m256i q0 = requantize(acc[0], 0), q1 = kHalves == 2 ? requantize(acc[kHalves - 1], kHalves - 1) : q0;
    const __m128i bytes = narrow(q0, q1);
    int8_t* y0 = static_cast<int8_t*>(g.y) + pixel;
    if (g.y_blocked) {
      store_low(y0, bytes);
      if (kHalves == 2) store_high(y0 + g.y_block, bytes);
    } else if (kHalves == 2 && g.lanes == 16) {  // linear: both halves are neighbours
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y0), bytes);
    } else {
      int8_t lanes[16];
      _mm_storeu_si128(reinterpret_cast<__m128i*>(lanes), bytes);
      for (int i = 0; i < g.lanes; ++i) y0[i] = lanes[i];
    }
  }

  /// Two pixels of one block each, NCHWc8 int8 only.
  __attribute__((always_inline)) void store_two(__m256i a, __m256i b, ptrdiff_t pixel_a, ptrdiff_t pixel_b) const {
    const __m128i bytes = narrow(requantize(a, 0), requantize(b, 0));
    store_low(static_cast<int8_t*>(g.y) + pixel_a, bytes);
    store_high(static_cast<int8_t*>(g.y) + pixel_b, bytes);
  }

  /// float(acc) · multiplier [clamped].
  __attribute__((always_inline)) void store_float(const __m256i* acc, ptrdiff_t pixel) const {
    for (int h = 0; h < kHalves; ++h) {
      __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(acc[h]), multiplier[h]);
      if (e.float_clamp) v = clamp_ps(v, low, high);
      float* y = static_cast<float*>(g.y) + h * g.y_block + pixel;
      if (g.y_blocked) {
        _mm256_storeu_ps(y, _mm256_and_ps(v, _mm256_castsi256_ps(mask[h])));
      } else {
        _mm256_maskstore_ps(y, mask[h], v);
      }
    }
  }
};

/// Constants of a float kernel's epilogue.
template <int kHalves>
struct F32Store {
  __m256 low, high;
  __m256i mask[kHalves];
  const PanelGeometry& g;
  const FloatClamp& clamp;

  __attribute__((always_inline)) F32Store(const PanelGeometry& geometry, const FloatClamp& c) : g(geometry), clamp(c) {
    for (int h = 0; h < kHalves; ++h) mask[h] = lane_mask(g.lanes - 8 * h);
    low = _mm256_set1_ps(c.low);
    high = _mm256_set1_ps(c.high);
  }

  __attribute__((always_inline)) void store(const __m256* acc, ptrdiff_t pixel) const {
    for (int h = 0; h < kHalves; ++h) {
      __m256 v = _mm256_add_ps(acc[h], _mm256_setzero_ps());  // −0 becomes +0
      if (clamp.enabled) v = clamp_ps(v, low, high);
      float* y = static_cast<float*>(g.y) + h * g.y_block + pixel;
      if (g.y_blocked) {
        _mm256_storeu_ps(y, _mm256_and_ps(v, _mm256_castsi256_ps(mask[h])));
      } else {
        _mm256_maskstore_ps(y, mask[h], v);
      }
    }
  }
};

/// Walks the pixels of a panel in row-major order.
struct PixelCursor {
  const PanelGeometry& g;
  int row = 0, col = 0;
  __attribute__((always_inline)) void next() {
    if (++col == g.cols) {
      col = 0;
      ++row;
    }
  }
  __attribute__((always_inline)) ptrdiff_t x() const { return row * g.x_row + col * g.x_col; }
  __attribute__((always_inline)) ptrdiff_t y() const { return row * g.y_row + col * g.y_col; }
};

}  // namespace lq::avx2
