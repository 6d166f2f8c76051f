// Depthwise: the input rows of an output row are copied with their padding; a register group holds neighbouring outputs
// of all 8 channels, a tap's 8 weights are one 64-bit element in every place. Two taps a step: two products fit int16.
#include "kernels/rvv/rvv.h"

namespace lq::rvv {
namespace {

inline void copy_pixels(int8_t* out, const int8_t* x, ptrdiff_t pixels) {
  for (size_t left = size_t(pixels) * kBlock, n; left > 0; left -= n, x += n, out += n) {
    n = __riscv_vsetvl_e8m8(left);
    __riscv_vse8_v_i8m8(out, __riscv_vle8_v_i8m8(x, n), n);
  }
}

inline void rows_of_quad(const int8_t* w, int8_t* out, ptrdiff_t step, int rows) {
  for (int r = 0; r < rows; ++r) __riscv_vse8_v_i8m1(out + r * step, __riscv_vlse8_v_i8m1(w + r, 4, 8), 8);
}

#include "kernels/depthwise_rows_inline.h"

constexpr int kMaxLanes = 128;  // of a step: 16 outputs

/// bias and multiplier of 8 channels, repeated for the outputs of a step.
struct Constants {
  int32_t bias[kMaxLanes];
  float multiplier[kMaxLanes];
};

/// `n` neighbouring pixels of a tap, `stride` apart.
[[gnu::always_inline]] inline vint8m2_t load_pixels(const int8_t* x, ptrdiff_t stride, size_t n) {
  if (stride == 1) return __riscv_vle8_v_i8m2(x, n * kBlock);
  const vuint64m2_t v = __riscv_vlse64_v_u64m2(reinterpret_cast<const uint64_t*>(x), stride * kBlock, n);
  return __riscv_vreinterpret_v_u8m2_i8m2(__riscv_vreinterpret_v_u64m2_u8m2(v));
}

[[gnu::always_inline]] inline vint8m2_t repeat_weights(const int8_t* w, size_t n) {
  uint64_t all;
  __builtin_memcpy(&all, __builtin_assume_aligned(w, 8), sizeof(all));  // scratch is aligned
  return __riscv_vreinterpret_v_u8m2_i8m2(__riscv_vreinterpret_v_u64m2_u8m2(__riscv_vmv_v_x_u64m2(all, n)));
}

/// `n` neighbouring outputs from their accumulators.
[[gnu::always_inline]] inline void store(const DepthwiseByteArgs& a, const Constants& k, vint32m8_t acc, size_t n,
                                         ptrdiff_t at) {
  const Epilogue& e = a.epilogue;
  const size_t vl = n * kBlock;
  vfloat32m8_t t =
      __riscv_vfmul_vv_f32m8(__riscv_vfcvt_f_x_v_f32m8(acc, vl), __riscv_vle32_v_f32m8(k.multiplier, vl), vl);
  if (e.float_output) {
    float values[kMaxLanes];
    __riscv_vse32_v_f32m8(values, t, vl);
    PanelGeometry g{};
    g.y = a.y, g.lanes = a.lanes, g.y_blocked = true;
    for (size_t p = 0; p < n; ++p) {
      store_floats(g, values + p * kBlock, e.float_clamp, e.low, e.high, 0, kBlock, true, at + ptrdiff_t(p) * kBlock);
    }
    return;
  }
  t = __riscv_vfmin_vf_f32m8(__riscv_vfmax_vf_f32m8(t, e.low, vl), e.high, vl);
  vint32m8_t q = __riscv_vadd_vx_i32m8(__riscv_vfcvt_x_f_v_i32m8(t, vl), e.zero_point, vl);
  if (a.lanes < kBlock) {
    const vuint32m8_t channel = __riscv_vand_vx_u32m8(__riscv_vid_v_u32m8(vl), kBlock - 1, vl);
    q = __riscv_vmerge_vxm_i32m8(q, e.zero_point, __riscv_vmsgeu_vx_u32m8_b4(channel, uint32_t(a.lanes), vl), vl);
  }
  __riscv_vse8_v_i8m2(static_cast<int8_t*>(a.y) + at, __riscv_vncvt_x_x_w_i8m2(__riscv_vncvt_x_x_w_i16m4(q, vl), vl),
                      vl);
}

}  // namespace

void depthwise_s8x4(const DepthwiseByteArgs& a) {
  const int span = int(depthwise_span(a.cols, a.stride_w, a.taps_w, a.dilation_w)), taps = a.taps_h * a.taps_w;
  int8_t* rows = reinterpret_cast<int8_t*>(a.quads);
  const ptrdiff_t row = ptrdiff_t(span) * kBlock, col_step = ptrdiff_t(a.dilation_w) * kBlock;
  int8_t* w = rows + a.taps_h * row;
  unpack_weights(a, w);
  Constants k;
  for (int i = 0; i < kMaxLanes; ++i) {
    k.bias[i] = a.epilogue.bias[i % kBlock];
    k.multiplier[i] = a.epilogue.multiplier[i % kBlock];
  }
  const int vector = int(__riscv_vsetvlmax_e32m8()), most = (vector < kMaxLanes ? vector : kMaxLanes) / kBlock;
  for (int r = 0; r < a.rows; ++r) {
    for (int h = 0; h < a.taps_h; ++h)
      copy_row(a, int64_t(a.first_row) + int64_t(r) * a.stride_h + int64_t(h) * a.dilation_h, span, rows + h * row);
    for (int c = 0; c < a.cols; c += most) {
      const size_t n = size_t(a.cols - c < most ? a.cols - c : most), vl = n * kBlock;
      const ptrdiff_t x = ptrdiff_t(c) * a.stride_w * kBlock;
      vint32m8_t acc = __riscv_vle32_v_i32m8(k.bias, vl);
      Taps tap{rows + x, w, a.taps_w, a.taps_w, col_step, row - (a.taps_w - 1) * col_step};
      const auto next = [&](vint8m2_t& in, vint8m2_t& weights) {
        in = load_pixels(tap.x, a.stride_w, n), weights = repeat_weights(tap.w, n);
        tap.next();
      };
      vint8m2_t in = __riscv_vundefined_i8m2(), weights = __riscv_vundefined_i8m2();
      int left = taps;
      for (; left >= 2; left -= 2) {
        next(in, weights);
        vint16m4_t sum = __riscv_vwmul_vv_i16m4(in, weights, vl);
        next(in, weights);
        sum = __riscv_vwmacc_vv_i16m4(sum, in, weights, vl);
        acc = __riscv_vwadd_wv_i32m8(acc, sum, vl);
      }
      if (left > 0) {
        next(in, weights);
        acc = __riscv_vwadd_wv_i32m8(acc, __riscv_vwmul_vv_i16m4(in, weights, vl), vl);
      }
      store(a, k, acc, n, r * a.y_row + ptrdiff_t(c) * kBlock);
    }
  }
}

}  // namespace lq::rvv
