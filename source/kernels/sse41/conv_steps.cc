// uint8 × int8 panel product on pmaddubsw: products are summed in int16 as far as packing proved that nothing
// saturates, then widened by pmaddwd with ones. Tile: 2 pixels × 16 channels, or 4 × 8: 8 accumulators.
#include "kernels/sse41/conv_store.h"

namespace lq::sse41 {
namespace {

/// kSteps (1 or 2) steps whose sums stay in int16. x: 8 channels of each pixel and step, 4 by 4 in every lane.
template <int kSteps, int kPixels, int kVectors>
[[gnu::always_inline]] static inline void add_proved(__m128i (&acc)[kPixels][kVectors],
                                                     const uint8_t* const (&x)[kPixels], const int32_t* at,
                                                     const int8_t* w, __m128i ones) {
  __m128i in[kPixels][2 * kSteps];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 2
    for (int s = 0; s < kSteps; ++s) {
      const __m128i block = load_64(x[p] + at[s]);
      in[p][2 * s] = _mm_shuffle_epi32(block, 0x00);
      in[p][2 * s + 1] = _mm_shuffle_epi32(block, 0x55);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) {
      __m128i sum = _mm_maddubs_epi16(in[p][0], load_128(w + 16 * v));
#pragma GCC unroll 3
      for (int i = 1; i < 2 * kSteps; ++i)
        sum = _mm_add_epi16(sum, _mm_maddubs_epi16(in[p][i], load_128(w + 16 * (kVectors * i + v))));
      acc[p][v] = _mm_add_epi32(acc[p][v], _mm_madd_epi16(sum, ones));
      pin(acc[p][v]);
    }
  }
}

/// A step of which only the pairs are proved.
template <int kPixels, int kVectors>
[[gnu::always_inline]] static inline void add_pairs(__m128i (&acc)[kPixels][kVectors],
                                                    const uint8_t* const (&x)[kPixels], ptrdiff_t at, const int8_t* w,
                                                    __m128i ones) {
#pragma GCC unroll 2
  for (int j = 0; j < 2; ++j, w += 16 * kVectors) {
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) {
      const __m128i in = broadcast_4(x[p] + at + 4 * j);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const __m128i sum = _mm_maddubs_epi16(in, load_128(w + 16 * v));
        acc[p][v] = _mm_add_epi32(acc[p][v], _mm_madd_epi16(sum, ones));
        pin(acc[p][v]);
      }
    }
  }
}

template <int kPixels, int kBlocks>
__attribute__((noinline)) void tile(const ConvStepsArgs& a, const S8Store<kBlocks>& out, const ptrdiff_t* x_at,
                                    const ptrdiff_t* y_at) {
  constexpr int kVectors = 2 * kBlocks;
  constexpr ptrdiff_t kStep = 32 * kVectors;  // bytes of a step's weights
  const __m128i ones = _mm_set1_epi16(1);
  const uint8_t* x[kPixels];
  __m128i acc[kPixels][kVectors];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
    x[p] = a.x + x_at[p];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) acc[p][v] = load_128(a.epilogue.bias + 4 * v);
  }
  const int8_t* w = a.w;
  const int32_t *at = a.at, *end = at + a.twice;
  for (; at < end; at += 2, w += 2 * kStep) add_proved<2, kPixels, kVectors>(acc, x, at, w, ones);
  for (end = at + a.once; at < end; ++at, w += kStep) add_proved<1, kPixels, kVectors>(acc, x, at, w, ones);
  for (end = at + a.pairs; at < end; ++at, w += kStep) add_pairs<kPixels, kVectors>(acc, x, *at, w, ones);
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) out.store(acc[p], y_at[p]);
}

template <int kPixels, int kBlocks>
void run(const ConvStepsArgs& a) {
  const S8Store<kBlocks> out(a.geometry, a.epilogue);
  for_each_tile<kPixels>(a.geometry, [&](auto count, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
    tile<decltype(count)::value, kBlocks>(a, out, x_at, y_at);
  });
}

}  // namespace

void conv_steps_u8(const ConvStepsArgs& a) { a.geometry.width == 16 ? run<2, 2>(a) : run<4, 1>(a); }

}  // namespace lq::sse41
