// int8 panel product on int16 operands: pmaddwd is exact for (q − zp) · w, sums wrap as int32.
// Tile: 2 pixels × 16 channels, or 4 × 8: 8 accumulators. A pixel's block of 8 channels is one register, of which
// pshufd repeats a pair; weights are loaded where they are used, so that nothing is spilled.
#include "kernels/sse41/conv_store.h"

namespace lq::sse41 {
namespace {

/// acc += the pair in every lane of in[p] · a pair of 4 · kVectors channels.
template <int kPixels, int kVectors>
[[gnu::always_inline]] static inline void add_pair(__m128i (&acc)[kPixels][kVectors], const __m128i (&in)[kPixels],
                                                   const int16_t* w) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const __m128i weights = load_128(w + 8 * v);
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) {
      acc[p][v] = _mm_add_epi32(acc[p][v], _mm_madd_epi16(in[p], weights));
      pin(acc[p][v]);
    }
  }
}

/// Pair kPair of every pixel's block of 8 channels.
template <int kPair, int kPixels, int kVectors>
[[gnu::always_inline]] static inline void add_pair_of(__m128i (&acc)[kPixels][kVectors],
                                                      const __m128i (&block)[kPixels], const int16_t* w) {
  __m128i in[kPixels];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) in[p] = _mm_shuffle_epi32(block[p], kPair * 0x55);
  add_pair<kPixels, kVectors>(acc, in, w + kPair * 8 * kVectors);
}

template <int kPixels, int kBlocks>
__attribute__((noinline)) void tile(const ConvS8Args& a, const S8Store<kBlocks>& out, const ptrdiff_t* x_at,
                                    const ptrdiff_t* y_at) {
  constexpr int kVectors = 2 * kBlocks;
  const PanelGeometry& g = a.geometry;
  const int16_t* x[kPixels];
  __m128i acc[kPixels][kVectors];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
    x[p] = a.x + x_at[p];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) acc[p][v] = load_128(a.epilogue.bias + 4 * v);
  }
  const int16_t* w = a.w;
  ptrdiff_t block = 0;
  for (int b = 0; b < g.blocks; ++b, block += g.x_block) {
    for (int t = 0; t < g.taps; ++t, w += 32 * kVectors) {
      __m128i in[kPixels];
#pragma GCC unroll 4
      for (int p = 0; p < kPixels; ++p) in[p] = load_128(x[p] + block + g.tap[t]);
      add_pair_of<0, kPixels, kVectors>(acc, in, w);
      add_pair_of<1, kPixels, kVectors>(acc, in, w);
      add_pair_of<2, kPixels, kVectors>(acc, in, w);
      add_pair_of<3, kPixels, kVectors>(acc, in, w);
    }
  }
  const int tail_pairs = (g.tail + 1) / 2;
  for (int t = 0; tail_pairs > 0 && t < g.taps; ++t) {
    for (int j = 0; j < tail_pairs; ++j, w += 8 * kVectors) {
      __m128i in[kPixels];
#pragma GCC unroll 4
      for (int p = 0; p < kPixels; ++p) in[p] = broadcast_4(x[p] + block + g.tap[t] + 2 * j);
      add_pair<kPixels, kVectors>(acc, in, w);
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) out.store(acc[p], y_at[p]);
}

template <int kPixels, int kBlocks>
void run(const ConvS8Args& a) {
  const S8Store<kBlocks> out(a.geometry, a.epilogue);
  for_each_tile<kPixels>(a.geometry, [&](auto count, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
    tile<decltype(count)::value, kBlocks>(a, out, x_at, y_at);
  });
}

}  // namespace

void conv_s8(const ConvS8Args& a) { a.geometry.width == 16 ? run<2, 2>(a) : run<4, 1>(a); }

void widen_s8(const WidenS8Args& a) {
  const __m128i zero_point = _mm_set1_epi16(int16_t(a.zero_point));
  for (int64_t p = 0; p < a.pixels; ++p) {
    const __m128i v = _mm_cvtepi8_epi16(load_64(a.x + p * a.x_step));
    store_128(a.y + 8 * p, _mm_sub_epi16(v, zero_point));
  }
}

void offset_u8(const OffsetU8Args& a) {
  const __m128i half = _mm_set1_epi8(char(0x80));
  int64_t p = 0;
  if (a.x_step == kBlock) {
    for (; p + 2 <= a.pixels; p += 2) store_128(a.y + 8 * p, _mm_xor_si128(load_128(a.x + 8 * p), half));
  }
  for (; p < a.pixels; ++p) store_low(a.y + 8 * p, _mm_xor_si128(load_64(a.x + p * a.x_step), half));
}

}  // namespace lq::sse41
