// Float panel product and depthwise: one fused multiply-add a term in the canonical order, vectorised over output
// channels. Tile: 4 pixels × 16 channels, or × 8.
#include "kernels/rvv/rvv.h"

namespace lq::rvv {
namespace {

/// −0 becomes +0, clamp, lanes.
[[gnu::always_inline]] inline void store(const PanelGeometry& g, const FloatClamp& clamp, vfloat32m4_t acc, size_t vl,
                                         ptrdiff_t pixel) {
  float t[16];
  __riscv_vse32_v_f32m4(t, __riscv_vfadd_vf_f32m4(acc, 0.0f, vl), vl);
  store_floats(g, t, clamp.enabled, clamp.low, clamp.high, 0, int(vl), true, pixel);
}

/// Calls add(offset of x, weights) for every channel in the canonical order.
template <typename Add>
[[gnu::always_inline]] inline void for_each_channel(const PanelGeometry& g, const float* w, const Add& add) {
  ptrdiff_t block = 0;
  for (int b = 0; b < g.blocks; ++b, block += g.x_block) {
    for (int t = 0; t < g.taps; ++t) {
      for (int i = 0; i < kBlock; ++i, w += g.width) add(block + g.tap[t] + i, w);
    }
  }
  for (int t = 0; g.tail > 0 && t < g.taps; ++t) {
    for (int i = 0; i < g.tail; ++i, w += g.width) add(block + g.tap[t] + i, w);
  }
}

}  // namespace

void conv_f32(const ConvF32Args& a) {
  const PanelGeometry& g = a.geometry;
  const size_t vl = __riscv_vsetvl_e32m4(size_t(g.width));  // 16 lanes at most: every processor has them
  // Start values step with the pixel; a tile's are found from its place in the panel.
  int row = 0, col = 0;
  for_each_tile(g, [&](int n, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
    const float* const x[4] = {a.x + x_at[0], a.x + x_at[1], a.x + x_at[2], a.x + x_at[3]};
    const float* start[4];
    for (int p = 0; p < 4; ++p) {
      start[p] = p < n ? a.start + row * a.start_row + col * a.start_col : start[p - 1];
      if (p < n && ++col == g.cols) col = 0, ++row;
    }
    vfloat32m4_t a0 = __riscv_vle32_v_f32m4(start[0], vl), a1 = __riscv_vle32_v_f32m4(start[1], vl),
                 a2 = __riscv_vle32_v_f32m4(start[2], vl), a3 = __riscv_vle32_v_f32m4(start[3], vl);
    for_each_channel(g, a.w, [&](ptrdiff_t at, const float* w) {
      const vfloat32m4_t k = __riscv_vle32_v_f32m4(w, vl);
      a0 = __riscv_vfmacc_vf_f32m4(a0, x[0][at], k, vl);
      a1 = __riscv_vfmacc_vf_f32m4(a1, x[1][at], k, vl);
      a2 = __riscv_vfmacc_vf_f32m4(a2, x[2][at], k, vl);
      a3 = __riscv_vfmacc_vf_f32m4(a3, x[3][at], k, vl);
    });
    store(g, a.clamp, a0, vl, y_at[0]);
    if (n > 1) store(g, a.clamp, a1, vl, y_at[1]);
    if (n > 2) store(g, a.clamp, a2, vl, y_at[2]);
    if (n > 3) store(g, a.clamp, a3, vl, y_at[3]);
  });
}

void depthwise_f32(const DepthwiseF32Args& a) {
  const PanelGeometry& g = a.geometry;
  const size_t vl = __riscv_vsetvl_e32m4(kBlock);
  const vfloat32m4_t start = __riscv_vle32_v_f32m4(a.start, vl);
  for_each_tile(g, [&](int n, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
    vfloat32m4_t a0 = start, a1 = start, a2 = start, a3 = start;
    for (int t = 0; t < g.taps; ++t) {
      const vfloat32m4_t w = __riscv_vle32_v_f32m4(a.w + kBlock * t, vl);
      const float* x = a.x + g.tap[t];
      a0 = __riscv_vfmacc_vv_f32m4(a0, __riscv_vle32_v_f32m4(x + x_at[0], vl), w, vl);
      a1 = __riscv_vfmacc_vv_f32m4(a1, __riscv_vle32_v_f32m4(x + x_at[1], vl), w, vl);
      a2 = __riscv_vfmacc_vv_f32m4(a2, __riscv_vle32_v_f32m4(x + x_at[2], vl), w, vl);
      a3 = __riscv_vfmacc_vv_f32m4(a3, __riscv_vle32_v_f32m4(x + x_at[3], vl), w, vl);
    }
    store(g, a.clamp, a0, vl, y_at[0]);
    if (n > 1) store(g, a.clamp, a1, vl, y_at[1]);
    if (n > 2) store(g, a.clamp, a2, vl, y_at[2]);
    if (n > 3) store(g, a.clamp, a3, vl, y_at[3]);
  });
}

}  // namespace lq::rvv
