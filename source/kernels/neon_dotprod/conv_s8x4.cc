// int8 panel product on sdot. Tile: 6 pixels × 16 channels: 24 accumulators, 4 weights, 3 registers of two pixels' 8
// channels each, multiplied by lane. Two pixels that are neighbours in NCHWc8 are one 16-byte load.
#include "kernels/neon/conv_store.h"

namespace lq::neon_dotprod {
namespace {

/// Group `kGroup` of 4 channels, 0 or 1 of the block.
template <int kPairs, int kGroup>
[[gnu::always_inline]] static inline void add_group(int32x4_t (&acc)[2 * kPairs][4], const int8x16_t (&in)[kPairs],
                                                    const int8_t* w) {
  int8x16_t weights[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) weights[v] = vld1q_s8(w + 16 * v);
#pragma GCC unroll 3
  for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      acc[2 * p][v] = vdotq_laneq_s32(acc[2 * p][v], weights[v], in[p], kGroup);
      acc[2 * p + 1][v] = vdotq_laneq_s32(acc[2 * p + 1][v], weights[v], in[p], 2 + kGroup);
    }
  }
}

/// The pixels of a tile: where each pair begins, and how far the second is if pairs are no neighbours.
template <int kPairs, bool kNeighbours>
struct Pixels {
  const int8_t* first[kPairs];
  const int8_t* second[kPairs];
  [[gnu::always_inline]] void load(ptrdiff_t offset, int8x16_t (&in)[kPairs]) const {
#pragma GCC unroll 3
    for (int p = 0; p < kPairs; ++p) {
      in[p] = kNeighbours ? vld1q_s8(first[p] + offset)
                          : vcombine_s8(vld1_s8(first[p] + offset), vld1_s8(second[p] + offset));
    }
  }
};

/// Pixels 2·p and 2·p + 1 for p < kPairs; kNeighbours: each pair lies in 16 neighbouring bytes. `odd`: the last pixel
/// has no partner, x_at repeats it.
struct Tile {
  template <int kPairs, bool kNeighbours>
  [[gnu::noinline]] static void run(const ConvByteArgs& a, const ptrdiff_t* x_at, const ptrdiff_t* y_at, bool odd) {
    const PanelGeometry& g = a.geometry;
    Pixels<kPairs, kNeighbours> x;
    int32x4_t acc[2 * kPairs][4];
#pragma GCC unroll 6
    for (int p = 0; p < 2 * kPairs; ++p) {
      (p % 2 == 0 ? x.first : x.second)[p / 2] = reinterpret_cast<const int8_t*>(a.x) + x_at[p];
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) acc[p][v] = vld1q_s32(a.epilogue.bias + 4 * v);
    }
    const int8_t* w = a.w;
    const ptrdiff_t* const taps_end = g.tap + g.taps;
    const ptrdiff_t x_block = g.x_block;
    int8x16_t in[kPairs];
    ptrdiff_t block = g.taps == 1 ? g.tap[0] : 0;
    int left = g.blocks;
    if (g.taps == 1) {
      for (; left > 0; --left, block += x_block, w += 128) {
        x.load(block, in);
        add_group<kPairs, 0>(acc, in, w);
        add_group<kPairs, 1>(acc, in, w + 64);
      }
      block -= g.tap[0];
    }
    for (; left > 0; --left, block += x_block) {
      for (const ptrdiff_t* tap = g.tap; tap != taps_end; ++tap, w += 128) {
        x.load(block + *tap, in);
        add_group<kPairs, 0>(acc, in, w);
        add_group<kPairs, 1>(acc, in, w + 64);
      }
    }
    for (const ptrdiff_t* tap = g.tap; g.tail > 0 && tap != taps_end; ++tap) {
      x.load(block + *tap, in);
      add_group<kPairs, 0>(acc, in, w);
      w += 64;
      if (g.tail <= 4) continue;
      add_group<kPairs, 1>(acc, in, w);
      w += 64;
    }
    neon::store_tile<4>(g, a.epilogue, acc, y_at, odd ? 2 * kPairs - 1 : 2 * kPairs);
  }

  /// `tiles` times 2 · kPairs pixels of a run, from pixel `first` on.
  template <int kPairs, bool kOneTap>
  [[gnu::noinline]] static void run_row(const ConvByteArgs& a, ptrdiff_t first, ptrdiff_t tiles) {
    const PanelGeometry g = a.geometry;  // copies: bytes stored may alias what a pointer reaches
    const Epilogue e = a.epilogue;
    const int8_t* x = reinterpret_cast<const int8_t*>(a.x) + first * kBlock + (kOneTap ? g.tap[0] : 0);
    const int8_t* const weights = a.w;
    for (ptrdiff_t y = first * kBlock; tiles > 0; --tiles, x += 16 * kPairs, y += 16 * kPairs) {
      int32x4_t acc[2 * kPairs][4];
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const int32x4_t bias = vld1q_s32(e.bias + 4 * v);
#pragma GCC unroll 6
        for (int p = 0; p < 2 * kPairs; ++p) acc[p][v] = bias;
      }
      const int8_t* w = weights;
      const auto load = [&](const int8_t* from, int8x16_t(&in)[kPairs]) __attribute__((always_inline)) {
#pragma GCC unroll 3
        for (int p = 0; p < kPairs; ++p) in[p] = vld1q_s8(from + 16 * p);
      };
      neon::for_each_step<kOneTap>(
          g, x, g.blocks, [&](const int8_t* from) __attribute__((always_inline)) {
            int8x16_t in[kPairs];
            load(from, in);
            add_group<kPairs, 0>(acc, in, w);
            add_group<kPairs, 1>(acc, in, w + 64);
            w += 128;
          });
      for (int t = 0; g.tail > 0 && t < g.taps; ++t) {
        int8x16_t in[kPairs];
        load(x + g.blocks * g.x_block + (kOneTap ? 0 : g.tap[t]), in);
        add_group<kPairs, 0>(acc, in, w);
        w += 64;
        if (g.tail <= 4) continue;
        add_group<kPairs, 1>(acc, in, w);
        w += 64;
      }
      const neon::WholeStore<4> out(g, e);
#pragma GCC unroll 6
      for (int p = 0; p < 2 * kPairs; ++p) out.store(acc[p], y + kBlock * p);
    }
  }
};

}  // namespace

void conv_s8x4(const ConvByteArgs& a) { neon::run_pair_tiles<Tile>(a); }

}  // namespace lq::neon_dotprod
