// int8 panel product on sdot. Tile: 6 pixels × 16 channels: 24 accumulators, 4 weights, one pixel's 8 channels in a
// 64-bit register whose halves multiply by lane.
#include "kernels/neon/conv_store.h"

namespace lq::neon_dotprod {
namespace {

constexpr int kTilePixels = 6;

/// Group `kLane` of 4 channels, 0 or 1 of the block.
template <int kPixels, int kLane>
[[gnu::always_inline]] static inline void add_group(int32x4_t (&acc)[kPixels][4], const int8x8_t (&in)[kPixels],
                                                    const int8_t* w) {
  int8x16_t weights[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) weights[v] = vld1q_s8(w + 16 * v);
#pragma GCC unroll 6
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) acc[p][v] = vdotq_lane_s32(acc[p][v], weights[v], in[p], kLane);
  }
}

template <int kPixels>
[[gnu::noinline]] void tile(const ConvByteArgs& a, const neon::S8Store<4>& out, const ptrdiff_t* x_at,
                            const ptrdiff_t* y_at) {
  const PanelGeometry& g = a.geometry;
  const int8_t* x[kPixels];
  int32x4_t acc[kPixels][4];
#pragma GCC unroll 6
  for (int p = 0; p < kPixels; ++p) {
    x[p] = reinterpret_cast<const int8_t*>(a.x) + x_at[p];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) acc[p][v] = vld1q_s32(a.epilogue.bias + 4 * v);
  }
  const int8_t* w = a.w;
  ptrdiff_t block = 0;
  for (int b = 0; b < g.blocks + (g.tail > 0 ? 1 : 0); ++b, block += g.x_block) {
    const bool second = b < g.blocks || g.tail > 4;  // does the block have a second group?
    for (int t = 0; t < g.taps; ++t) {
      const ptrdiff_t offset = block + g.tap[t];
      int8x8_t in[kPixels];
#pragma GCC unroll 6
      for (int p = 0; p < kPixels; ++p) in[p] = vld1_s8(x[p] + offset);
      add_group<kPixels, 0>(acc, in, w);
      w += 64;
      if (!second) continue;
      add_group<kPixels, 1>(acc, in, w);
      w += 64;
    }
  }
#pragma GCC unroll 6
  for (int p = 0; p < kPixels; ++p) out.store(acc[p], y_at[p]);
}

template <int kPixels>
void tile_of(int n, const ConvByteArgs& a, const neon::S8Store<4>& out, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
  if constexpr (kPixels > 1) {
    if (n < kPixels) return tile_of<kPixels - 1>(n, a, out, x_at, y_at);
  }
  tile<kPixels>(a, out, x_at, y_at);
}

}  // namespace

void conv_s8x4(const ConvByteArgs& a) {
  const neon::S8Store<4> out(a.geometry, a.epilogue);
  neon::for_each_tile<kTilePixels>(a.geometry, [&](int n, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
    tile_of<kTilePixels>(n, a, out, x_at, y_at);
  });
}

}  // namespace lq::neon_dotprod
