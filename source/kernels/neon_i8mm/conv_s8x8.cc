// int8 panel product on smmla: an instruction multiplies 2 pixels × 8 channels by 8 channels × 2 outputs. Tile: 3 pairs
// of pixels × 16 channels: 24 accumulators [p0c0 p0c1 p1c0 p1c1], weights in two halves of 4 registers. Two pixels that
// are neighbours in NCHWc8 are one 16-byte load.
#include "kernels/neon/conv_store.h"

namespace lq::neon_i8mm {
namespace {

template <int kPairs>
[[gnu::always_inline]] static inline void add_block(int32x4_t (&acc)[kPairs][8], const int8x16_t (&in)[kPairs],
                                                    const int8_t* w) {
#pragma GCC unroll 2
  for (int half = 0; half < 8; half += 4) {
    int8x16_t weights[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) weights[v] = vld1q_s8(w + 16 * (half + v));
#pragma GCC unroll 3
    for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) acc[p][half + v] = vmmlaq_s32(acc[p][half + v], in[p], weights[v]);
    }
  }
}

/// Pixels 2·p and 2·p + 1 for p < kPairs; kNeighbours: each pair lies in 16 neighbouring bytes. `odd`: the last pixel
/// has no partner, x_at and y_at repeat it.
struct Tile {
  template <int kPairs, bool kNeighbours>
  [[gnu::noinline]] static void run(const ConvByteArgs& a, const ptrdiff_t* x_at, const ptrdiff_t* y_at, bool odd) {
    const PanelGeometry& g = a.geometry;
    const int8_t *first[kPairs], *second[kPairs];
#pragma GCC unroll 3
    for (int p = 0; p < kPairs; ++p) {
      first[p] = reinterpret_cast<const int8_t*>(a.x) + x_at[2 * p];
      second[p] = reinterpret_cast<const int8_t*>(a.x) + x_at[2 * p + 1];
    }
    int32x4_t acc[kPairs][8];
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v) {
      const int32x2_t bias = vld1_s32(a.epilogue.bias + 2 * v);
#pragma GCC unroll 3
      for (int p = 0; p < kPairs; ++p) acc[p][v] = vcombine_s32(bias, bias);
    }
    const int8_t* w = a.w;
    const auto step = [&](ptrdiff_t offset) __attribute__((always_inline)) {
      int8x16_t in[kPairs];
#pragma GCC unroll 3
      for (int p = 0; p < kPairs; ++p) {
        in[p] = kNeighbours ? vld1q_s8(first[p] + offset)
                            : vcombine_s8(vld1_s8(first[p] + offset), vld1_s8(second[p] + offset));
      }
      add_block<kPairs>(acc, in, w);
      w += 128;
    };
    const ptrdiff_t x_block = g.x_block;
    int left = g.blocks + (g.tail > 0 ? 1 : 0);  // a partial block has weights 0 behind its channels
    if (g.taps == 1) {
      for (ptrdiff_t block = g.tap[0]; left > 0; --left, block += x_block) step(block);
    }
    const ptrdiff_t* const taps_end = g.tap + g.taps;
    for (ptrdiff_t block = 0; left > 0; --left, block += x_block) {
      for (const ptrdiff_t* tap = g.tap; tap != taps_end; ++tap) step(block + *tap);
    }
    int32x4_t sum[2 * kPairs][4];  // [pixel]
#pragma GCC unroll 3
    for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const int64x2_t c01 = vreinterpretq_s64_s32(acc[p][2 * v]), c23 = vreinterpretq_s64_s32(acc[p][2 * v + 1]);
        sum[2 * p][v] = vreinterpretq_s32_s64(vzip1q_s64(c01, c23));
        sum[2 * p + 1][v] = vreinterpretq_s32_s64(vzip2q_s64(c01, c23));
      }
    }
    neon::store_tile<4>(g, a.epilogue, sum, y_at, odd ? 2 * kPairs - 1 : 2 * kPairs);
  }
};

}  // namespace

void conv_s8x8(const ConvByteArgs& a) { neon::run_pair_tiles<Tile>(a); }

}  // namespace lq::neon_i8mm
