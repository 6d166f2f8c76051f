// Blocked pools and Resize: eight lanes, which every processor has in a half register of bytes or two of words.
#include "kernels/rvv/elementwise_rvv.h"

namespace lq::rvv {
namespace {

/// Calls f(block) for each valid tap of one output, in row-major order.
template <typename T, typename F>
inline void for_taps(const T* x, const PoolTaps& row, const PoolTaps& col, const PoolArgs& a, F f) {
  const int64_t line_step = static_cast<int64_t>(a.dilation_h) * a.in_w * kBlock;
  const int64_t step = static_cast<int64_t>(a.dilation_w) * kBlock;
  const T* line = x + (static_cast<int64_t>(row.first) * a.in_w + col.first) * kBlock;
  for (int32_t r = 0; r < row.count; ++r, line += line_step) {
    const T* v = line;
    for (int32_t c = 0; c < col.count; ++c, v += step) f(v);
  }
}

/// Calls f(row taps, column taps, output block) for all outputs of rows [begin, end).
template <typename T, typename F>
inline void for_outputs(T* y, int32_t begin, int32_t end, const PoolArgs& a, F f) {
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow)
      f(a.rows[oh], a.cols[ow], y + (static_cast<int64_t>(oh) * a.out_w + ow) * kBlock);
  }
}

inline vint32m2_t load8(const int8_t* p) { return __riscv_vsext_vf4_i32m2(__riscv_vle8_v_i8mf2(p, kBlock), kBlock); }

/// R of eight accumulators.
inline void store8(int8_t* y, vint32m2_t acc, float m, const RoundArgs& r) {
  vfloat32m2_t t = __riscv_vfmul_vf_f32m2(__riscv_vfcvt_f_x_v_f32m2(acc, kBlock), m, kBlock);
  t = __riscv_vfmin_vf_f32m2(__riscv_vfmax_vf_f32m2(t, r.low, kBlock), r.high, kBlock);
  const vint32m2_t q = __riscv_vadd_vx_i32m2(__riscv_vfcvt_x_f_v_i32m2(t, kBlock), r.zero_point, kBlock);
  __riscv_vse8_v_i8mf2(y, __riscv_vncvt_x_x_w_i8mf2(__riscv_vncvt_x_x_w_i16m1(q, kBlock), kBlock), kBlock);
}

}  // namespace

void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for_outputs(y, begin, end, a, [&](const PoolTaps& row, const PoolTaps& col, float* out) {
    vfloat32m2_t best = __riscv_vfmv_v_f_f32m2(-__builtin_inff(), kBlock);
    // The scalar twin's expression v > best ? v : best, NaN and zeros of both signs included.
    for_taps(x, row, col, a, [&](const float* p) {
      const vfloat32m2_t v = __riscv_vle32_v_f32m2(p, kBlock);
      best = __riscv_vmerge_vvm_f32m2(best, v, __riscv_vmfgt_vv_f32m2_b16(v, best, kBlock), kBlock);
    });
    __riscv_vse32_v_f32m2(out, best, kBlock);
  });
}

void max_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for_outputs(y, begin, end, a, [&](const PoolTaps& row, const PoolTaps& col, int8_t* out) {
    vint8mf2_t best = __riscv_vmv_v_x_i8mf2(-128, kBlock);
    for_taps(x, row, col, a,
             [&](const int8_t* p) { best = __riscv_vmax_vv_i8mf2(best, __riscv_vle8_v_i8mf2(p, kBlock), kBlock); });
    __riscv_vse8_v_i8mf2(out, best, kBlock);
  });
}

void average_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for_outputs(y, begin, end, a, [&](const PoolTaps& row, const PoolTaps& col, float* out) {
    float partial[8][kBlock] = {};
    uint32_t k = 0;  // tap k adds to partial k % 8
    for_taps(x, row, col, a, [&](const float* v) {
      float* p = partial[k++ & 7];
      const vfloat32m2_t sum =
          __riscv_vfadd_vv_f32m2(__riscv_vle32_v_f32m2(p, kBlock), __riscv_vle32_v_f32m2(v, kBlock), kBlock);
      __riscv_vse32_v_f32m2(p, sum, kBlock);
    });
    const auto two = [&](int i, int j) {
      return __riscv_vfadd_vv_f32m2(__riscv_vle32_v_f32m2(partial[i], kBlock),
                                    __riscv_vle32_v_f32m2(partial[j], kBlock), kBlock);
    };
    const vfloat32m2_t even = __riscv_vfadd_vv_f32m2(two(0, 4), two(2, 6), kBlock);
    const vfloat32m2_t odd = __riscv_vfadd_vv_f32m2(two(1, 5), two(3, 7), kBlock);
    const float n = static_cast<float>(static_cast<int64_t>(row.divisor) * col.divisor);
    __riscv_vse32_v_f32m2(out, __riscv_vfdiv_vf_f32m2(__riscv_vfadd_vv_f32m2(even, odd, kBlock), n, kBlock), kBlock);
  });
}

void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for_outputs(y, begin, end, a, [&](const PoolTaps& row, const PoolTaps& col, int8_t* out) {
    vint32m2_t acc = __riscv_vmv_v_x_i32m2(-(row.count * col.count * a.zero_x), kBlock);
    for_taps(x, row, col, a, [&](const int8_t* v) { acc = __riscv_vadd_vv_i32m2(acc, load8(v), kBlock); });
    store8(out, acc, a.multiplier[row.slot * a.col_slots + col.slot], a.round);
  });
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
          const vint32m2_t v = load8(line + static_cast<int64_t>(a.cols.index[col]) * kBlock);
          sum = __riscv_vmacc_vx_i32m2(sum, a.cols.weight[col], v, kBlock);
        }
        acc = __riscv_vmacc_vx_i32m2(acc, a.rows.weight[row], sum, kBlock);
      }
      store8(out, acc, a.multiplier, a.round);
    }
  }
}

}  // namespace lq::rvv
