// Depthwise convolution of one block of 8 channels. int8: two horizontal taps at once by vpmaddwd on interleaved
// pixels, so any stride and dilation reads whole vectors. Float: one vfmadd a tap, in order.
#include "kernels/avx2/conv_store.h"

namespace lq::avx2 {
namespace {

/// kPixels neighbouring outputs of a row, the first at x and y_at.
template <int kPixels>
[[gnu::always_inline]] static inline void tile_s8(const DepthwiseS8Args& a, const S8Store<1>& out, const int16_t* x,
                                                  ptrdiff_t y_at, bool in_pairs) {
  const PanelGeometry& g = a.geometry;
  __m256i acc[kPixels];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) acc[p] = load_256(a.epilogue.bias);
  for (int t = 0; t < g.taps; ++t) {
    const __m256i w = load_256(a.w + 16 * t);
    const int16_t* in = x + g.tap[t];
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p)
      acc[p] = _mm256_add_epi32(acc[p], _mm256_madd_epi16(load_256(in + p * g.x_col), w));
  }
  if (kPixels % 2 == 0 && in_pairs) {
#pragma GCC unroll 4
    for (int p = 0; p + 1 < kPixels; p += 2)
      out.store_two(acc[p], acc[p + 1], y_at + p * g.y_col, y_at + (p + 1) * g.y_col);
  } else {
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) out.store(&acc[p], y_at + p * g.y_col);
  }
}

/// The same for floats.
template <int kPixels>
[[gnu::always_inline]] static inline void tile_f32(const DepthwiseF32Args& a, const F32Store<1>& out, const float* x,
                                                   ptrdiff_t y_at) {
  const PanelGeometry& g = a.geometry;
  __m256 acc[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) acc[p] = _mm256_loadu_ps(a.start);
  for (int t = 0; t < g.taps; ++t) {
    const __m256 w = _mm256_loadu_ps(a.w + 8 * t);
    const float* in = x + g.tap[t];
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) acc[p] = _mm256_fmadd_ps(_mm256_loadu_ps(in + p * g.x_col), w, acc[p]);
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) out.store(&acc[p], y_at + p * g.y_col);
}

}  // namespace

void depthwise_s8(const DepthwiseS8Args& a) {
  const PanelGeometry& g = a.geometry;
  const S8Store<1> out(g, a.epilogue);
  const bool in_pairs = g.y_blocked && !a.epilogue.float_output;
  for (int r = 0; r < g.rows; ++r) {
    const int16_t* x = a.x + r * g.x_row;
    ptrdiff_t y = r * g.y_row;
    int c = 0;
    for (; c + 4 <= g.cols; c += 4, x += 4 * g.x_col, y += 4 * g.y_col) tile_s8<4>(a, out, x, y, in_pairs);
    for (; c < g.cols; ++c, x += g.x_col, y += g.y_col) tile_s8<1>(a, out, x, y, false);
  }
}

void depthwise_f32(const DepthwiseF32Args& a) {
  const PanelGeometry& g = a.geometry;
  const F32Store<1> out(g, a.clamp);
  for (int r = 0; r < g.rows; ++r) {
    const float* x = a.x + r * g.x_row;
    ptrdiff_t y = r * g.y_row;
    int c = 0;
    for (; c + 8 <= g.cols; c += 8, x += 8 * g.x_col, y += 8 * g.y_col) tile_f32<8>(a, out, x, y);
    for (; c < g.cols; ++c, x += g.x_col, y += g.y_col) tile_f32<1>(a, out, x, y);
  }
}

void interleave_s16(const InterleaveS16Args& a) {
  for (int64_t p = 0; p < a.pixels; ++p) {
    const __m128i u = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a.x + 8 * p));
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a.x + 8 * p + a.shift));
    __m128i* y = reinterpret_cast<__m128i*>(a.y + 16 * p);
    _mm_storeu_si128(y, _mm_unpacklo_epi16(u, v));
    _mm_storeu_si128(y + 1, _mm_unpackhi_epi16(u, v));
  }
}

}  // namespace lq::avx2
