// Blocked pools and Resize: eight lanes, which every processor has in a half register of bytes or two of words.
#include "kernels/pool_inline.h"
#include "kernels/rvv/elementwise_rvv.h"

namespace lq::rvv {
namespace {

struct Lanes {
  static vfloat32m2_t all(float v) { return __riscv_vfmv_v_f_f32m2(v, kBlock); }
  static vfloat32m2_t load(const float* p) { return __riscv_vle32_v_f32m2(p, kBlock); }
  static void store(float* p, vfloat32m2_t v) { __riscv_vse32_v_f32m2(p, v, kBlock); }
  static vfloat32m2_t add(vfloat32m2_t a, vfloat32m2_t b) { return __riscv_vfadd_vv_f32m2(a, b, kBlock); }
  static vfloat32m2_t divide(vfloat32m2_t a, float n) { return __riscv_vfdiv_vf_f32m2(a, n, kBlock); }
  static vfloat32m2_t greater(vfloat32m2_t v, vfloat32m2_t best) {
    return __riscv_vmerge_vvm_f32m2(best, v, __riscv_vmfgt_vv_f32m2_b16(v, best, kBlock), kBlock);
  }

  static vint8mf2_t least() { return __riscv_vmv_v_x_i8mf2(-128, kBlock); }
  static vint8mf2_t greatest(vint8mf2_t best, const int8_t* v) {
    return __riscv_vmax_vv_i8mf2(best, __riscv_vle8_v_i8mf2(v, kBlock), kBlock);
  }
  static void store(int8_t* p, vint8mf2_t v) { __riscv_vse8_v_i8mf2(p, v, kBlock); }

  static vint32m2_t all(int32_t v) { return __riscv_vmv_v_x_i32m2(v, kBlock); }
  static vint32m2_t load_s8(const int8_t* p) {
    return __riscv_vsext_vf4_i32m2(__riscv_vle8_v_i8mf2(p, kBlock), kBlock);
  }
  static vint32m2_t plus(vint32m2_t sum, const int8_t* v) { return __riscv_vadd_vv_i32m2(sum, load_s8(v), kBlock); }
  static RoundArgs rounder(const RoundArgs& r) { return r; }
  static void store_scaled(int8_t* y, vint32m2_t sum, float m, const RoundArgs& r) {
    vfloat32m2_t t = __riscv_vfmul_vf_f32m2(__riscv_vfcvt_f_x_v_f32m2(sum, kBlock), m, kBlock);
    t = __riscv_vfmin_vf_f32m2(__riscv_vfmax_vf_f32m2(t, r.low, kBlock), r.high, kBlock);
    const vint32m2_t q = __riscv_vadd_vx_i32m2(__riscv_vfcvt_x_f_v_i32m2(t, kBlock), r.zero_point, kBlock);
    __riscv_vse8_v_i8mf2(y, __riscv_vncvt_x_x_w_i8mf2(__riscv_vncvt_x_x_w_i16m1(q, kBlock), kBlock), kBlock);
  }
};

}  // namespace

void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  max_pool_f32_of<Lanes>(x, y, begin, end, a);
}
void average_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  average_pool_f32_of<Lanes>(x, y, begin, end, a);
}

void max_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  max_pool_s8_of<Lanes>(x, y, begin, end, a);
}
void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  average_pool_s8_of<Lanes>(x, y, begin, end, a);
}

void resize_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& a) {
  // Σ w_row·w_col = 2^22
  const int32_t zero = static_cast<int32_t>(0u - (static_cast<uint32_t>(a.zero_x) << 22));
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      int8_t* out = y + (static_cast<int64_t>(oh) * a.out_w + ow) * kBlock;
      if ((a.rows.outside && a.rows.outside[oh]) || (a.cols.outside && a.cols.outside[ow])) {
        __builtin_memset(out, a.extrapolation, kBlock);
        continue;
      }
      vint32m2_t acc = __riscv_vmv_v_x_i32m2(zero, kBlock);
      for (int32_t r = 0; r < a.rows.taps; ++r) {
        const int32_t row = oh * a.rows.taps + r;
        const int8_t* line = x + static_cast<int64_t>(a.rows.index[row]) * a.in_w * kBlock;
        // Σ w_col·q of this row, then times w_row: modulo 2^32 the scalar twin's sum
        vint32m2_t sum = __riscv_vmv_v_x_i32m2(0, kBlock);
        for (int32_t c = 0; c < a.cols.taps; ++c) {
          const int32_t col = ow * a.cols.taps + c;
          const vint32m2_t v = Lanes::load_s8(line + static_cast<int64_t>(a.cols.index[col]) * kBlock);
          sum = __riscv_vmacc_vx_i32m2(sum, a.cols.weight[col], v, kBlock);
        }
        acc = __riscv_vmacc_vx_i32m2(acc, a.rows.weight[row], sum, kBlock);
      }
      Lanes::store_scaled(out, acc, a.multiplier, a.round);
    }
  }
}

}  // namespace lq::rvv
