// From accumulators to memory, Advanced SIMD: the vector form of scalar/conv_store.h, the same bits. Every function is
// inlined, so the folders with newer instructions may include it.
#pragma once
#include "kernels/conv_kernels.h"
#include "kernels/neon/simd.h"

namespace lq::neon {

[[gnu::always_inline]] static inline int32x4_t load_s32(const int32_t* p) { return vld1q_s32(p); }

/// The epilogue of whole int8 panels: kVectors · 4 real channels. Everything by value: a store of bytes may alias
/// whatever is reached by a pointer, so a tile makes this once and the compiler keeps it in registers. No product here
/// is NaN: finite accumulator, finite multiplier.
template <int kVectors>
struct WholeStore {
  float32x4_t multiplier[kVectors];
  Rounder rounder;
  int8_t* y;
  ptrdiff_t y_block;
  bool clamps;

  [[gnu::always_inline]] WholeStore(const PanelGeometry& g, const Epilogue& e)
      : rounder(e.low, e.high, e.zero_point),
        y(static_cast<int8_t*>(g.y)),
        y_block(g.y_block),
        clamps(rounder.clamps()) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) multiplier[v] = vld1q_f32(e.multiplier + 4 * v);
  }
  [[gnu::always_inline]] int16x8_t requantize(int32x4_t a, int32x4_t b, int v) const {
    return rounder.round8(vmulq_f32(vcvtq_f32_s32(a), multiplier[v]), vmulq_f32(vcvtq_f32_s32(b), multiplier[v + 1]));
  }
  /// One pixel.
  [[gnu::always_inline]] void store(const int32x4_t (&acc)[kVectors], ptrdiff_t pixel) const {
    int8_t* to = y + pixel;
    if constexpr (kVectors == 4) {
      const int8x16_t q = rounder.finish(requantize(acc[0], acc[1], 0), requantize(acc[2], acc[3], 2));
      vst1_s8(to, vget_low_s8(q));
      vst1_s8(to + y_block, vget_high_s8(q));
    } else {
      vst1_s8(to, rounder.finish(requantize(acc[0], acc[1], 0)));
    }
  }
  /// Two neighbouring pixels of one NCHWc8 block.
  [[gnu::always_inline]] void store_two(const int32x4_t (&a)[2], const int32x4_t (&b)[2], ptrdiff_t pixel) const {
    int8x16_t q = rounder.narrow(requantize(a[0], a[1], 0), requantize(b[0], b[1], 0));
    if (clamps) q = rounder.clamp(q);
    vst1q_s8(y + pixel, q);
  }
};

template <int kVectors>
[[gnu::always_inline]] static inline bool is_whole(const PanelGeometry& g, const Epilogue& e) {
  return !e.float_output && g.lanes == 4 * kVectors;
}

/// 8 channels of one pixel of any other panel, from 8 accumulators: lanes to spare, or float(acc) · multiplier
/// [clamped], which is scalar: on ARMv7 only VFP keeps denormals.
[[gnu::always_inline]] static inline void store_block(const PanelGeometry& g, const Epilogue& e, const int32_t* acc,
                                                      int block, ptrdiff_t pixel) {
  const int real = g.lanes - 8 * block, written = g.y_blocked ? 8 : real < 8 ? real : 8;
  const ptrdiff_t at = pixel + block * g.y_block;
  const float* m = e.multiplier + 8 * block;
  if (e.float_output) {
    float* y = static_cast<float*>(g.y) + at;
    for (int i = 0; i < written; ++i) {
      const float t = float(acc[i]) * m[i], low = t > e.low ? t : e.low, clamped = low < e.high ? low : e.high;
      y[i] = i < real ? (e.float_clamp ? clamped : t) : 0.0f;
    }
    return;
  }
  const Rounder rounder(e.low, e.high, e.zero_point);
  int8_t q[8];
  vst1_s8(q, rounder.finish(rounder.round8(vmulq_f32(vcvtq_f32_s32(vld1q_s32(acc)), vld1q_f32(m)),
                                           vmulq_f32(vcvtq_f32_s32(vld1q_s32(acc + 4)), vld1q_f32(m + 4)))));
  int8_t* y = static_cast<int8_t*>(g.y) + at;
  for (int i = 0; i < written; ++i) y[i] = i < real ? q[i] : int8_t(e.zero_point);
}

