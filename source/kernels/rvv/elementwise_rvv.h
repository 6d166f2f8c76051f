// The RISC-V V elementwise kernels, joined into one table in elementwise_table.cc, and R on vectors of 8 registers.
#pragma once
#include <riscv_vector.h>

#include "kernels/elementwise_inline.h"

namespace lq::rvv {

/// int(rint(clamp(t, low, high))) + zp as bytes. vfmax gives low for a NaN, as the contract wants.
[[gnu::always_inline]] static inline vint8m2_t round_to_bytes(vfloat32m8_t t, const RoundArgs& r, size_t vl) {
  t = __riscv_vfmin_vf_f32m8(__riscv_vfmax_vf_f32m8(t, r.low, vl), r.high, vl);
  const vint32m8_t q = __riscv_vadd_vx_i32m8(__riscv_vfcvt_x_f_v_i32m8(t, vl), r.zero_point, vl);
  return __riscv_vncvt_x_x_w_i8m2(__riscv_vncvt_x_x_w_i16m4(q, vl), vl);
}

/// q − zp as int32.
[[gnu::always_inline]] static inline vint32m8_t centred(const int8_t* p, int32_t zero, size_t vl) {
  return __riscv_vsub_vx_i32m8(__riscv_vsext_vf4_i32m8(__riscv_vle8_v_i8m2(p, vl), vl), zero, vl);
}

void quantize_s8(const float* x, int8_t* y, int64_t n, const QuantizeArgs& args);
void dequantize_s8(const int8_t* x, float* y, int64_t n, float scale, int32_t zero_point);
void requantize_s8(const int8_t* x, int8_t* y, int64_t n, const RescaleArgs& args);
void table_u8(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table);
void add_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args);
void mul_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args);
void prelu_s8(const int8_t* x, const float* negative, int step, int8_t* y, int64_t n, const RescaleArgs& args);
void to_blocked_1(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill);
void to_blocked_4(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill);
void to_linear_1(const void* x, void* y, int64_t y_stride, int channels, int64_t count);
void to_linear_4(const void* x, void* y, int64_t y_stride, int channels, int64_t count);
void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& args);
void average_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& args);
void max_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& args);
void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& args);
void resize_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& args);

}  // namespace lq::rvv
