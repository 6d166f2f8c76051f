// int8 panel product for ARMv8.0: smull of 8 channels of one step, smlal of the next step, sadalp into int32: two
// products of at most 128 · 127 fit an int16 (32512). Tile: 4 pixels × 4 channels, on ARMv7 2 × 4; an accumulator holds
// four sums of one output, joined at the end. A panel of 16 channels is four tiles.
#include "kernels/neon/conv_s8x8_run.h"
#include "kernels/neon/conv_store.h"

namespace lq::neon {
namespace {

constexpr int kTilePixels = kIs64Bit ? 4 : 2;
constexpr ptrdiff_t kStep = 128;  // bytes of a panel's weights for 8 input channels

/// Where a step (a block of 8 channels at one tap) reads x; next() goes on in the order of the weights.
template <bool kOneTap>
struct Steps {
  const ptrdiff_t *taps, *tap, *end;
  ptrdiff_t block, x_block;
  [[gnu::always_inline]] explicit Steps(const PanelGeometry& g)
      : taps(g.tap), tap(g.tap), end(g.tap + g.taps), block(kOneTap ? g.tap[0] : 0), x_block(g.x_block) {}
  [[gnu::always_inline]] ptrdiff_t next() {
    if (kOneTap) {
      const ptrdiff_t offset = block;
      block += x_block;
      return offset;
    }
    const ptrdiff_t offset = block + *tap;
    if (++tap == end) tap = taps, block += x_block;
    return offset;
  }
};

/// Where the tile's pixels are; kRun: in neighbouring bytes.
template <bool kRun>
struct Pixels {
  const int8_t* at[kTilePixels];
  [[gnu::always_inline]] Pixels(const ConvByteArgs& a, const ptrdiff_t* x_at) {
#pragma GCC unroll 4
    for (int p = 0; p < kTilePixels; ++p) at[p] = reinterpret_cast<const int8_t*>(a.x) + x_at[p];
  }
  [[gnu::always_inline]] void load(ptrdiff_t offset, int8x8_t (&in)[kTilePixels]) const {
    if constexpr (kRun && kTilePixels == 4) {
      const int8x8x4_t v = load_four(at[0] + offset);
#pragma GCC unroll 4
      for (int p = 0; p < 4; ++p) in[p] = v.val[p];
    } else {
#pragma GCC unroll 4
      for (int p = 0; p < kTilePixels; ++p) in[p] = vld1_s8(at[p] + offset);
    }
  }
};

/// Two steps for every pixel and 4 channels, weights two channels at a time: with more, 32 registers do not suffice.
[[gnu::always_inline]] static inline void add_two_steps(int32x4_t (&acc)[kTilePixels][4],
                                                        const int8x8_t (&u)[kTilePixels],
                                                        const int8x8_t (&v)[kTilePixels], const int8_t* w) {
#pragma GCC unroll 2
  for (int h = 0; h < 4; h += 2) {
    const int8x8x2_t wu = load_two(w + 8 * h), wv = load_two(w + kStep + 8 * h);
#pragma GCC unroll 4
    for (int p = 0; p < kTilePixels; ++p) {
#pragma GCC unroll 2
      for (int c = 0; c < 2; ++c)
        acc[p][h + c] = vpadalq_s16(acc[p][h + c], vmlal_s8(vmull_s8(u[p], wu.val[c]), v[p], wv.val[c]));
    }
  }
}

/// Joins the four sums of every output and adds the bias.
[[gnu::always_inline]] static inline void join(const Epilogue& e, int quarter, const int32x4_t (&acc)[kTilePixels][4],
                                               int32x4_t (&sum)[kTilePixels]) {
  const int32x4_t bias = vld1q_s32(e.bias + 4 * quarter);
#pragma GCC unroll 4
  for (int p = 0; p < kTilePixels; ++p)
    sum[p] = vaddq_s32(bias, pair_sums(pair_sums(acc[p][0], acc[p][1]), pair_sums(acc[p][2], acc[p][3])));
}

/// Channels 4·quarter … of a tile into sum[pixel].
template <bool kRun, bool kOneTap>
[[gnu::always_inline]] static inline void quarter_tile(const ConvByteArgs& a, const Pixels<kRun>& x, int quarter,
                                                       int32x4_t (&sum)[kTilePixels]) {
  int32x4_t acc[kTilePixels][4];
#pragma GCC unroll 16
  for (int i = 0; i < 4 * kTilePixels; ++i) acc[i / 4][i % 4] = vdupq_n_s32(0);
  const int8_t* w = a.w + 32 * quarter;
  Steps<kOneTap> steps(a.geometry);
  int8x8_t u[kTilePixels], v[kTilePixels];
  int64_t left = int64_t(a.geometry.blocks + (a.geometry.tail > 0 ? 1 : 0)) * a.geometry.taps;
#pragma GCC unroll 2
  for (; left >= 2; left -= 2, w += 2 * kStep) {
    x.load(steps.next(), u);
    x.load(steps.next(), v);
    add_two_steps(acc, u, v, w);
  }
  if (left > 0) {
    x.load(steps.next(), u);
    const int8x8x4_t wu = load_four(w);
#pragma GCC unroll 4
    for (int p = 0; p < kTilePixels; ++p) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) acc[p][c] = vpadalq_s16(acc[p][c], vmull_s8(u[p], wu.val[c]));
    }
  }
  join(a.epilogue, quarter, acc, sum);
}