/// Any other panel, one pixel. A block with a real lane is written whole, one without is left alone.
template <int kVectors>
[[gnu::noinline]] static void store_some(const PanelGeometry& g, const Epilogue& e, const int32x4_t (&acc)[kVectors],
                                         ptrdiff_t pixel) {
  int32_t sum[4 * kVectors];
  for (int v = 0; v < kVectors; ++v) vst1q_s32(sum + 4 * v, acc[v]);
  for (int h = 0; 8 * h < g.lanes; ++h) store_block(g, e, sum + 8 * h, h, pixel);
}

/// Pixels y_at[0 … n) of a tile from acc[pixel][vector].
template <int kVectors, int kPixels>
[[gnu::always_inline]] static inline void store_tile(const PanelGeometry& g, const Epilogue& e,
                                                     const int32x4_t (&acc)[kPixels][kVectors], const ptrdiff_t* y_at,
                                                     int n) {
  if (is_whole<kVectors>(g, e)) {
    const WholeStore<kVectors> out(g, e);
#pragma GCC unroll 6
    for (int p = 0; p < kPixels; ++p) {
      if (p < n) out.store(acc[p], y_at[p]);
    }
    return;
  }
  // Indexed by a variable, the accumulators would live in memory all along: only this copy does.
  int32x4_t copy[kPixels][kVectors];
#pragma GCC unroll 6
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) copy[p][v] = acc[p][v];
  }
#pragma GCC unroll 1
  for (int p = 0; p < n; ++p) store_some<kVectors>(g, e, copy[p], y_at[p]);
}

/// The epilogue of one block of 8 channels of a depthwise layer, outputs 8 elements apart. kWhole: as WholeStore.
template <bool kWhole>
struct BlockStore {
  WholeStore<2> whole;
  [[gnu::always_inline]] BlockStore(const PanelGeometry& g, const Epilogue& e) : whole(g, e) {}
  [[gnu::always_inline]] void store(const int32x4_t (&acc)[2], ptrdiff_t pixel) const { whole.store(acc, pixel); }
  [[gnu::always_inline]] void store_two(const int32x4_t (&a)[2], const int32x4_t (&b)[2], ptrdiff_t pixel) const {
    whole.store_two(a, b, pixel);
  }
};
template <>
struct BlockStore<false> {
  const PanelGeometry& g;
  const Epilogue& e;
  [[gnu::always_inline]] BlockStore(const PanelGeometry& geometry, const Epilogue& epilogue)
      : g(geometry), e(epilogue) {}
  [[gnu::always_inline]] void store(const int32x4_t (&acc)[2], ptrdiff_t pixel) const {
    store_some<2>(g, e, acc, pixel);
  }
  [[gnu::always_inline]] void store_two(const int32x4_t (&a)[2], const int32x4_t (&b)[2], ptrdiff_t pixel) const {
    store_some<2>(g, e, a, pixel);
    store_some<2>(g, e, b, pixel + 8);
  }
};

/// Cuts the pixels of a panel, in row-major order, into tiles of at most kPixels, as even as possible:
/// tile(n, x offsets, y offsets).
template <int kPixels, typename Tile>
[[gnu::always_inline]] static inline void for_each_tile(const PanelGeometry& g, const Tile& tile) {
  int row = 0, col = 0;
  const int64_t pixels = int64_t(g.rows) * g.cols;
  int64_t tiles = (pixels + kPixels - 1) / kPixels;
  for (int64_t left = pixels; left > 0; --tiles) {
    const int n = left % tiles == 0 ? int(left / tiles) : int(left / tiles) + 1;  // >= 1
    ptrdiff_t x_at[kPixels] = {}, y_at[kPixels] = {};
    for (int p = 0; p < n; ++p) {
      x_at[p] = row * g.x_row + col * g.x_col;
      y_at[p] = row * g.y_row + col * g.y_col;
      if (++col == g.cols) col = 0, ++row;
    }
    tile(n, x_at, y_at);
    left -= n;
  }
}

