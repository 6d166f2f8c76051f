// The products of exact integer Winograd, Advanced SIMD: smlal of 4 output channels by a lane of v. Tile: 4 tiles × 16
// channels; on ARMv7, with half the registers, 4 tiles × 8.
#include "kernels/neon/ordered.h"
#include "kernels/winograd_kernels.h"

namespace lq::neon {
namespace {

constexpr int kMostTiles = 4, kMostPanels = 1;
constexpr int kVectors = kIs64Bit ? 4 : 2;  // of 4 output channels, at once

template <int kTiles>
struct Tile {
  int32x4_t acc[kTiles][kVectors];
  int16x8_t in[kTiles];

  /// Input channel kChannel of the block in `in`.
  template <int kChannel>
  [[gnu::always_inline]] void add_channel(const int16_t* w) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; v += 2) {
      const int16x8_t weights = vld1q_s16(w + kWinogradPanel * kChannel + 4 * v);
#pragma GCC unroll 4
      for (int t = 0; t < kTiles; ++t) {
        acc[t][v] = mla_low<kChannel>(acc[t][v], weights, in[t]);
        acc[t][v + 1] = mla_high<kChannel>(acc[t][v + 1], weights, in[t]);
      }
    }
  }
  /// The first 2, 4, 6 or 8 channels of the block at x.
  [[gnu::always_inline]] void add(const int16_t* x, const int16_t* w, int channels) {
#pragma GCC unroll 4
    for (int t = 0; t < kTiles; ++t) in[t] = vld1q_s16(x + 8 * t);
    add_channel<0>(w), add_channel<1>(w);
    if (channels > 2) add_channel<2>(w), add_channel<3>(w);
    if (channels > 4) add_channel<4>(w), add_channel<5>(w);
    if (channels > 6) add_channel<6>(w), add_channel<7>(w);
  }
};

#if defined(__aarch64__)
/// Of one channel for 8 output channels, one of two registers: kStep / 2 and half kStep % 2. `next` gets the weights of
/// the step behind it; after(t) once tile t is done.
template <int kStep, int kTiles, typename After>
[[gnu::always_inline]] static inline void add_step(Tile<kTiles>& tile, int16x8_t now, int16x8_t& next, const int8_t* w,
                                                   const After& after) {
  next = vreinterpretq_s16_s8(ordered_load(w, (kStep + 1) % 8 * 16));
#pragma GCC unroll 4
  for (int t = 0; t < kTiles; ++t) {
    ordered_mlal_lane<false, kStep / 2>(tile.acc[t][kStep % 2 * 2], now, tile.in[t]);
    ordered_mlal_lane<true, kStep / 2>(tile.acc[t][kStep % 2 * 2 + 1], now, tile.in[t]);
    after(t);
  }
}

/// Blocks of 8 channels, in the order it is to run: an in-order core waits for no load.
template <int kTiles>
[[gnu::always_inline]] static inline void add_blocks(Tile<kTiles>& tile, const int16_t* x, ptrdiff_t x_block,
                                                     const int16_t* weights, int blocks) {
  if (blocks == 0) return;
  const int16_t* const first_x = x;
  const int8_t *const first_w = reinterpret_cast<const int8_t*>(weights), *w = first_w;
  const auto load = [&](int t) __attribute__((always_inline)) {
    tile.in[t] = vreinterpretq_s16_s8(ordered_load(reinterpret_cast<const int8_t*>(x), 16 * t));
  };
  const auto nothing = [](int) __attribute__((always_inline)){};
#pragma GCC unroll 4
  for (int t = 0; t < kTiles; ++t) load(t);
  int16x8_t even = vreinterpretq_s16_s8(ordered_load(w, 0)), odd;
  for (; blocks > 0; --blocks) {
    add_step<0>(tile, even, odd, w, nothing), add_step<1>(tile, odd, even, w, nothing);
    add_step<2>(tile, even, odd, w, nothing), add_step<3>(tile, odd, even, w, nothing);
    add_step<4>(tile, even, odd, w, nothing), add_step<5>(tile, odd, even, w, nothing);
    add_step<6>(tile, even, odd, w, nothing), w += 128, add_step<7>(tile, odd, even, w, nothing);
    add_step<8>(tile, even, odd, w, nothing), add_step<9>(tile, odd, even, w, nothing);
    add_step<10>(tile, even, odd, w, nothing), add_step<11>(tile, odd, even, w, nothing);
    add_step<12>(tile, even, odd, w, nothing), add_step<13>(tile, odd, even, w, nothing);
    add_step<14>(tile, even, odd, w, nothing);
    // What follows the last block is the first again: it is loaded and left.
    w = blocks > 1 ? w + 128 : first_w, x = blocks > 1 ? x + x_block : first_x;
    add_step<15>(tile, odd, even, w, load);
  }
}
#else
template <int kTiles>
[[gnu::always_inline]] static inline void add_blocks(Tile<kTiles>& tile, const int16_t* x, ptrdiff_t x_block,
                                                     const int16_t* w, int blocks) {
  for (; blocks > 0; --blocks, x += x_block, w += 8 * kWinogradPanel) tile.add(x, w, 8);
}
#endif

/// 4 · kVectors output channels; w and sum: their first.
template <int kTiles>
[[gnu::noinline]] static void tile_part(const WinogradProductArgs& a, const int16_t* x, const int16_t* w,
                                        int32_t* sum) {
  Tile<kTiles> tile;
#pragma GCC unroll 4
  for (int t = 0; t < kTiles; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      tile.acc[t][v] = a.accumulate ? vld1q_s32(sum + kWinogradPanel * t + 4 * v) : vdupq_n_s32(0);
  }
  const int blocks = a.pairs / 4, rest = a.pairs % 4;
  add_blocks(tile, x, a.v_block, w, blocks);
  if (rest > 0) tile.add(x + blocks * a.v_block, w + ptrdiff_t(blocks) * 8 * kWinogradPanel, 2 * rest);
#pragma GCC unroll 4
  for (int t = 0; t < kTiles; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) vst1q_s32(sum + kWinogradPanel * t + 4 * v, tile.acc[t][v]);
  }
}

template <int kTiles, int>
static void tile(const WinogradProductArgs& a, const int16_t* x, const int16_t* w, int32_t* sum) {
  for (int c = 0; c < kWinogradPanel; c += 4 * kVectors) tile_part<kTiles>(a, x, w + c, sum + c);
}

#include "kernels/winograd_tiles_inline.h"

}  // namespace

void winograd23_s8x1(const WinogradProductArgs& a) { product(a, winograd_positions(2)); }
void winograd43_s8x1(const WinogradProductArgs& a) { product(a, winograd_positions(4)); }

}  // namespace lq::neon
