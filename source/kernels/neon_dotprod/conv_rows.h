// Tiles of equally spaced pixels whose outputs are neighbours, on sdot: nearly all of a network's work. The main loop
// is written in the order it is to run (neon/ordered.h): every load stands some multiplications before its use, so a
// core that executes in order does not wait either. The next step's pixels are loaded during this one; the last step
// stands by itself, so nothing is read beyond what belongs to the layer.
#pragma once
#include "kernels/neon/conv_store.h"
#include "kernels/neon/ordered.h"

namespace lq::neon_dotprod {
namespace {

constexpr int kMostTaps = 64;
constexpr ptrdiff_t kStep = 128;  // bytes of a panel's weights for 8 input channels at a tap

/// acc += w · channels 4·kLane … of the pixels in x.
template <int kLane>
[[gnu::always_inline]] static inline void dot(int32x4_t& acc, int8x16_t w, int8x16_t x) {
  __asm__ volatile("sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(acc) : "w"(w), "w"(x), "n"(kLane));
}

/// kPixels × 4·kVectors outputs. kPairs: two neighbouring pixels are one register; otherwise each has its own.
template <int kPixels, int kVectors, bool kPairs>
struct RowTile {
  static constexpr int kInputs = kPairs ? kPixels / 2 : kPixels;
  const int8_t* x[kInputs];
  const int8_t* w[2 * kVectors];  // of the last full step: [group][vector]; the first one's next
  int8x16_t in[kInputs], weight;
  int32x4_t acc[kPixels][kVectors];

  [[gnu::always_inline]] explicit RowTile(const int8_t* weights) {
#pragma GCC unroll 8
    for (int v = 0; v < 2 * kVectors; ++v) w[v] = weights + 64 * (v / kVectors) + 16 * (v % kVectors);
    w[0] += kStep;
  }
  [[gnu::always_inline]] void aim(const int8_t* first, ptrdiff_t pixel) {
#pragma GCC unroll 6
    for (int i = 0; i < kInputs; ++i) x[i] = first + (kPairs ? 2 * i : i) * pixel;
  }
  [[gnu::always_inline]] void move(ptrdiff_t bytes) {
#pragma GCC unroll 6
    for (int i = 0; i < kInputs; ++i) x[i] += bytes;
  }
  [[gnu::always_inline]] void start(const int32_t* bias) {
#pragma GCC unroll 6
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; v += 2) {
        v == 0 ? neon::ordered_load_two<0>(bias, acc[p][0], acc[p][1])
               : neon::ordered_load_two<32>(bias, acc[p][v], acc[p][v + 1]);
      }
    }
  }
  [[gnu::always_inline]] int8x16_t load_pixels(int i, ptrdiff_t x_at) const {
    if constexpr (kPairs) return neon::ordered_load(x[i], x_at);
    return neon::ordered_load_half(x[i], x_at);
  }
  [[gnu::always_inline]] void load(ptrdiff_t x_at, ptrdiff_t w_at) {
    weight = neon::ordered_load(w[0], w_at - kStep);
#pragma GCC unroll 6
    for (int i = 0; i < kInputs; ++i) in[i] = load_pixels(i, x_at);
  }
  /// A vector of weights times input i.
  template <int kGroup>
  [[gnu::always_inline]] void add(int i, int vector) {
    if constexpr (kPairs) {
      dot<kGroup>(acc[2 * i][vector], weight, in[i]);
      dot<2 + kGroup>(acc[2 * i + 1][vector], weight, in[i]);
    } else {
      dot<kGroup>(acc[i][vector], weight, in[i]);
    }
  }
  /// Vectors kVector (of both groups) to kEnd - 1 of the step at w_at. kMore: a step follows, whose pixels are at
  /// next_x; w_at becomes that step's.
  template <int kVector, int kEnd, bool kMore>
  [[gnu::always_inline]] void vectors(ptrdiff_t& w_at, ptrdiff_t next_x) {
    constexpr bool kLast = kVector + 1 == kEnd;
    int8x16_t next = weight;
    const auto load_weights = [&]() __attribute__((always_inline)) {
      if constexpr (!kLast) next = neon::ordered_load(w[kVector + 1], w_at);
      if constexpr (kLast && kMore) next = neon::ordered_load(w[0], w_at);
    };
    // Every other load a little later: a load is two micro-operations of Cortex-A76, which takes three a cycle.
    if constexpr (kVector % 2 == 0) load_weights();
#pragma GCC unroll 6
    for (int i = 0; i < kInputs; ++i) {
      add<kVector / kVectors>(i, kVector % kVectors);
      if constexpr (kVector % 2 != 0) {
        if (i == 0) load_weights();
      }
      if constexpr (kLast && kMore) in[i] = load_pixels(i, next_x);
    }
    weight = next;
    if constexpr (kLast && kMore) w_at += kStep;
    if constexpr (!kLast) vectors<kVector + 1, kEnd, kMore>(w_at, next_x);
  }
};

/// Steps of a tile, counted by the offset of their weights, which ends at 0: full blocks of 8 channels, one tap.
template <int kPixels, int kVectors, bool kPairs>
[[gnu::always_inline]] static inline void one_tap_blocks(RowTile<kPixels, kVectors, kPairs>& tile,
                                                         const PanelGeometry& g, ptrdiff_t w_at) {
  constexpr int kEnd = 2 * kVectors;
  ptrdiff_t x_at = g.tap[0];
  tile.load(x_at, w_at);
  while (w_at != 0) {
    x_at += g.x_block;
    tile.template vectors<0, kEnd, true>(w_at, x_at);
  }
  tile.template vectors<0, kEnd, false>(w_at, 0);
}

/// The same for several taps. `next` lists from where the following step reads: the next tap, behind the last one the
/// next block's first.
template <int kPixels, int kVectors, bool kPairs>
[[gnu::always_inline]] static inline void blocks_of_taps(RowTile<kPixels, kVectors, kPairs>& tile,
                                                         const PanelGeometry& g, const ptrdiff_t* next,
                                                         ptrdiff_t w_at) {
  constexpr int kEnd = 2 * kVectors;
  tile.load(g.tap[0], w_at);
  for (int b = 0; b < g.blocks; ++b) {
    const ptrdiff_t* const end = next + (b + 1 < g.blocks ? g.taps : g.taps - 1);
    for (ptrdiff_t left = next - end; left != 0; ++left) tile.template vectors<0, kEnd, true>(w_at, end[left]);
    if (b + 1 < g.blocks) tile.move(g.x_block);
  }
  tile.template vectors<0, kEnd, false>(w_at, 0);
  tile.move(-(g.blocks - 1) * g.x_block);
}

/// The partial block of `tail` channels: one or two groups of 4 a tap.
template <int kPixels, int kVectors, bool kPairs>
[[gnu::always_inline]] static inline void tail_block(RowTile<kPixels, kVectors, kPairs>& tile, const PanelGeometry& g) {
  const ptrdiff_t block = g.blocks * g.x_block;
  ptrdiff_t w_at = g.blocks > 0 ? kStep : 0;
  for (int t = 0; t<g.taps; ++t, w_at += g.tail> 4 ? kStep : kStep / 2) {
    tile.load(block + g.tap[t], w_at);
    tile.template vectors<0, kVectors, false>(w_at, 0);
    if (g.tail <= 4) continue;
    tile.weight = neon::ordered_load(tile.w[kVectors], w_at);
    tile.template vectors<kVectors, 2 * kVectors, false>(w_at, 0);
  }
}

/// Requantizes, clamps and stores; two neighbouring pixels are 16 bytes.
template <int kPixels, int kVectors>
[[gnu::always_inline]] static inline void store_row(const neon::Rounder& rounder, bool clamps, const float* multiplier,
                                                    const int32x4_t (&acc)[kPixels][kVectors], int8_t* y,
                                                    ptrdiff_t y_block) {
#pragma GCC unroll 2
  for (int h = 0; h < kVectors / 2; ++h) {
    const float32x4_t m0 = vld1q_f32(multiplier + 8 * h), m1 = vld1q_f32(multiplier + 8 * h + 4);
    const auto round = [&](int p) __attribute__((always_inline)) {
      return rounder.round8(vmulq_f32(vcvtq_f32_s32(acc[p][2 * h]), m0),
                            vmulq_f32(vcvtq_f32_s32(acc[p][2 * h + 1]), m1));
    };
    int8_t* to = y + h * y_block;
    if constexpr (kPixels == 1) {
      vst1_s8(to, rounder.finish(round(0)));
    } else {
      int8x16_t q[kPixels / 2];
#pragma GCC unroll 3
      for (int p = 0; p < kPixels / 2; ++p) q[p] = rounder.narrow(round(2 * p), round(2 * p + 1));
      if (clamps) {
#pragma GCC unroll 3
        for (int p = 0; p < kPixels / 2; ++p) q[p] = rounder.clamp(q[p]);
      }
#pragma GCC unroll 3
      for (int p = 0; p < kPixels / 2; ++p) vst1q_s8(to + 16 * p, q[p]);
    }
  }
}

/// `tiles` tiles from x and y on, pixels `pixel` bytes apart in x.
template <int kPixels, int kVectors, bool kPairs, bool kOneTap>
[[gnu::noinline]] static void run_tiles(const ConvByteArgs& a, const int8_t* x, ptrdiff_t pixel, int8_t* y,
                                        ptrdiff_t tiles) {
  const PanelGeometry g = a.geometry;  // copies: bytes stored may alias what a pointer reaches
  const Epilogue e = a.epilogue;
  ptrdiff_t next[kMostTaps];
  if (!kOneTap && g.blocks > 0) {
    for (int t = 0; t + 1 < g.taps; ++t) next[t] = g.tap[t + 1];
    next[g.taps - 1] = g.x_block + g.tap[0];
  }
  const ptrdiff_t last = g.blocks > 0 ? (ptrdiff_t(g.blocks) * g.taps - 1) * kStep : 0;  // where the last step's are
  RowTile<kPixels, kVectors, kPairs> tile(a.w + last);
  const neon::Rounder rounder(e.low, e.high, e.zero_point);
  const bool clamps = rounder.clamps();
  for (; tiles > 0; --tiles, x += kPixels * pixel, y += kPixels * kBlock) {
    tile.start(e.bias);
    tile.aim(x, pixel);
    if (g.blocks > 0) {
      if constexpr (kOneTap) {
        one_tap_blocks(tile, g, -last);
      } else {
        blocks_of_taps(tile, g, next, -last);
      }
    }
    if (g.tail > 0) tail_block(tile, g);
    store_row(rounder, clamps, e.multiplier, tile.acc, y, g.y_block);
  }
}

/// One or more tiles of kPixels pixels of a panel with 4·kVectors channels.
template <int kPixels, int kVectors>
[[gnu::always_inline]] static inline void run_pixels(const ConvByteArgs& a, const int8_t* x, int8_t* y,
                                                     ptrdiff_t tiles) {
  const ptrdiff_t pixel = a.geometry.x_col;
  if constexpr (kPixels > 1) {
    if (pixel == kBlock && kPixels == 6 && a.geometry.taps == 1)
      return run_tiles<kPixels, kVectors, true, kPixels == 6>(a, x, pixel, y, tiles);
    if (pixel == kBlock) return run_tiles<kPixels, kVectors, true, false>(a, x, pixel, y, tiles);
  }
  if constexpr (kPixels == 6 || kPixels == 1) run_tiles<kPixels, kVectors, false, false>(a, x, pixel, y, tiles);
}

}  // namespace
}  // namespace lq::neon_dotprod
