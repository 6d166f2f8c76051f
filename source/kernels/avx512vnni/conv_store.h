// From accumulators to memory, AVX-512: the vector form of scalar/conv_store.h, the same bits.
#pragma once
#include <immintrin.h>

#include "kernels/conv_kernels.h"

namespace lq::avx512vnni {

/// NaN -> low: maxps/minps give their second operand for a NaN.
[[gnu::always_inline]] static inline __m512 clamp_ps(__m512 x, __m512 low, __m512 high) {
  return _mm512_min_ps(_mm512_max_ps(x, low), high);
}

/// Constants of an int8 kernel's epilogue for kVectors · 16 channels, loaded once a call.
template <int kVectors>
struct S8Store {
  __m512 multiplier[kVectors], low, high;
  __m512i zero_point;
  __mmask16 mask[kVectors];  // lanes with a channel
  const PanelGeometry& g;
  const Epilogue& e;

  __attribute__((always_inline)) S8Store(const PanelGeometry& geometry, const Epilogue& epilogue)
      : g(geometry), e(epilogue) {
    for (int v = 0; v < kVectors; ++v) {
      const int lanes = g.lanes - 16 * v;
      multiplier[v] = _mm512_loadu_ps(e.multiplier + 16 * v);
      mask[v] = lanes >= 16 ? __mmask16(0xFFFF) : lanes <= 0 ? __mmask16(0) : __mmask16((1u << lanes) - 1);
    }
    low = _mm512_set1_ps(e.low);
    high = _mm512_set1_ps(e.high);
    zero_point = _mm512_set1_epi32(e.zero_point);
  }

  /// R of 16 channels as bytes, zp in lanes without a channel.
  __attribute__((always_inline)) __m128i requantize(__m512i acc, int v) const {
    const __m512 t = clamp_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(acc), multiplier[v]), low, high);
    return _mm512_cvtepi32_epi8(_mm512_add_epi32(_mm512_maskz_cvtps_epi32(mask[v], t), zero_point));
  }

  /// A tile. Whole int8 NCHWc8 panels take constants held in registers: a store of bytes may alias what a pointer
  /// reaches, so all else would be loaded again for every pixel.
  template <int kPixels>
  __attribute__((always_inline)) void store_tile(const __m512i (&acc)[kPixels][kVectors], const ptrdiff_t* y_at) const {
    if (e.float_output || !g.y_blocked || g.lanes != 16 * kVectors) {
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) store(acc[p], y_at[p]);
      return;
    }
    __m512 m[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) m[v] = multiplier[v];
    const __m512 lo = low, hi = high;
    const __m512i zp = zero_point;
    const ptrdiff_t block = g.y_block;
    int8_t* const y = static_cast<int8_t*>(g.y);
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      int8_t* to = y + y_at[p];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v, to += 2 * block) {
        const __m512 t = clamp_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(acc[p][v]), m[v]), lo, hi);
        const __m128i q = _mm512_cvtepi32_epi8(_mm512_add_epi32(_mm512_cvtps_epi32(t), zp));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), q);
        _mm_storeh_pd(reinterpret_cast<double*>(to + block), _mm_castsi128_pd(q));
      }
    }
  }

  /// One pixel.
  __attribute__((always_inline)) void store(const __m512i* acc, ptrdiff_t pixel) const {
    if (e.float_output) return store_float(acc, pixel);
    int8_t* y = static_cast<int8_t*>(g.y) + pixel;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const int lanes = g.lanes - 16 * v;
      if (lanes <= 0) break;
      const __m128i q = requantize(acc[v], v);
      if (g.y_blocked) {
        int8_t* block = y + 2 * v * g.y_block;
        _mm_storel_epi64(reinterpret_cast<__m128i*>(block), q);
        if (lanes > kBlock) _mm_storeh_pd(reinterpret_cast<double*>(block + g.y_block), _mm_castsi128_pd(q));
      } else {
        _mm_mask_storeu_epi8(y + 16 * v, mask[v], q);
      }
    }
  }

  /// float(acc) · multiplier [clamped].
  __attribute__((always_inline)) void store_float(const __m512i* acc, ptrdiff_t pixel) const {
    float* y = static_cast<float*>(g.y) + pixel;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const int lanes = g.lanes - 16 * v;
      if (lanes <= 0) break;
      __m512 t = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[v]), multiplier[v]);
      if (e.float_clamp) t = clamp_ps(t, low, high);
      if (g.y_blocked) {
        float* block = y + 2 * v * g.y_block;
        t = _mm512_maskz_mov_ps(mask[v], t);
        _mm256_storeu_ps(block, _mm512_castps512_ps256(t));
        if (lanes > kBlock) _mm256_storeu_ps(block + g.y_block, _mm512_extractf32x8_ps(t, 1));
      } else {
        _mm512_mask_storeu_ps(y + 16 * v, mask[v], t);
      }
    }
  }
};

}  // namespace lq::avx512vnni
