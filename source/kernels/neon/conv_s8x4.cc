// int8 panel product for ARMv8.0: smull of one group of 4 channels, smlal of the next, sadalp into int32. Two products
// of at most 128 · 127 fit an int16 (32512). Tile: 4 pixels × 8 channels; a panel of 16 is two of them. A 64-bit half
// of a product holds two sums a channel, joined at the end.
#include "kernels/neon/conv_store.h"

namespace lq::neon {
namespace {

constexpr int kTilePixels = 4;

/// acc[p]: 4 vectors of 2 channels (two partial sums each) for channels 8·half … 8·half + 7.
template <int kPixels>
[[gnu::always_inline]] static inline void add_two(int32x4_t (&acc)[kPixels][4], const int8_t* const (&x)[kPixels],
                                                  ptrdiff_t offset, const int8_t* w) {
  // Two groups of 4 channels, 64 bytes of weights (16 channels) apart.
  const int8x16_t a0 = vld1q_s8(w), a1 = vld1q_s8(w + 16), b0 = vld1q_s8(w + 64), b1 = vld1q_s8(w + 80);
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
    const int32_t* in = reinterpret_cast<const int32_t*>(x[p] + offset);
    const int8x16_t u = vreinterpretq_s8_s32(vld1q_dup_s32(in)), v = vreinterpretq_s8_s32(vld1q_dup_s32(in + 1));
    const int8x8_t u8 = vget_low_s8(u), v8 = vget_low_s8(v);
    acc[p][0] = vpadalq_s16(acc[p][0], vmlal_s8(vmull_s8(u8, vget_low_s8(a0)), v8, vget_low_s8(b0)));
    acc[p][1] = vpadalq_s16(acc[p][1], vmlal_high_s8(vmull_high_s8(u, a0), v, b0));
    acc[p][2] = vpadalq_s16(acc[p][2], vmlal_s8(vmull_s8(u8, vget_low_s8(a1)), v8, vget_low_s8(b1)));
    acc[p][3] = vpadalq_s16(acc[p][3], vmlal_high_s8(vmull_high_s8(u, a1), v, b1));
  }
}

/// One group alone: the last of a tail.
template <int kPixels>
[[gnu::always_inline]] static inline void add_one(int32x4_t (&acc)[kPixels][4], const int8_t* const (&x)[kPixels],
                                                  ptrdiff_t offset, const int8_t* w) {
  const int8x16_t a0 = vld1q_s8(w), a1 = vld1q_s8(w + 16);
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
    const int8x16_t u = vreinterpretq_s8_s32(vld1q_dup_s32(reinterpret_cast<const int32_t*>(x[p] + offset)));
    acc[p][0] = vpadalq_s16(acc[p][0], vmull_s8(vget_low_s8(u), vget_low_s8(a0)));
    acc[p][1] = vpadalq_s16(acc[p][1], vmull_high_s8(u, a0));
    acc[p][2] = vpadalq_s16(acc[p][2], vmull_s8(vget_low_s8(u), vget_low_s8(a1)));
    acc[p][3] = vpadalq_s16(acc[p][3], vmull_high_s8(u, a1));
  }
}

/// Channels 8·half … of one tile into sum[p].
template <int kPixels>
[[gnu::always_inline]] static inline void half_tile(const ConvByteArgs& a, const ptrdiff_t* x_at, int half,
                                                    int32x4_t (&sum)[kPixels][4]) {
  const PanelGeometry& g = a.geometry;
  const int8_t* x[kPixels];
  int32x4_t acc[kPixels][4];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
    x[p] = reinterpret_cast<const int8_t*>(a.x) + x_at[p];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) acc[p][v] = vdupq_n_s32(0);
  }
  const int8_t* w = a.w + 32 * half;
  ptrdiff_t block = 0;
  for (int b = 0; b < g.blocks; ++b, block += g.x_block) {
    for (int t = 0; t < g.taps; ++t, w += 128) add_two<kPixels>(acc, x, block + g.tap[t], w);
  }
  for (int t = 0; g.tail > 0 && t < g.taps; ++t) {
    const ptrdiff_t offset = block + g.tap[t];
    if (g.tail > 4) {
      add_two<kPixels>(acc, x, offset, w);
      w += 128;
    } else {
      add_one<kPixels>(acc, x, offset, w);
      w += 64;
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
    const int32_t* bias = a.epilogue.bias + 8 * half;
    sum[p][2 * half] = vaddq_s32(load_s32(bias), vpaddq_s32(acc[p][0], acc[p][1]));
    sum[p][2 * half + 1] = vaddq_s32(load_s32(bias + 4), vpaddq_s32(acc[p][2], acc[p][3]));
  }
}

template <int kPixels>
[[gnu::noinline]] void tile(const ConvByteArgs& a, const S8Store<4>& out, const ptrdiff_t* x_at,
                            const ptrdiff_t* y_at) {
  int32x4_t sum[kPixels][4] = {};
  half_tile<kPixels>(a, x_at, 0, sum);
  if (a.geometry.lanes > kBlock) half_tile<kPixels>(a, x_at, 1, sum);
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) out.store(sum[p], y_at[p]);
}

}  // namespace

void conv_s8x4(const ConvByteArgs& a) {
  const S8Store<4> out(a.geometry, a.epilogue);
  for_each_tile<kTilePixels>(a.geometry, [&](int n, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
    switch (n) {
      case 4:
        return tile<4>(a, out, x_at, y_at);
      case 3:
        return tile<3>(a, out, x_at, y_at);
      case 2:
        return tile<2>(a, out, x_at, y_at);
      default:
        return tile<1>(a, out, x_at, y_at);
    }
  });
}

}  // namespace lq::neon