/// The tile of `n` pixels, 1 to 6: Tile::run<pairs, kNeighbours>(args, x offsets, y offsets, odd).
template <typename Tile, bool kNeighbours>
[[gnu::always_inline]] static inline void run_pair_tile(int n, const ConvByteArgs& a, const ptrdiff_t* x_at,
                                                        const ptrdiff_t* y_at) {
  const bool odd = n % 2 != 0;
  if (n > 4) return Tile::template run<3, kNeighbours>(a, x_at, y_at, odd);
  if (n > 2) return Tile::template run<2, kNeighbours>(a, x_at, y_at, odd);
  Tile::template run<1, kNeighbours>(a, x_at, y_at, odd);
}

/// The pixels are neighbours in x and in y (a 1×1 layer of stride 1), the panel is whole and has input channels: one
/// run.
[[gnu::always_inline]] static inline bool is_run(const PanelGeometry& g, const Epilogue& e) {
  const bool one_row = g.rows == 1 || (g.x_row == g.cols * g.x_col && g.y_row == g.cols * g.y_col);
  return one_row && g.x_col == kBlock && g.y_col == kBlock && is_whole<4>(g, e) && g.blocks + g.tail > 0;
}

inline constexpr int kPairTilePixels = 6;

/// `tiles` tiles of 2 · kPairs pixels of a run, from pixel `first` on.
template <typename Tile, int kPairs>
[[gnu::always_inline]] static inline void run_pair_row(const ConvByteArgs& a, ptrdiff_t first, ptrdiff_t tiles) {
  a.geometry.taps == 1 ? Tile::template run_row<kPairs, true>(a, first, tiles)
                       : Tile::template run_row<kPairs, false>(a, first, tiles);
}

/// A run: whole tiles, then what is left, a last odd pixel by itself.
template <typename Tile>
[[gnu::always_inline]] static inline void run_pair_row(const ConvByteArgs& a) {
  const ptrdiff_t pixels = ptrdiff_t(a.geometry.rows) * a.geometry.cols, whole = pixels / kPairTilePixels;
  const int rest = int(pixels - whole * kPairTilePixels);
  if (whole > 0) run_pair_row<Tile, 3>(a, 0, whole);
  if (rest >= 4) run_pair_row<Tile, 2>(a, pixels - rest, 1);
  if (rest == 2 || rest == 3) run_pair_row<Tile, 1>(a, pixels - rest, 1);
  const ptrdiff_t last[2] = {(pixels - 1) * kBlock, (pixels - 1) * kBlock};
  if (rest % 2 != 0) Tile::template run<1, false>(a, last, last, true);
}

/// All pixels in tiles of up to three pairs. An odd tile has its last pixel repeated behind it. kNeighbours: every pair
/// lies in 16 neighbouring bytes.
template <typename Tile>
[[gnu::always_inline]] static inline void run_pair_tiles(const ConvByteArgs& a) {
  for_each_tile<kPairTilePixels>(a.geometry, [&](int n, const ptrdiff_t* x, const ptrdiff_t* y) {
    ptrdiff_t x_at[kPairTilePixels + 1], y_at[kPairTilePixels + 1];
    for (int p = 0; p < n; ++p) x_at[p] = x[p], y_at[p] = y[p];
    x_at[n] = x[n - 1], y_at[n] = y[n - 1];
    bool neighbours = true;
    for (int p = 0; p < n; p += 2) neighbours = neighbours && x_at[p + 1] == x_at[p] + 8;
    neighbours ? run_pair_tile<Tile, true>(n, a, x_at, y_at) : run_pair_tile<Tile, false>(n, a, x_at, y_at);
  });
}

/// Calls step(x of a block at a tap) in the order of the weights, for `count` blocks. kOneTap: that tap is in x.
template <bool kOneTap, typename Step>
[[gnu::always_inline]] static inline void for_each_step(const PanelGeometry& g, const int8_t* x, int count,
                                                        const Step& step) {
  const ptrdiff_t x_block = g.x_block;
  const ptrdiff_t* const taps_end = g.tap + g.taps;
  for (; count > 0; --count, x += x_block) {
    if constexpr (kOneTap) {
      step(x);
    } else {
      for (const ptrdiff_t* tap = g.tap; tap != taps_end; ++tap) step(x + *tap);
    }
  }
}

}  // namespace lq::neon