template <int kLane>
[[gnu::always_inline]] static inline void store_lane(int8_t* y, int32x4_t q) {
  const int32_t v = vgetq_lane_s32(q, kLane);
  __builtin_memcpy(y, &v, sizeof(v));
}

/// Channels 4·quarter … of a tile of neighbouring pixels, requantized.
[[gnu::always_inline]] static inline void store_quarter(const Epilogue& e, int quarter,
                                                        const int32x4_t (&sum)[kTilePixels], int8_t* y) {
  const float32x4_t m = vld1q_f32(e.multiplier + 4 * quarter);
  const Rounder rounder(e.low, e.high, e.zero_point);
  const auto round = [&](int p) __attribute__((always_inline)) {
    return rounder.round8(vmulq_f32(vcvtq_f32_s32(sum[p]), m), vmulq_f32(vcvtq_f32_s32(sum[p + 1]), m));
  };
  // [pixel][4 channels]
  if constexpr (kTilePixels == 4) {
    const int32x4_t q = vreinterpretq_s32_s8(rounder.finish(round(0), round(2)));
    store_lane<0>(y, q), store_lane<1>(y + 8, q), store_lane<2>(y + 16, q), store_lane<3>(y + 24, q);
  } else {
    const int32x4_t q = vreinterpretq_s32_s8(vcombine_s8(rounder.finish(round(0)), vdup_n_s8(0)));
    store_lane<0>(y, q), store_lane<1>(y + 8, q);
  }
}

/// Channels 4·quarter … of `tiles` times 4 pixels of a run.
template <bool kOneTap>
[[gnu::noinline]] void run_quarter(const ConvByteArgs& args, int quarter, ptrdiff_t tiles) {
  const ConvByteArgs a = args;  // bytes stored may alias what a pointer reaches
  const Epilogue& e = a.epilogue;
  int8_t* y = static_cast<int8_t*>(a.geometry.y) + quarter / 2 * a.geometry.y_block + quarter % 2 * 4;
#if defined(__aarch64__)
  const PanelGeometry& g = a.geometry;
  const int64_t steps = int64_t(g.blocks + (g.tail > 0 ? 1 : 0)) * g.taps;
  const int8_t *x = reinterpret_cast<const int8_t*>(a.x), *w = a.w + 32 * quarter;
  const StepList list(g);
  const ptrdiff_t odd_x = (steps - 1) / g.taps * g.x_block + g.tap[g.taps - 1];
  RunTile tile;
  for (; tiles > 0; --tiles, x += 4 * kBlock, y += 4 * kBlock) {
    tile.clear();
    if (steps > 1) add_pairs<kOneTap>(tile, g, x, w, list, ptrdiff_t(steps / 2));
    if (steps % 2 != 0) tile.one_step(x + odd_x, w + (steps - 1) * RunTile::kStep);
    int32x4_t sum[4];
    join(e, quarter, tile.acc, sum);
    store_quarter(e, quarter, sum, y);
  }
#else
  constexpr ptrdiff_t kNeighbours[4] = {0, 8, 16, 24};
  Pixels<false> x(a, kNeighbours);
  for (; tiles > 0; --tiles, y += kTilePixels * kBlock) {
    int32x4_t sum[kTilePixels];
    quarter_tile<false, kOneTap>(a, x, quarter, sum);
    store_quarter(e, quarter, sum, y);
    for (int p = 0; p < kTilePixels; ++p) x.at[p] += kTilePixels * kBlock;
  }
#endif
}

