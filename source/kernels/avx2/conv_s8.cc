// int8 panel product on int16 operands: vpmaddwd is exact for (q − zp) · w, sums wrap as int32.
// Tile: 4 pixels × 16 channels (8 accumulators, 2 weights, 1 broadcast), or × 8.
#include "kernels/avx2/tile_store.h"

namespace lq::avx2 {
namespace {

/// One group of channel pairs for every pixel of the tile; returns the weights behind those used.
template <int kPixels, int kHalves, int kPairs>
[[gnu::always_inline]] static inline const int16_t* add_pairs(__m256i (&acc)[kPixels][kHalves],
                                                              const int16_t* const (&x)[kPixels], ptrdiff_t offset,
                                                              const int16_t* w) {
#pragma GCC unroll 4
  for (int j = 0; j < kPairs; ++j) {
    __m256i weights[kHalves];
    for (int h = 0; h < kHalves; ++h) weights[h] = load_256(w + 16 * (kHalves * j + h));
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) {
      const __m256i v = broadcast_pair(x[p] + offset + 2 * j);
      for (int h = 0; h < kHalves; ++h) {
        acc[p][h] = _mm256_add_epi32(acc[p][h], _mm256_madd_epi16(v, weights[h]));
        pin(acc[p][h]);
      }
    }
  }
  return w + 16 * kHalves * kPairs;
}

template <int kPixels, int kHalves>
__attribute__((noinline)) void tile(const ConvS8Args& a, const S8TileStore<kHalves>& out, const ptrdiff_t* x_at,
                                    const ptrdiff_t* y_at) {
  const PanelGeometry& g = a.geometry;
  const int16_t* x[kPixels];
  __m256i acc[kPixels][kHalves];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
    x[p] = a.x + x_at[p];
    for (int h = 0; h < kHalves; ++h) acc[p][h] = load_256(a.epilogue.bias + 8 * h);
  }
  const int16_t* w = a.w;
  ptrdiff_t block = 0;
  for (int b = 0; b < g.blocks; ++b, block += g.x_block) {
    for (int t = 0; t < g.taps; ++t) w = add_pairs<kPixels, kHalves, 4>(acc, x, block + g.tap[t], w);
  }
  const int tail_pairs = (g.tail + 1) / 2;
  for (int t = 0; tail_pairs > 0 && t < g.taps; ++t) {
    for (int j = 0; j < tail_pairs; ++j) w = add_pairs<kPixels, kHalves, 1>(acc, x, block + g.tap[t] + 2 * j, w);
  }
  out.template store_tile<kPixels>(acc, y_at);
}

template <int kHalves>
void run(const ConvS8Args& a) {
  const PanelGeometry& g = a.geometry;
  const S8TileStore<kHalves> out(g, a.epilogue);
  PixelCursor cursor{g};
  for (int64_t left = int64_t(g.rows) * g.cols; left > 0; left -= 4) {
    ptrdiff_t x_at[4], y_at[4];
    const int n = left < 4 ? int(left) : 4;
    for (int p = 0; p < n; ++p, cursor.next()) {
      x_at[p] = cursor.x();
      y_at[p] = cursor.y();
    }
    switch (n) {
      case 4:
        tile<4, kHalves>(a, out, x_at, y_at);
        break;
      case 3:
        tile<3, kHalves>(a, out, x_at, y_at);
        break;
      case 2:
        tile<2, kHalves>(a, out, x_at, y_at);
        break;
      default:
        tile<1, kHalves>(a, out, x_at, y_at);
        break;
    }
  }
}

}  // namespace

void conv_s8(const ConvS8Args& a) { a.geometry.width == 16 ? run<2>(a) : run<1>(a); }

void widen_s8(const WidenS8Args& a) {
  const __m128i zero_point = _mm_set1_epi16(int16_t(a.zero_point));
  int64_t p = 0;
  if (a.x_step == 8) {
    const __m256i zero_point2 = _mm256_set1_epi16(int16_t(a.zero_point));
    for (; p + 2 <= a.pixels; p += 2) {
      const __m256i v = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a.x + 8 * p)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(a.y + 8 * p), _mm256_sub_epi16(v, zero_point2));
    }
  }
  for (; p < a.pixels; ++p) {
    const __m128i v = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(a.x + p * a.x_step)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(a.y + 8 * p), _mm_sub_epi16(v, zero_point));
  }
}

void offset_u8(const OffsetU8Args& a) {
  const __m256i half = _mm256_set1_epi8(char(0x80));
  int64_t p = 0;
  if (a.x_step == kBlock) {
    for (; p + 4 <= a.pixels; p += 4) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(a.y + 8 * p), _mm256_xor_si256(load_256(a.x + 8 * p), half));
    }
  }
  for (; p < a.pixels; ++p) {
    const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(a.x + p * a.x_step));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(a.y + 8 * p), _mm_xor_si128(v, _mm256_castsi256_si128(half)));
  }
}

}  // namespace lq::avx2
