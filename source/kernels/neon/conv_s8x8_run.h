// The main loop of conv_s8x8 over runs, 64-bit: 4 neighbouring pixels × 4 channels, two steps at a time, in the order
// it is to run (ordered.h). A pixel's 8 channels fill both halves of a register and two output channels' weights one
// each, so that smull and smull2 make both. Loads stand behind the last use of what they replace: 30 registers, and an
// in-order core waits for none. The last pair of steps stands by itself: nothing is read behind the layer.
#pragma once
#include "kernels/neon/conv_store.h"
#include "kernels/neon/ordered.h"

namespace lq::neon {

inline constexpr int kMostRunTaps = 64;

#if defined(__aarch64__)
namespace {

struct RunTile {
  static constexpr ptrdiff_t kStep = 128, kPair = 2 * kStep;  // bytes of weights of a step and of two
  const int8_t* w[4];  // of the last of some pairs of steps: [channels 0 and 1: step, next step][channels 2 and 3]
  int32x4_t acc[4][4];
  int8x16_t u[4], v[4], wu, wv;

  /// Weights are looked up at w + 16 · i, i up to 0: what counts bytes of a list of two offsets a pair counts them,
  /// too.
  [[gnu::always_inline]] void aim(const int8_t* weights) {
    w[0] = weights + kPair, w[1] = weights + kStep + kPair, w[2] = weights + 16, w[3] = weights + kStep + 16;
  }
  [[gnu::always_inline]] void clear() {
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) acc[i / 4][i % 4] = vdupq_n_s32(0);
  }
  [[gnu::always_inline]] void load(const int8_t* xu, const int8_t* xv, ptrdiff_t i) {
    wu = ordered_load_scaled(w[0], i - 16);
    ordered_load_pixels<0>(xu, u);
    wv = ordered_load_scaled(w[1], i - 16);
    ordered_load_pixels<1>(xv, v);
  }
  /// Output channel kChannel of every pixel. Between its instructions wu, u, wv and v are loaded, each once it is used
  /// for the last time; no two loads side by side, each goes along with a multiplication.
  template <int kChannel, typename LoadWu, typename LoadU, typename LoadWv, typename LoadV>
  [[gnu::always_inline]] void channel(const LoadWu& load_wu, const LoadU& load_u, const LoadWv& load_wv,
                                      const LoadV& load_v) {
    int16x8_t t[4];
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) t[p] = ordered_mull<kChannel % 2 != 0>(u[p], wu);
    load_wu();
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
      ordered_mlal<kChannel % 2 != 0>(t[p], v[p], wv);
      if (p == 0) load_u();
    }
    load_wv();
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
      ordered_adalp(acc[p][kChannel], t[p]);
      if (p == 0) load_v();
    }
  }
  /// The two steps at i. kMore: two more follow, whose pixels are at xu and xv.
  template <bool kMore>
  [[gnu::always_inline]] void pair(ptrdiff_t i, const int8_t* xu, const int8_t* xv) {
    const auto nothing = []() __attribute__((always_inline)){};
    const auto load_wu = [&]() __attribute__((always_inline)) { wu = ordered_load_scaled(w[2], i); };
    const auto load_wv = [&]() __attribute__((always_inline)) { wv = ordered_load_scaled(w[3], i); };
    channel<0>(nothing, nothing, nothing, nothing);
    channel<1>(load_wu, nothing, load_wv, nothing);
    channel<2>(nothing, nothing, nothing, nothing);
    if constexpr (kMore) {
      const auto next_wu = [&]() __attribute__((always_inline)) { wu = ordered_load_scaled(w[0], i); };
      const auto next_wv = [&]() __attribute__((always_inline)) { wv = ordered_load_scaled(w[1], i); };
      const auto next_u = [&]() __attribute__((always_inline)) { ordered_load_pixels<0>(xu, u); };
      const auto next_v = [&]() __attribute__((always_inline)) { ordered_load_pixels<1>(xv, v); };
      channel<3>(next_wu, next_u, next_wv, next_v);
    } else {
      channel<3>(nothing, nothing, nothing, nothing);
    }
  }
  /// A last single step, at x; its weights follow those of the last pair.
  [[gnu::always_inline]] void one_step(const int8_t* x, const int8_t* weights) {
    const int8x8x4_t in = load_four(x), by = load_four(weights);
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) acc[p][c] = vpadalq_s16(acc[p][c], vmull_s8(in.val[p], by.val[c]));
    }
  }
};

/// From where the steps of two blocks read; those behind them, of the next two blocks, begin the list anew.
struct StepList {
  ptrdiff_t at[2 * kMostRunTaps + 4];
  [[gnu::always_inline]] explicit StepList(const PanelGeometry& g) {
    for (int t = 0; t < g.taps; ++t) at[t] = g.tap[t], at[g.taps + t] = g.x_block + g.tap[t];
    for (int t = 0; t < 4; ++t) at[2 * g.taps + t] = 2 * g.x_block + at[t];  // two of them are only looked up
  }
};

/// All `pairs` > 0 of steps.
template <bool kOneTap>
[[gnu::always_inline]] static inline void add_pairs(RunTile& tile, const PanelGeometry& g, const int8_t* x,
                                                    const int8_t* weights, const StepList& list, ptrdiff_t pairs) {
  ptrdiff_t left = pairs - 1;  // and one that nothing follows
  if constexpr (kOneTap) {
    const int8_t *xu = x + g.tap[0], *xv = xu + g.x_block;
    const ptrdiff_t step = 2 * g.x_block;
    tile.aim(weights + left * RunTile::kPair);
    ptrdiff_t i = -16 * left;
    tile.load(xu, xv, i);
    while (i != 0) {
      xu += step, xv += step;
      tile.pair<true>(i, xu, xv);
      i += 16;
    }
  } else {
    tile.aim(weights);
    tile.load(x + list.at[0], x + list.at[1], 0);
    for (; left > 0; left -= g.taps, x += 2 * g.x_block) {  // two blocks at a time
      const ptrdiff_t count = left < g.taps ? left : g.taps;
      const ptrdiff_t* const end = list.at + 2 * count + 4;
      ptrdiff_t u = list.at[2], v = list.at[3];
      tile.aim(weights += count * RunTile::kPair);
      for (ptrdiff_t i = -16 * count; i != 0; i += 16) {
        const int8_t *xu = x + u, *xv = x + v;
        u = ordered_load_offset(end, i), v = ordered_load_offset(end + 1, i);  // of the next but one
        tile.pair<true>(i, xu, xv);
      }
    }
  }
  tile.pair<false>(0, x, x);
}

}  // namespace
#endif

}  // namespace lq::neon
