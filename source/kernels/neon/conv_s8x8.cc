// int8 panel product for ARMv8.0: smull of 8 channels of one step, smlal of the next step, sadalp into int32: two
// products of at most 128 · 127 fit an int16 (32512). Tile: 4 pixels × 4 channels; an accumulator holds four sums of
// one output, joined at the end. A panel of 16 channels is four tiles.
#include "kernels/neon/conv_store.h"

namespace lq::neon {
namespace {

constexpr int kTilePixels = 4;
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

/// Two pairs of pixels; kNeighbours: each pair lies in 16 neighbouring bytes.
template <bool kNeighbours>
struct Pixels {
  const int8_t *p0, *p1, *p2, *p3;
  [[gnu::always_inline]] Pixels(const ConvByteArgs& a, const ptrdiff_t* x_at) {
    const int8_t* x = reinterpret_cast<const int8_t*>(a.x);
    p0 = x + x_at[0], p1 = x + x_at[1], p2 = x + x_at[2], p3 = x + x_at[3];
  }
  [[gnu::always_inline]] void load(ptrdiff_t offset, int8x8_t (&in)[4]) const {
    if (kNeighbours) {
      const int8x8x2_t a = vld1_s8_x2(p0 + offset), b = vld1_s8_x2(p2 + offset);
      in[0] = a.val[0], in[1] = a.val[1], in[2] = b.val[0], in[3] = b.val[1];
    } else {
      in[0] = vld1_s8(p0 + offset), in[1] = vld1_s8(p1 + offset);
      in[2] = vld1_s8(p2 + offset), in[3] = vld1_s8(p3 + offset);
    }
  }
};

/// Channels 4·quarter … of a tile into sum[pixel].
template <bool kNeighbours, bool kOneTap>
[[gnu::always_inline]] static inline void quarter_tile(const ConvByteArgs& a, const Pixels<kNeighbours>& x, int quarter,
                                                       int32x4_t (&sum)[4]) {
  int32x4_t acc[4][4];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) acc[i / 4][i % 4] = vdupq_n_s32(0);
  const int8_t* w = a.w + 32 * quarter;
  Steps<kOneTap> steps(a.geometry);
  const int64_t count = int64_t(a.geometry.blocks + (a.geometry.tail > 0 ? 1 : 0)) * a.geometry.taps;
  int64_t left = count;
  for (; left >= 2; left -= 2, w += 2 * kStep) {
    int8x8_t u[4], v[4];
    x.load(steps.next(), u);
    x.load(steps.next(), v);
    const int8x8x4_t wu = vld1_s8_x4(w), wv = vld1_s8_x4(w + kStep);
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c)
        acc[p][c] = vpadalq_s16(acc[p][c], vmlal_s8(vmull_s8(u[p], wu.val[c]), v[p], wv.val[c]));
    }
  }
  if (left > 0) {
    int8x8_t u[4];
    x.load(steps.next(), u);
    const int8x8x4_t wu = vld1_s8_x4(w);
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) acc[p][c] = vpadalq_s16(acc[p][c], vmull_s8(u[p], wu.val[c]));
    }
  }
  const int32x4_t bias = vld1q_s32(a.epilogue.bias + 4 * quarter);
#pragma GCC unroll 4
  for (int p = 0; p < 4; ++p) {
    sum[p] = vaddq_s32(bias, vpaddq_s32(vpaddq_s32(acc[p][0], acc[p][1]), vpaddq_s32(acc[p][2], acc[p][3])));
  }
}

/// `n` pixels; x_at repeats the last one up to 4.
template <bool kNeighbours, bool kOneTap>
[[gnu::noinline]] void tile(const ConvByteArgs& a, const ptrdiff_t* x_at, const ptrdiff_t* y_at, int n) {
  const Pixels<kNeighbours> x(a, x_at);
  int32x4_t sum[4][4];  // [pixel][quarter]
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    int32x4_t quarter[4] = {};
    if (4 * q < a.geometry.lanes) quarter_tile<kNeighbours, kOneTap>(a, x, q, quarter);
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) sum[p][q] = quarter[p];
  }
  store_tile<4>(a.geometry, a.epilogue, sum, y_at, n);
}

}  // namespace

void conv_s8x8(const ConvByteArgs& a) {
  const bool one_tap = a.geometry.taps == 1;
  for_each_tile<kTilePixels>(a.geometry, [&](int n, const ptrdiff_t* x, const ptrdiff_t* y) {
    ptrdiff_t x_at[kTilePixels] = {};
    for (int p = 0; p < kTilePixels; ++p) x_at[p] = x[p < n || p == 0 ? p : n - 1];
    const bool neighbours = x_at[1] == x_at[0] + 8 && x_at[3] == x_at[2] + 8;
    if (neighbours) return one_tap ? tile<true, true>(a, x_at, y, n) : tile<true, false>(a, x_at, y, n);
    return one_tap ? tile<false, true>(a, x_at, y, n) : tile<false, false>(a, x_at, y, n);
  });
}

}  // namespace lq::neon
