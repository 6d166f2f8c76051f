// int8 panel product on smmla: an instruction multiplies 2 pixels × 8 channels by 8 channels × 2 outputs. Tile: 3 pairs
// of pixels × 16 channels: 24 accumulators [p0c0 p0c1 p1c0 p1c1], weights in two halves of 4 registers. Two pixels that
// are neighbours in NCHWc8 are one 16-byte load.
#include "kernels/neon/conv_store.h"

namespace lq::neon_i8mm {
namespace {

template <int kPairs>
[[gnu::always_inline]] static inline void add_block(int32x4_t (&acc)[kPairs][8], const int8x16_t (&in)[kPairs],
                                                    const int8_t* w) {
#pragma GCC unroll 4
  for (int v = 0; v < 8; v += 2) {
    const int8x16_t w0 = vld1q_s8(w + 16 * v), w1 = vld1q_s8(w + 16 * v + 16);
#pragma GCC unroll 3
    for (int p = 0; p < kPairs; ++p) {
      acc[p][v] = vmmlaq_s32(acc[p][v], in[p], w0);
      acc[p][v + 1] = vmmlaq_s32(acc[p][v + 1], in[p], w1);
    }
  }
}

/// A pair of pixels' outputs lie as [p0c0 p0c1 p1c0 p1c1] in acc[v], and so do the constants of two channels: kHalf of
/// four.
template <int kHalf>
[[gnu::always_inline]] static inline int32x4_t twice(int32x4_t v) {
  return vreinterpretq_s32_s64(vdupq_laneq_s64(vreinterpretq_s64_s32(v), kHalf));
}

/// The epilogue of whole tiles: everything in the order of the accumulators, put right as bytes.
template <int kPairs>
[[gnu::always_inline]] static inline void store_pairs(const Epilogue& e, int32x4_t (&acc)[kPairs][8], int8_t* y,
                                                      ptrdiff_t y_block) {
#pragma GCC unroll 4
  for (int v = 0; v < 8; v += 2) {
    const int32x4_t m = vreinterpretq_s32_f32(vld1q_f32(e.multiplier + 2 * v));
    const float32x4_t m0 = vreinterpretq_f32_s32(twice<0>(m)), m1 = vreinterpretq_f32_s32(twice<1>(m));
#pragma GCC unroll 3
    for (int p = 0; p < kPairs; ++p) {
      acc[p][v] = vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(acc[p][v]), m0));
      acc[p][v + 1] = vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(acc[p][v + 1]), m1));
    }
  }
  const neon::Rounder rounder(e.low, e.high, e.zero_point);
  static constexpr uint8_t kByPixel[16] = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
  const uint8_t* order = kByPixel;
  __asm__ volatile("" : "+r"(order));  // or it would hold a register all along
  const uint8x16_t by_pixel = vld1q_u8(order);
#pragma GCC unroll 3
  for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const int32x4_t* q = acc[p] + 4 * h;
      const int8x16_t bytes = rounder.finish(rounder.narrow(q[0], q[1]), rounder.narrow(q[2], q[3]));
      vst1q_s8(y + h * y_block + 16 * p, vqtbl1q_s8(bytes, by_pixel));
    }
  }
}

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

  /// `tiles` times 2 · kPairs pixels of a run, from pixel `first` on.
  template <int kPairs, bool kOneTap>
  [[gnu::noinline]] static void run_row(const ConvByteArgs& a, ptrdiff_t first, ptrdiff_t tiles) {
    const PanelGeometry g = a.geometry;  // copies: bytes stored may alias what a pointer reaches
    const Epilogue e = a.epilogue;
    const int8_t* x = reinterpret_cast<const int8_t*>(a.x) + first * kBlock + (kOneTap ? g.tap[0] : 0);
    const int8_t* const weights = a.w;
    const int blocks = g.blocks + (g.tail > 0 ? 1 : 0);  // a partial block has weights 0 behind its channels
    if (blocks <= 0) __builtin_unreachable();            // see is_run
    int8_t* y = static_cast<int8_t*>(g.y) + first * kBlock;
    for (; tiles > 0; --tiles, x += 16 * kPairs, y += 16 * kPairs) {
      int32x4_t acc[kPairs][8];
#pragma GCC unroll 4
      for (int v = 0; v < 8; v += 2) {
        const int32x4_t bias = vld1q_s32(e.bias + 2 * v), bias0 = twice<0>(bias), bias1 = twice<1>(bias);
#pragma GCC unroll 3
        for (int p = 0; p < kPairs; ++p) acc[p][v] = bias0, acc[p][v + 1] = bias1;
      }
      const int8_t* w = weights;
      neon::for_each_step<kOneTap>(
          g, x, blocks, [&](const int8_t* from) __attribute__((always_inline)) {
            int8x16_t in[kPairs];
#pragma GCC unroll 3
            for (int p = 0; p < kPairs; ++p) in[p] = vld1q_s8(from + 16 * p);
            add_block<kPairs>(acc, in, w);
            w += 128;
          });
      store_pairs<kPairs>(e, acc, y, g.y_block);
    }
  }
};

}  // namespace

void conv_s8x8(const ConvByteArgs& a) {
  neon::is_run(a.geometry, a.epilogue) ? neon::run_pair_row<Tile>(a) : neon::run_pair_tiles<Tile>(a);
}

}  // namespace lq::neon_i8mm