/// `n` pixels; x_at repeats the last one.
template <bool kRun, bool kOneTap>
[[gnu::noinline]] void tile(const ConvByteArgs& a, const ptrdiff_t* x_at, const ptrdiff_t* y_at, int n) {
  const Pixels<kRun> x(a, x_at);
  int32x4_t sum[kTilePixels][4];  // [pixel][quarter]
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    int32x4_t quarter[kTilePixels] = {};
    if (4 * q < a.geometry.lanes) quarter_tile<kRun, kOneTap>(a, x, q, quarter);
#pragma GCC unroll 4
    for (int p = 0; p < kTilePixels; ++p) sum[p][q] = quarter[p];
  }
  store_tile<4>(a.geometry, a.epilogue, sum, y_at, n);
}

/// Any panel.
void run_tiles(const ConvByteArgs& a) {
  const bool one_tap = a.geometry.taps == 1;
  for_each_tile<kTilePixels>(a.geometry, [&](int n, const ptrdiff_t* x, const ptrdiff_t* y) {
    ptrdiff_t x_at[kTilePixels] = {};
    bool run = true;
    for (int p = 0; p < kTilePixels; ++p) {
      x_at[p] = x[p < n || p == 0 ? p : n - 1];
      run = run && x_at[p] == x_at[0] + 8 * p;
    }
    if (run) return one_tap ? tile<true, true>(a, x_at, y, n) : tile<true, false>(a, x_at, y, n);
    return one_tap ? tile<false, true>(a, x_at, y, n) : tile<false, false>(a, x_at, y, n);
  });
}

/// A run.
void run_pixels(ConvByteArgs a) {
  const ptrdiff_t pixels = ptrdiff_t(a.geometry.rows) * a.geometry.cols, tiles = pixels / kTilePixels;
  for (int q = 0; q < 4; ++q) a.geometry.taps == 1 ? run_quarter<true>(a, q, tiles) : run_quarter<false>(a, q, tiles);
  // What is left is a panel of its own.
  a.geometry.rows = 1, a.geometry.cols = int32_t(pixels - tiles * kTilePixels);
  a.x += tiles * kTilePixels * kBlock;
  a.geometry.y = static_cast<int8_t*>(a.geometry.y) + tiles * kTilePixels * kBlock;
  run_tiles(a);
}

}  // namespace

void conv_s8x8(const ConvByteArgs& args) {
  if (kIs64Bit && (args.geometry.taps < 1 || args.geometry.taps > kMostRunTaps)) return run_tiles(args);
  if (is_run(args.geometry, args.epilogue)) return run_pixels(args);
  ConvByteArgs row = args;
  row.geometry.rows = 1;
  if (!is_run(row.geometry, row.epilogue) || row.geometry.cols % kTilePixels != 0) return run_tiles(args);
  for (int r = 0; r < args.geometry.rows; ++r) {  // whole tiles in every row
    row.x = args.x + r * args.geometry.x_row;
    row.geometry.y = static_cast<int8_t*>(args.geometry.y) + r * args.geometry.y_row;
    run_pixels(row);
  }
}

}  // namespace lq::neon
