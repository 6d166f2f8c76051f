// RISC-V V 1.0 pieces the kernels share. Vectors have any length from 128 bits on: a kernel asks for lanes and gets
// what there is. vfmax and vfmin return the operand that is no NaN; conversions round as fcsr says, to even.
#pragma once
#include <riscv_vector.h>

#include "kernels/conv_kernels.h"

namespace lq::rvv {

/// R of accumulators with their multipliers: int32 with zero point, inside int8.
[[gnu::always_inline]] static inline vint32m4_t requantize(vint32m4_t acc, vfloat32m4_t m, const Epilogue& e,
                                                           size_t vl) {
  vfloat32m4_t t = __riscv_vfmul_vv_f32m4(__riscv_vfcvt_f_x_v_f32m4(acc, vl), m, vl);
  t = __riscv_vfmin_vf_f32m4(__riscv_vfmax_vf_f32m4(t, e.low, vl), e.high, vl);
  return __riscv_vadd_vx_i32m4(__riscv_vfcvt_x_f_v_i32m4(t, vl), e.zero_point, vl);
}

/// v > low ? v : low, then v < high ? v : high: NaN -> low, and of zeros of both signs the one the scalar rule takes.
static inline float clamp_nan_to_low(float v, float low, float high) {
  const float t = v > low ? v : low;
  return t < high ? t : high;
}

/// Channels [first, first + count) of one pixel from their floats: the blocks they lie in, or the real ones alone.
/// first is a multiple of 8; `empty_blocks`: blocks without a real lane are written too.
static inline void store_floats(const PanelGeometry& g, const float* t, bool clamp, float low, float high, int first,
                                int count, bool empty_blocks, ptrdiff_t pixel) {
  for (int l = 0; l < count; l += kBlock) {
    const int real = g.lanes - first - l;
    if (real <= 0 && !(empty_blocks && g.y_blocked)) return;
    float* y = static_cast<float*>(g.y) + (first + l) / kBlock * g.y_block + pixel;
    for (int i = 0; i < (g.y_blocked || real > kBlock ? kBlock : real); ++i) {
      const float v = t[l + i];
      y[i] = i < real ? (clamp ? clamp_nan_to_low(v, low, high) : v) : 0.0f;
    }
  }
}

/// Lanes [first, first + vl) of one pixel from their accumulators.
[[gnu::always_inline]] static inline void store_s8(const PanelGeometry& g, const Epilogue& e, vint32m4_t acc, int first,
                                                   size_t vl, bool empty_blocks, ptrdiff_t pixel) {
  const vfloat32m4_t m = __riscv_vle32_v_f32m4(e.multiplier + first, vl);
  if (e.float_output) {
    float t[64];
    __riscv_vse32_v_f32m4(t, __riscv_vfmul_vv_f32m4(__riscv_vfcvt_f_x_v_f32m4(acc, vl), m, vl), vl);
    store_floats(g, t, e.float_clamp, e.low, e.high, first, int(vl), empty_blocks, pixel);
    return;
  }
  const int real = g.lanes - first > 0 ? g.lanes - first : 0;
  vint32m4_t q = requantize(acc, m, e, vl);
  if (size_t(real) < vl) {
    const vbool8_t spare = __riscv_vmsgeu_vx_u32m4_b8(__riscv_vid_v_u32m4(vl), uint32_t(real), vl);
    q = __riscv_vmerge_vxm_i32m4(q, e.zero_point, spare, vl);
  }
  const vint8m1_t bytes = __riscv_vncvt_x_x_w_i8m1(__riscv_vncvt_x_x_w_i16m2(q, vl), vl);
  int8_t* y = static_cast<int8_t*>(g.y) + pixel + first / kBlock * g.y_block;
  if (g.y_blocked) {
    // A block of a pixel is one 64-bit element; NCHWc8 keeps it aligned.
    const size_t blocks = (empty_blocks || size_t(real) > vl ? vl : size_t(real) + 7) / kBlock;
    __riscv_vsse64_v_u64m1(reinterpret_cast<uint64_t*>(y), g.y_block,
                           __riscv_vreinterpret_v_u8m1_u64m1(__riscv_vreinterpret_v_i8m1_u8m1(bytes)), blocks);
  } else {
    __riscv_vse8_v_i8m1(y, bytes, size_t(real) < vl ? size_t(real) : vl);
  }
}

/// The pixels of a panel, in row-major order, in tiles of up to four: tile(n, x offsets, y offsets), the last pixel
/// repeated behind n.
template <typename Tile>
[[gnu::always_inline]] static inline void for_each_tile(const PanelGeometry& g, const Tile& tile) {
  int row = 0, col = 0;
  for (int64_t left = int64_t(g.rows) * g.cols; left > 0; left -= 4) {
    const int n = left < 4 ? int(left) : 4;
    ptrdiff_t x_at[4], y_at[4];
    for (int p = 0; p < 4; ++p) {
      x_at[p] = p < n ? row * g.x_row + col * g.x_col : x_at[p - 1];
      y_at[p] = p < n ? row * g.y_row + col * g.y_col : y_at[p - 1];
      if (p < n && ++col == g.cols) col = 0, ++row;
    }
    tile(n, x_at, y_at);
  }
}

}  // namespace lq::rvv
