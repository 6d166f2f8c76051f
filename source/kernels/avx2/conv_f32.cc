// Float panel product: one vfmadd a term in the canonical order, vectorised over output channels.
// Tile: 6 pixels × 16 channels (12 accumulators, 2 weights, 1 broadcast), or × 8.
#include "kernels/avx2/conv_store.h"

namespace lq::avx2 {
namespace {

constexpr int kTilePixels = 6;

template <int kPixels, int kHalves, int kChannels>
[[gnu::always_inline]] static inline const float* add_channels(__m256 (&acc)[kPixels][kHalves],
                                                               const float* const (&x)[kPixels], ptrdiff_t offset,
                                                               const float* w) {
#pragma GCC unroll 8
  for (int i = 0; i < kChannels; ++i) {
    __m256 weights[kHalves];
    for (int h = 0; h < kHalves; ++h) weights[h] = _mm256_loadu_ps(w + 8 * (kHalves * i + h));
#pragma GCC unroll 6
    for (int p = 0; p < kPixels; ++p) {
      const __m256 v = _mm256_broadcast_ss(x[p] + offset + i);
      for (int h = 0; h < kHalves; ++h) {
        acc[p][h] = _mm256_fmadd_ps(v, weights[h], acc[p][h]);
        pin(acc[p][h]);
      }
    }
  }
  return w + 8 * kHalves * kChannels;
}

template <int kPixels, int kHalves>
__attribute__((noinline)) void tile(const ConvF32Args& a, const F32Store<kHalves>& out, const ptrdiff_t* x_at,
                                    const ptrdiff_t* start_at, const ptrdiff_t* y_at) {
  const PanelGeometry& g = a.geometry;
  const float* x[kPixels];
  __m256 acc[kPixels][kHalves];
#pragma GCC unroll 6
  for (int p = 0; p < kPixels; ++p) {
    x[p] = a.x + x_at[p];
    for (int h = 0; h < kHalves; ++h) acc[p][h] = _mm256_loadu_ps(a.start + start_at[p] + 8 * h);
  }
  const float* w = a.w;
  ptrdiff_t block = 0;
  for (int b = 0; b < g.blocks; ++b, block += g.x_block) {
    for (int t = 0; t < g.taps; ++t) w = add_channels<kPixels, kHalves, 8>(acc, x, block + g.tap[t], w);
  }
  for (int t = 0; g.tail > 0 && t < g.taps; ++t) {
    for (int i = 0; i < g.tail; ++i) w = add_channels<kPixels, kHalves, 1>(acc, x, block + g.tap[t] + i, w);
  }
#pragma GCC unroll 6
  for (int p = 0; p < kPixels; ++p) out.store(acc[p], y_at[p]);
}

template <int kHalves>
void run(const ConvF32Args& a) {
  const PanelGeometry& g = a.geometry;
  const F32Store<kHalves> out(g, a.clamp);
  PixelCursor cursor{g};
  for (int64_t left = int64_t(g.rows) * g.cols; left > 0; left -= kTilePixels) {
    ptrdiff_t x_at[kTilePixels], start_at[kTilePixels], y_at[kTilePixels];
    const int n = left < kTilePixels ? int(left) : kTilePixels;
    for (int p = 0; p < n; ++p, cursor.next()) {
      x_at[p] = cursor.x();
      start_at[p] = cursor.row * a.start_row + cursor.col * a.start_col;
      y_at[p] = cursor.y();
    }
    switch (n) {
      case 6:
        tile<6, kHalves>(a, out, x_at, start_at, y_at);
        break;
      case 5:
        tile<5, kHalves>(a, out, x_at, start_at, y_at);
        break;
      case 4:
        tile<4, kHalves>(a, out, x_at, start_at, y_at);
        break;
      case 3:
        tile<3, kHalves>(a, out, x_at, start_at, y_at);
        break;
      case 2:
        tile<2, kHalves>(a, out, x_at, start_at, y_at);
        break;
      default:
        tile<1, kHalves>(a, out, x_at, start_at, y_at);
        break;
    }
  }
}

}  // namespace

void conv_f32(const ConvF32Args& a) { a.geometry.width == 16 ? run<2>(a) : run<1>(a); }

}  // namespace lq::avx2
