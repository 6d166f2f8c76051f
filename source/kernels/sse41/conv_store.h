// From accumulators to memory, SSE4.1: the vector form of scalar/conv_store.h, the same bits.
#pragma once
#include <smmintrin.h>

#include "kernels/conv_kernels.h"

namespace lq::sse41 {

[[gnu::always_inline]] static inline __m128i load_128(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
[[gnu::always_inline]] static inline __m128i load_64(const void* p) {
  return _mm_loadl_epi64(static_cast<const __m128i*>(p));
}
[[gnu::always_inline]] static inline void store_128(void* p, __m128i v) {
  _mm_storeu_si128(static_cast<__m128i*>(p), v);
}
[[gnu::always_inline]] static inline void store_low(void* p, __m128i v) {
  _mm_storel_epi64(static_cast<__m128i*>(p), v);
}
[[gnu::always_inline]] static inline void store_high(void* p, __m128i v) {
  _mm_storeh_pd(static_cast<double*>(p), _mm_castsi128_pd(v));
}
/// 4 bytes to every 32-bit lane.
[[gnu::always_inline]] static inline __m128i broadcast_4(const void* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm_set1_epi32(v);
}
/// Makes g++ compute `v` here: left alone it hoists a tile's products ahead of its sums and spills them all.
[[gnu::always_inline]] static inline void pin(__m128i& v) { __asm__("" : "+x"(v)); }
/// maxps and minps give their second operand for a NaN, so NaN -> low.
[[gnu::always_inline]] static inline __m128 clamp_ps(__m128 x, __m128 low, __m128 high) {
  return _mm_min_ps(_mm_max_ps(x, low), high);
}

/// Constants of an int8 kernel's epilogue for kBlocks (1 or 2) blocks of 8 channels, loaded once a call. Clamping to
/// `high` happens in float, to `low` as a byte: what lies below −2^31 becomes INT32_MIN by cvtps2dq, and every later
/// step (saturating packs, saturating add of the zero point) keeps it below the smallest q, to which pmaxsb lifts it.
template <int kBlocks>
struct S8Store {
  __m128 multiplier[2 * kBlocks], low, high;
  __m128i zero_point, smallest;
  __m128i lanes, empty;  // of 16 bytes: both blocks, or the block twice; empty: zp in lanes without a channel, else 0
  const PanelGeometry& g;
  const Epilogue& e;

  __attribute__((always_inline)) S8Store(const PanelGeometry& geometry, const Epilogue& epilogue)
      : g(geometry), e(epilogue) {
    for (int v = 0; v < 2 * kBlocks; ++v) multiplier[v] = _mm_loadu_ps(e.multiplier + 4 * v);
    low = _mm_set1_ps(e.low);
    high = _mm_set1_ps(e.high);
    zero_point = _mm_set1_epi16(int16_t(e.zero_point));
    smallest = _mm_set1_epi8(int8_t(e.float_output ? 0 : int(e.low) + e.zero_point));
    const __m128i channel = _mm_set_epi64x(kBlocks == 2 ? 0x0F0E0D0C0B0A0908 : 0x0706050403020100, 0x0706050403020100);
    lanes = _mm_cmpgt_epi8(_mm_set1_epi8(int8_t(g.lanes)), channel);
    empty = _mm_andnot_si128(lanes, _mm_set1_epi8(int8_t(e.zero_point)));
  }

  [[gnu::always_inline]] inline __m128i scale(__m128i acc, int v) const {
    return _mm_cvtps_epi32(_mm_min_ps(_mm_mul_ps(_mm_cvtepi32_ps(acc), multiplier[v]), high));
  }
  /// 16 channels' accumulators as bytes: of both blocks, or of two pixels.
  [[gnu::always_inline]] inline __m128i bytes(__m128i a, __m128i b, __m128i c, __m128i d) const {
    constexpr int kSecond = kBlocks == 2 ? 2 : 0;
    const __m128i ab = _mm_adds_epi16(_mm_packs_epi32(scale(a, 0), scale(b, 1)), zero_point);
    const __m128i cd = _mm_adds_epi16(_mm_packs_epi32(scale(c, kSecond), scale(d, kSecond + 1)), zero_point);
    const __m128i q = _mm_max_epi8(_mm_packs_epi16(ab, cd), smallest);
    return _mm_or_si128(_mm_and_si128(q, lanes), empty);
  }

  /// One pixel: 8 · kBlocks channels.
  [[gnu::always_inline]] inline void store(const __m128i (&acc)[2 * kBlocks], ptrdiff_t pixel) const {
    if (g.y_blocked && !e.float_output) {
      const __m128i q = bytes(acc[0], acc[1], acc[2 * kBlocks - 2], acc[2 * kBlocks - 1]);
      int8_t* y = static_cast<int8_t*>(g.y) + pixel;
      store_low(y, q);
      if (kBlocks == 2) store_high(y + g.y_block, q);
      return;
    }
    __m128i kept[2 * kBlocks];  // acc itself must not get an address: it lives in registers
#pragma GCC unroll 4
    for (int v = 0; v < 2 * kBlocks; ++v) kept[v] = acc[v];
    e.float_output ? store_float(kept, pixel) : store_linear(kept, pixel);
  }

  __attribute__((noinline)) void store_linear(const __m128i* acc, ptrdiff_t pixel) const {
    const __m128i q = bytes(acc[0], acc[1], acc[2 * kBlocks - 2], acc[2 * kBlocks - 1]);
    int8_t* y = static_cast<int8_t*>(g.y) + pixel;
    if (kBlocks == 2 && g.lanes == 16) return store_128(y, q);  // both blocks are neighbours
    int8_t all[16];
    store_128(all, q);
    for (int i = 0; i < g.lanes; ++i) y[i] = all[i];
  }

  /// Two pixels of one block each, NCHWc8 int8 only.
  [[gnu::always_inline]] inline void store_two(const __m128i (&a)[2], const __m128i (&b)[2], ptrdiff_t first,
                                               ptrdiff_t second) const {
    static_assert(kBlocks == 1);
    const __m128i q = bytes(a[0], a[1], b[0], b[1]);
    store_low(static_cast<int8_t*>(g.y) + first, q);
    store_high(static_cast<int8_t*>(g.y) + second, q);
  }

  /// float(acc) · multiplier [clamped].
  __attribute__((noinline)) void store_float(const __m128i* acc, ptrdiff_t pixel) const {
    for (int b = 0; b < kBlocks; ++b) {
      float all[8];
      for (int v = 0; v < 2; ++v) {
        __m128 t = _mm_mul_ps(_mm_cvtepi32_ps(acc[2 * b + v]), multiplier[2 * b + v]);
        if (e.float_clamp) t = clamp_ps(t, low, high);
        _mm_storeu_ps(all + 4 * v, t);
      }
      float* y = static_cast<float*>(g.y) + b * g.y_block + pixel;
      const int real = g.lanes - 8 * b < 8 ? g.lanes - 8 * b : 8;
      for (int i = 0; i < real; ++i) y[i] = all[i];
      for (int i = real < 0 ? 0 : real; g.y_blocked && i < 8; ++i) y[i] = 0.0f;
    }
  }
};

/// A count known when compiling, as an argument.
template <int kCount>
struct Count {
  static constexpr int value = kCount;
};

/// Calls f(Count<n>(), x_at, y_at) for all pixels in row-major order, in tiles of n <= kPixels (2 or 4) pixels, as even
/// as possible.
template <int kPixels, typename F>
[[gnu::always_inline]] static inline void for_each_tile(const PanelGeometry& g, const F& f) {
  const int64_t pixels = int64_t(g.rows) * g.cols;
  int row = 0, col = 0;
  for (int64_t left = pixels, tiles = (pixels + kPixels - 1) / kPixels; left > 0; --tiles) {
    const int n = int((left + tiles - 1) / tiles);
    ptrdiff_t x_at[kPixels], y_at[kPixels];
    for (int p = 0; p < n; ++p) {
      x_at[p] = row * g.x_row + col * g.x_col;
      y_at[p] = row * g.y_row + col * g.y_col;
      if (++col == g.cols) col = 0, ++row;
    }
    if (n == 1) f(Count<1>(), x_at, y_at);
    if (n == 2) f(Count<2>(), x_at, y_at);
    if constexpr (kPixels > 2) {
      if (n == 3) f(Count<3>(), x_at, y_at);
      if (n == 4) f(Count<4>(), x_at, y_at);
    }
    left -= n;
  }
}

}  // namespace lq::sse41
