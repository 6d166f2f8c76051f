// From accumulators to memory, Advanced SIMD: the vector form of scalar/conv_store.h, the same bits. Every function is
// inlined, so the folders with newer instructions may include it.
#pragma once
#include <arm_neon.h>

#include "kernels/conv_kernels.h"

namespace lq::neon {

[[gnu::always_inline]] static inline int32x4_t load_s32(const int32_t* p) { return vld1q_s32(p); }

/// The epilogue of whole int8 panels: kVectors · 4 real channels. Everything by value: a store of bytes may alias
/// whatever is reached by a pointer, so a tile makes this once and the compiler keeps it in registers. No product here
/// is NaN (finite accumulator, finite multiplier), so the order of the clamp's operands does not matter.
template <int kVectors>
struct WholeStore {
  float32x4_t low, high, multiplier[kVectors];
  int16x8_t zero_point;
  int8_t* y;
  ptrdiff_t y_block;

  [[gnu::always_inline]] WholeStore(const void* to, ptrdiff_t block, const Epilogue& e)
      : low(vdupq_n_f32(e.low)),
        high(vdupq_n_f32(e.high)),
        zero_point(vdupq_n_s16(int16_t(e.zero_point))),
        y(static_cast<int8_t*>(const_cast<void*>(to))),
        y_block(block) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) multiplier[v] = vld1q_f32(e.multiplier + 4 * v);
  }
  [[gnu::always_inline]] int32x4_t rounded(int32x4_t acc, int v) const {
    return vcvtnq_s32_f32(vminq_f32(vmaxq_f32(vmulq_f32(vcvtq_f32_s32(acc), multiplier[v]), low), high));
  }
  /// R of 8 channels as int16 with zp: by the clamp they fit a byte.
  [[gnu::always_inline]] int16x8_t requantize(int32x4_t a, int32x4_t b, int v) const {
    const int16x8_t q = vuzp1q_s16(vreinterpretq_s16_s32(rounded(a, v)), vreinterpretq_s16_s32(rounded(b, v + 1)));
    return vaddq_s16(q, zero_point);
  }
  [[gnu::always_inline]] static int8x16_t narrow(int16x8_t a, int16x8_t b) {
    return vuzp1q_s8(vreinterpretq_s8_s16(a), vreinterpretq_s8_s16(b));
  }
  /// One pixel.
  [[gnu::always_inline]] void store(const int32x4_t (&acc)[kVectors], ptrdiff_t pixel) const {
    int8_t* to = y + pixel;
    if constexpr (kVectors == 4) {
      const int8x16_t q = narrow(requantize(acc[0], acc[1], 0), requantize(acc[2], acc[3], 2));
      vst1_s8(to, vget_low_s8(q));
      vst1_s8(to + y_block, vget_high_s8(q));
    } else {
      vst1_s8(to, vmovn_s16(requantize(acc[0], acc[1], 0)));
    }
  }
  /// Two neighbouring pixels of one NCHWc8 block.
  [[gnu::always_inline]] void store_two(const int32x4_t (&a)[2], const int32x4_t (&b)[2], ptrdiff_t pixel) const {
    vst1q_s8(y + pixel, narrow(requantize(a[0], a[1], 0), requantize(b[0], b[1], 0)));
  }
};

template <int kVectors>
[[gnu::always_inline]] static inline bool is_whole(const PanelGeometry& g, const Epilogue& e) {
  return !e.float_output && g.lanes == 4 * kVectors;
}

/// Any other panel, one pixel: lanes to spare, or float(acc) · multiplier [clamped].
template <int kVectors>
[[gnu::always_inline]] static inline void store_some(const PanelGeometry& g, const Epilogue& e,
                                                     const int32x4_t (&acc)[kVectors], ptrdiff_t pixel) {
  const WholeStore<kVectors> w(g.y, g.y_block, e);
  for (int v = 0; v < kVectors; ++v) {
    const int real = g.lanes - 4 * v;
    if (real <= 0 && (!g.y_blocked || v % 2 == 0)) return;  // a block with a real lane is written whole
    const ptrdiff_t at = pixel + v / 2 * g.y_block + v % 2 * 4;
    float t[4];
    int32_t q[4];
    const float32x4_t scaled = vmulq_f32(vcvtq_f32_s32(acc[v]), w.multiplier[v]);
    vst1q_f32(t, e.float_clamp ? vminq_f32(vmaxq_f32(scaled, w.low), w.high) : scaled);
    vst1q_s32(q, w.rounded(acc[v], v));
    for (int i = 0; i < (g.y_blocked ? 4 : real < 4 ? real : 4); ++i) {
      if (e.float_output) static_cast<float*>(g.y)[at + i] = i < real ? t[i] : 0.0f;
      if (!e.float_output) static_cast<int8_t*>(g.y)[at + i] = int8_t((i < real ? q[i] : 0) + e.zero_point);
    }
  }
}

/// Pixels y_at[0 … n) of a tile from acc[pixel][vector].
template <int kVectors, int kPixels>
[[gnu::always_inline]] static inline void store_tile(const PanelGeometry& g, const Epilogue& e,
                                                     const int32x4_t (&acc)[kPixels][kVectors], const ptrdiff_t* y_at,
                                                     int n) {
  if (is_whole<kVectors>(g, e)) {
    const WholeStore<kVectors> out(g.y, g.y_block, e);
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
  const PanelGeometry& g;
  const Epilogue& e;
  WholeStore<2> whole;
  [[gnu::always_inline]] BlockStore(const PanelGeometry& geometry, const Epilogue& epilogue)
      : g(geometry), e(epilogue), whole(g.y, g.y_block, e) {}
  [[gnu::always_inline]] void store(const int32x4_t (&acc)[2], ptrdiff_t pixel) const {
    kWhole ? whole.store(acc, pixel) : store_some<2>(g, e, acc, pixel);
  }
  [[gnu::always_inline]] void store_two(const int32x4_t (&a)[2], const int32x4_t (&b)[2], ptrdiff_t pixel) const {
    if (kWhole) return whole.store_two(a, b, pixel);
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

/// The same in pairs: tile(n, x offsets, y offsets, neighbours). An odd n has its last pixel repeated behind it;
/// neighbours: every pair lies in 16 neighbouring bytes.
template <int kPixels, typename Tile>
[[gnu::always_inline]] static inline void for_each_pair_tile(const PanelGeometry& g, const Tile& tile) {
  for_each_tile<kPixels>(g, [&](int n, const ptrdiff_t* x, const ptrdiff_t* y) {
    ptrdiff_t x_at[kPixels + 1], y_at[kPixels + 1];
    for (int p = 0; p < n; ++p) x_at[p] = x[p], y_at[p] = y[p];
    x_at[n] = x[n - 1], y_at[n] = y[n - 1];
    bool neighbours = true;
    for (int p = 0; p < n; p += 2) neighbours = neighbours && x_at[p + 1] == x_at[p] + 8;
    tile(n, x_at, y_at, neighbours);
  });
}

}  // namespace lq::neon
