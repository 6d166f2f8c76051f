// Depthwise convolution of one block of 8 channels: two horizontal taps at once by pmaddwd on interleaved pixels, so
// any stride and dilation reads whole vectors. (Layers of more taps than depthwise_taps.cc takes, and of weights beyond
// ±127.)
#include "kernels/sse41/conv_store.h"

namespace lq::sse41 {
namespace {

/// kPixels neighbouring outputs of a row, the first at x and y_at.
template <int kPixels>
[[gnu::always_inline]] static inline void tile(const DepthwiseS8Args& a, const S8Store<1>& out, const int16_t* x,
                                               ptrdiff_t y_at, bool in_pairs) {
  const PanelGeometry& g = a.geometry;
  __m128i acc[kPixels][2];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) acc[p][0] = load_128(a.epilogue.bias), acc[p][1] = load_128(a.epilogue.bias + 4);
  for (int t = 0; t < g.taps; ++t) {
    const __m128i w0 = load_128(a.w + 16 * t), w1 = load_128(a.w + 16 * t + 8);
    const int16_t* in = x + g.tap[t];
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p, in += g.x_col) {
      acc[p][0] = _mm_add_epi32(acc[p][0], _mm_madd_epi16(load_128(in), w0));
      acc[p][1] = _mm_add_epi32(acc[p][1], _mm_madd_epi16(load_128(in + 8), w1));
    }
  }
  if (kPixels % 2 == 0 && in_pairs) {
#pragma GCC unroll 2
    for (int p = 0; p + 1 < kPixels; p += 2)
      out.store_two(acc[p], acc[p + 1], y_at + p * g.y_col, y_at + (p + 1) * g.y_col);
  } else {
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) out.store(acc[p], y_at + p * g.y_col);
  }
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
    for (; c + 4 <= g.cols; c += 4, x += 4 * g.x_col, y += 4 * g.y_col) tile<4>(a, out, x, y, in_pairs);
    for (; c < g.cols; ++c, x += g.x_col, y += g.y_col) tile<1>(a, out, x, y, false);
  }
}

void interleave_s16(const InterleaveS16Args& a) {
  for (int64_t p = 0; p < a.pixels; ++p) {
    const __m128i u = load_128(a.x + 8 * p), v = load_128(a.x + 8 * p + a.shift);
    store_128(a.y + 16 * p, _mm_unpacklo_epi16(u, v));
    store_128(a.y + 16 * p + 8, _mm_unpackhi_epi16(u, v));
  }
}

}  // namespace lq::sse41
