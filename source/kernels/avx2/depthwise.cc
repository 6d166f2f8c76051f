// Depthwise convolution of one block of 8 channels. int8: two horizontal taps at once by vpmaddwd on interleaved pixels,
// so any stride and dilation reads whole vectors. Float: one vfmadd a tap, in order.
#include "kernels/avx2/conv_store.h"

namespace lq::avx2 {
namespace {

template <int kPixels>
LQ_INLINE void tile_s8(const DepthwiseS8Args& a, const S8Store<1>& out, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
  const PanelGeometry& g = a.geometry;
  const int16_t* x[kPixels];
  __m256i acc[kPixels][1];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
    x[p] = a.x + x_at[p];
    acc[p][0] = load_256(a.epilogue.bias);
  }
  for (int t = 0; t < g.taps; ++t) {
    const __m256i w = load_256(a.w + 16 * t);
    const ptrdiff_t offset = g.tap[t];
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) acc[p][0] = _mm256_add_epi32(acc[p][0], _mm256_madd_epi16(load_256(x[p] + offset), w));
  }
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) out.store(acc[p], y_at[p]);
}

template <int kPixels>
LQ_INLINE void tile_f32(const DepthwiseF32Args& a, const F32Store<1>& out, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
  const PanelGeometry& g = a.geometry;
  const float* x[kPixels];
  __m256 acc[kPixels][1];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    x[p] = a.x + x_at[p];
    acc[p][0] = _mm256_loadu_ps(a.start);
  }
  for (int t = 0; t < g.taps; ++t) {
    const __m256 w = _mm256_loadu_ps(a.w + 8 * t);
    const ptrdiff_t offset = g.tap[t];
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) acc[p][0] = _mm256_fmadd_ps(_mm256_loadu_ps(x[p] + offset), w, acc[p][0]);
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) out.store(acc[p], y_at[p]);
}

}  // namespace

void depthwise_s8(const DepthwiseS8Args& a) {
  const PanelGeometry& g = a.geometry;
  const S8Store<1> out(g, a.epilogue);
  PixelCursor cursor{g};
  ptrdiff_t x_at[4], y_at[4];
  for (int64_t left = int64_t(g.rows) * g.cols; left > 0; left -= 4) {
    const int n = left < 4 ? int(left) : 4;
    for (int p = 0; p < n; ++p, cursor.next()) {
      x_at[p] = cursor.x();
      y_at[p] = cursor.y();
    }
    if (n == 4) {
      tile_s8<4>(a, out, x_at, y_at);
    } else {
      for (int p = 0; p < n; ++p) tile_s8<1>(a, out, x_at + p, y_at + p);
    }
  }
}

void depthwise_f32(const DepthwiseF32Args& a) {
  const PanelGeometry& g = a.geometry;
  const F32Store<1> out(g, a.clamp);
  PixelCursor cursor{g};
  ptrdiff_t x_at[8], y_at[8];
  for (int64_t left = int64_t(g.rows) * g.cols; left > 0; left -= 8) {
    const int n = left < 8 ? int(left) : 8;
    for (int p = 0; p < n; ++p, cursor.next()) {
      x_at[p] = cursor.x();
      y_at[p] = cursor.y();
    }
    if (n == 8) {
      tile_f32<8>(a, out, x_at, y_at);
    } else {
      for (int p = 0; p < n; ++p) tile_f32<1>(a, out, x_at + p, y_at + p);
    }
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
