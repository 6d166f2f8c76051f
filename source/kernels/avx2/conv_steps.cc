// uint8 × int8 panel product on vpmaddubsw: products are summed in int16 as far as packing proved that nothing
// saturates, then widened by vpmaddwd with ones. Tile: 6 pixels × 16 channels, or 8 × 8.
#include "kernels/avx2/tile_store.h"

namespace lq::avx2 {
namespace {

[[gnu::always_inline]] static inline __m256i broadcast4(const uint8_t* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm256_set1_epi32(v);
}
/// What is loaded from `w` behind this is loaded after `v` was computed: the weights of one half are used up before
/// those of the next take their registers.
[[gnu::always_inline]] static inline void load_after(const int8_t*& w, __m256i& v) { __asm__("" : "+r"(w), "+x"(v)); }

/// kSteps (1 or 2) steps whose sums stay in int16. Half by half, so that the weights of a half stay in registers for
/// all pixels; the pixels' bytes are broadcast anew, which costs loads only.
template <int kSteps, int kPixels, int kHalves>
[[gnu::always_inline]] static inline void add_proved(__m256i (&acc)[kPixels][kHalves],
                                                     const uint8_t* const (&x)[kPixels], const int32_t* at,
                                                     const int8_t* w, __m256i ones) {
#pragma GCC unroll 2
  for (int h = 0; h < kHalves; ++h) {
    __m256i weights[kSteps][2];
#pragma GCC unroll 2
    for (int s = 0; s < kSteps; ++s) {
      weights[s][0] = load_256(w + 32 * (kHalves * (2 * s) + h));
      weights[s][1] = load_256(w + 32 * (kHalves * (2 * s + 1) + h));
    }
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      __m256i sum[kSteps];
#pragma GCC unroll 2
      for (int s = 0; s < kSteps; ++s) {
        const uint8_t* in = x[p] + at[s];
        sum[s] = _mm256_add_epi16(_mm256_maddubs_epi16(broadcast4(in), weights[s][0]),
                                  _mm256_maddubs_epi16(broadcast4(in + 4), weights[s][1]));
      }
      const __m256i all = kSteps == 2 ? _mm256_add_epi16(sum[0], sum[kSteps - 1]) : sum[0];
      acc[p][h] = _mm256_add_epi32(acc[p][h], _mm256_madd_epi16(all, ones));
      pin(acc[p][h]);
    }
    load_after(w, acc[kPixels - 1][h]);
  }
}

/// A step of which only the pairs are proved.
template <int kPixels, int kHalves>
[[gnu::always_inline]] static inline void add_pairs(__m256i (&acc)[kPixels][kHalves],
                                                    const uint8_t* const (&x)[kPixels], ptrdiff_t at, const int8_t* w,
                                                    __m256i ones) {
#pragma GCC unroll 2
  for (int j = 0; j < 2; ++j) {
    __m256i weights[kHalves];
    for (int h = 0; h < kHalves; ++h) weights[h] = load_256(w + 32 * (kHalves * j + h));
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      const __m256i in = broadcast4(x[p] + at + 4 * j);
      for (int h = 0; h < kHalves; ++h) {
        acc[p][h] = _mm256_add_epi32(acc[p][h], _mm256_madd_epi16(_mm256_maddubs_epi16(in, weights[h]), ones));
        pin(acc[p][h]);
      }
    }
  }
}

template <int kPixels, int kHalves>
__attribute__((noinline)) void tile(const ConvStepsArgs& a, const S8TileStore<kHalves>& out, const ptrdiff_t* x_at,
                                    const ptrdiff_t* y_at) {
  constexpr ptrdiff_t kStep = 64 * kHalves;  // bytes of a step's weights
  const __m256i ones = _mm256_set1_epi16(1);
  const uint8_t* x[kPixels];
  __m256i acc[kPixels][kHalves];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    x[p] = a.x + x_at[p];
    for (int h = 0; h < kHalves; ++h) acc[p][h] = load_256(a.epilogue.bias + 8 * h);
  }
  const int8_t* w = a.w;
  const int32_t *at = a.at, *end = at + a.twice;
  for (; at < end; at += 2, w += 2 * kStep) add_proved<2, kPixels, kHalves>(acc, x, at, w, ones);
  for (end = at + a.once; at < end; ++at, w += kStep) add_proved<1, kPixels, kHalves>(acc, x, at, w, ones);
  for (end = at + a.pairs; at < end; ++at, w += kStep) add_pairs<kPixels, kHalves>(acc, x, *at, w, ones);
  out.template store_tile<kPixels>(acc, y_at);
}

/// The tile of `n` <= kPixels pixels.
template <int kPixels, int kHalves>
void tile_of(int n, const ConvStepsArgs& a, const S8TileStore<kHalves>& out, const ptrdiff_t* x_at,
             const ptrdiff_t* y_at) {
  if constexpr (kPixels > 1) {
    if (n < kPixels) return tile_of<kPixels - 1, kHalves>(n, a, out, x_at, y_at);
  }
  tile<kPixels, kHalves>(a, out, x_at, y_at);
}

/// All pixels in row-major order, in tiles of at most kPixels and as even as possible.
template <int kPixels, int kHalves>
void run(const ConvStepsArgs& a) {
  const PanelGeometry& g = a.geometry;
  const S8TileStore<kHalves> out(g, a.epilogue);
  PixelCursor cursor{g};
  const int64_t pixels = int64_t(g.rows) * g.cols;
  for (int64_t left = pixels, tiles = (pixels + kPixels - 1) / kPixels; left > 0; --tiles) {
    const int n = int((left + tiles - 1) / tiles);
    ptrdiff_t x_at[kPixels], y_at[kPixels];
    for (int p = 0; p < n; ++p, cursor.next()) {
      x_at[p] = cursor.x();
      y_at[p] = cursor.y();
    }
    tile_of<kPixels, kHalves>(n, a, out, x_at, y_at);
    left -= n;
  }
}

}  // namespace

void conv_steps_u8(const ConvStepsArgs& a) { a.geometry.width == 16 ? run<6, 2>(a) : run<8, 1>(a); }

}  // namespace lq::avx2
