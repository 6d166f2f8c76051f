// int8 panel product on int16 operands (products of two activations, and by weights with a zero point): smlal of a
// vector of 4 channels by a lane of x, exact for (q − zp) · w, sums wrap as int32. Tile: 4 pixels × 16 channels, 2 × 16
// on ARMv7, or × 8. And the depthwise layer on int16, two taps at a time.
#include "kernels/neon/conv_store.h"

namespace lq::neon {
namespace {

constexpr int kTilePixels = kIs64Bit ? 4 : 2;

/// Pair kPair of a block's channels for every pixel; in[p] holds the block's 8 channels. w: [width][2].
template <int kPixels, int kHalves, int kPair>
[[gnu::always_inline]] static inline void add_pair(int32x4_t (&acc)[kPixels][2 * kHalves],
                                                   const int16x8_t (&in)[kPixels], const int16_t* w) {
#pragma GCC unroll 2
  for (int h = 0; h < kHalves; ++h) {
    const int16x8x2_t weights = vld2q_s16(w + 16 * h);
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) {
      acc[p][2 * h] = mla_low<2 * kPair>(acc[p][2 * h], weights.val[0], in[p]);
      acc[p][2 * h] = mla_low<2 * kPair + 1>(acc[p][2 * h], weights.val[1], in[p]);
      acc[p][2 * h + 1] = mla_high<2 * kPair>(acc[p][2 * h + 1], weights.val[0], in[p]);
      acc[p][2 * h + 1] = mla_high<2 * kPair + 1>(acc[p][2 * h + 1], weights.val[1], in[p]);
    }
  }
}

template <int kPixels, int kHalves>
struct PanelTile {
  const int16_t* x[kPixels];
  int32x4_t acc[kPixels][2 * kHalves];

  /// `pairs` (1 to 4) pairs of a block at one tap; returns the weights behind them. All 8 lanes of x are read.
  [[gnu::always_inline]] const int16_t* add_block(ptrdiff_t offset, const int16_t* w, int pairs) {
    constexpr ptrdiff_t kPair = 16 * kHalves;
    int16x8_t in[kPixels];
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) in[p] = vld1q_s16(x[p] + offset);
    add_pair<kPixels, kHalves, 0>(acc, in, w);
    if (pairs > 1) add_pair<kPixels, kHalves, 1>(acc, in, w + kPair);
    if (pairs > 2) add_pair<kPixels, kHalves, 2>(acc, in, w + 2 * kPair);
    if (pairs > 3) add_pair<kPixels, kHalves, 3>(acc, in, w + 3 * kPair);
    return w + pairs * kPair;
  }
};

template <int kPixels, int kHalves>
[[gnu::noinline]] void tile(const ConvS8Args& a, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
  const PanelGeometry& g = a.geometry;
  PanelTile<kPixels, kHalves> t;
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
    t.x[p] = a.x + x_at[p];
#pragma GCC unroll 4
    for (int v = 0; v < 2 * kHalves; ++v) t.acc[p][v] = vld1q_s32(a.epilogue.bias + 4 * v);
  }
  const int16_t* w = a.w;
  const ptrdiff_t* const taps_end = g.tap + g.taps;
  ptrdiff_t block = 0;
  for (int b = 0; b < g.blocks; ++b, block += g.x_block) {
    for (const ptrdiff_t* tap = g.tap; tap != taps_end; ++tap) w = t.add_block(block + *tap, w, 4);
  }
  const int tail_pairs = (g.tail + 1) / 2;
  for (const ptrdiff_t* tap = g.tap; tail_pairs > 0 && tap != taps_end; ++tap) {
    w = t.add_block(block + *tap, w, tail_pairs);
  }
  store_tile<2 * kHalves>(g, a.epilogue, t.acc, y_at, kPixels);
  // Unlike the byte forms, this family also writes a block without real lanes.
  constexpr int32_t kNone[8] = {};
  for (int p = 0; kHalves == 2 && g.y_blocked && g.lanes <= 8 && p < kPixels; ++p)
    store_block(g, a.epilogue, kNone, 1, y_at[p]);
}

template <int kPixels, int kHalves>
void tile_of(int n, const ConvS8Args& a, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
  if constexpr (kPixels > 1) {
    if (n < kPixels) return tile_of<kPixels - 1, kHalves>(n, a, x_at, y_at);
  }
  tile<kPixels, kHalves>(a, x_at, y_at);
}

template <int kHalves>
void run(const ConvS8Args& a) {
  for_each_tile<kTilePixels>(a.geometry, [&](int n, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
    tile_of<kTilePixels, kHalves>(n, a, x_at, y_at);
  });
}

/// One output of a depthwise layer.
[[gnu::always_inline]] static inline void depthwise_sum(const DepthwiseS8Args& a, const int16_t* x,
                                                        int32x4_t (&acc)[2]) {
  acc[0] = load_s32(a.epilogue.bias), acc[1] = load_s32(a.epilogue.bias + 4);
  for (int t = 0; t < a.geometry.taps; ++t) {
    const int16x8x2_t in = vld2q_s16(x + a.geometry.tap[t]), w = vld2q_s16(a.w + 16 * t);
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      acc[0] = vmlal_s16(acc[0], vget_low_s16(in.val[k]), vget_low_s16(w.val[k]));
      acc[1] = vmlal_s16(acc[1], vget_high_s16(in.val[k]), vget_high_s16(w.val[k]));
    }
  }
}

}  // namespace

void conv_s8(const ConvS8Args& a) { a.geometry.width == 16 ? run<2>(a) : run<1>(a); }

void depthwise_s8(const DepthwiseS8Args& a) {
  const PanelGeometry& g = a.geometry;
  for (int r = 0; r < g.rows; ++r) {
    for (int c = 0; c < g.cols; ++c) {
      int32x4_t acc[1][2];
      depthwise_sum(a, a.x + r * g.x_row + c * g.x_col, acc[0]);
      const ptrdiff_t at = r * g.y_row + c * g.y_col;
      store_tile<2>(g, a.epilogue, acc, &at, 1);
    }
  }
}

void widen_s8(const WidenS8Args& a) {
  const int16x8_t zero_point = vdupq_n_s16(int16_t(a.zero_point));
  int64_t p = 0;
  if (a.x_step == 8) {
    for (; p + 2 <= a.pixels; p += 2) {
      const int8x16_t v = vld1q_s8(a.x + 8 * p);
      vst1q_s16(a.y + 8 * p, vsubq_s16(vmovl_s8(vget_low_s8(v)), zero_point));
      vst1q_s16(a.y + 8 * p + 8, vsubq_s16(vmovl_s8(vget_high_s8(v)), zero_point));
    }
  }
  for (; p < a.pixels; ++p) vst1q_s16(a.y + 8 * p, vsubq_s16(vmovl_s8(vld1_s8(a.x + p * a.x_step)), zero_point));
}

void interleave_s16(const InterleaveS16Args& a) {
  for (int64_t p = 0; p < a.pixels; ++p) {
    const int16x8x2_t pair = {{vld1q_s16(a.x + 8 * p), vld1q_s16(a.x + 8 * p + a.shift)}};
    vst2q_s16(a.y + 16 * p, pair);  // clang's is a macro: no braces inside
  }
}

}  // namespace lq::neon
