// From accumulators to memory, Advanced SIMD: the vector form of scalar/conv_store.h, the same bits. Every function is
// inlined, so the folders with newer instructions may include it.
#pragma once
#include <arm_neon.h>

#include "kernels/conv_kernels.h"

namespace lq::neon {

[[gnu::always_inline]] static inline int32x4_t load_s32(const int32_t* p) { return vld1q_s32(p); }

/// Constants of an int8 kernel's epilogue for kVectors · 4 channels. No product here is NaN (finite accumulator, finite
/// multiplier), so the order of the clamp's operands does not matter.
template <int kVectors>
struct S8Store {
  float32x4_t low, high;
  int16x8_t zero_point;
  const PanelGeometry& g;
  const Epilogue& e;

  [[gnu::always_inline]] S8Store(const PanelGeometry& geometry, const Epilogue& epilogue) : g(geometry), e(epilogue) {
    low = vdupq_n_f32(e.low);
    high = vdupq_n_f32(e.high);
    zero_point = vdupq_n_s16(int16_t(e.zero_point));
  }

  [[gnu::always_inline]] float32x4_t scaled(int32x4_t acc, int v) const {
    return vmulq_f32(vcvtq_f32_s32(acc), vld1q_f32(e.multiplier + 4 * v));
  }
  [[gnu::always_inline]] int32x4_t rounded(int32x4_t acc, int v) const {
    return vcvtnq_s32_f32(vminq_f32(vmaxq_f32(scaled(acc, v), low), high));
  }
  /// R of 8 channels, block `h` of the panel: q + zp fits a byte by the clamp.
  [[gnu::always_inline]] int8x8_t requantize(int32x4_t a, int32x4_t b, int h) const {
    const int16x8_t q = vcombine_s16(vmovn_s32(rounded(a, 2 * h)), vmovn_s32(rounded(b, 2 * h + 1)));
    return vmovn_s16(vaddq_s16(q, zero_point));
  }

  /// One pixel.
  [[gnu::always_inline]] void store(const int32x4_t* acc, ptrdiff_t pixel) const {
    if (e.float_output) return store_float(acc, pixel);
    int8_t* y = static_cast<int8_t*>(g.y) + pixel;
#pragma GCC unroll 2
    for (int h = 0; h < kVectors / 2; ++h) {
      const int lanes = g.lanes - 8 * h;
      if (lanes <= 0) return;
      const int8x8_t q = requantize(acc[2 * h], acc[2 * h + 1], h);
      int8_t* to = y + h * g.y_block;
      if (lanes >= 8) {
        vst1_s8(to, q);
        continue;
      }
      int8_t lane[8];
      vst1_s8(lane, q);
      for (int i = 0; i < lanes; ++i) to[i] = lane[i];
      for (int i = lanes; g.y_blocked && i < 8; ++i) to[i] = int8_t(e.zero_point);
    }
  }

  /// float(acc) · multiplier [clamped].
  [[gnu::always_inline]] void store_float(const int32x4_t* acc, ptrdiff_t pixel) const {
    float* y = static_cast<float*>(g.y) + pixel;
    for (int v = 0; v < kVectors; ++v) {
      const int lanes = g.lanes - 4 * v;
      if (lanes <= 0 && (!g.y_blocked || v % 2 == 0)) return;  // a block with a real lane is written whole
      float32x4_t t = scaled(acc[v], v);
      if (e.float_clamp) t = vminq_f32(vmaxq_f32(t, low), high);
      float* to = y + v / 2 * g.y_block + v % 2 * 4;
      if (lanes >= 4) {
        vst1q_f32(to, t);
        continue;
      }
      float lane[4];
      vst1q_f32(lane, t);
      for (int i = 0; i < 4; ++i) {
        if (i < lanes) to[i] = lane[i];
        if (i >= lanes && g.y_blocked) to[i] = 0.0f;
      }
    }
  }
};

/// Cuts the pixels of a panel, in row-major order, into tiles of at most kPixels, as even as possible:
/// tile(n, x offsets, y offsets).
template <int kPixels, typename Tile>
[[gnu::always_inline]] static inline void for_each_tile(const PanelGeometry& g, const Tile& tile) {
  int row = 0, col = 0;
  const int64_t pixels = int64_t(g.rows) * g.cols;
  for (int64_t left = pixels, tiles = (pixels + kPixels - 1) / kPixels; left > 0; --tiles) {
    const int n = int((left + tiles - 1) / tiles);
    ptrdiff_t x_at[kPixels], y_at[kPixels];
    for (int p = 0; p < n; ++p) {
      x_at[p] = row * g.x_row + col * g.x_col;
      y_at[p] = row * g.y_row + col * g.y_col;
      if (++col == g.cols) col = 0, ++row;
    }
    tile(n, x_at, y_at);
    left -= n;
  }
}

}  // namespace lq::neon
