// Quantize, Dequantize, R, tables, int8 Add, Sub, Mul, PRelu.
#include "kernels/rvv/elementwise_rvv.h"

namespace lq::rvv {
namespace {

/// The second operand: it runs along, or eight values of it repeat.
template <typename T>
class Second {
 public:
  static constexpr int64_t kMost = 256;  // lanes of a step: a multiple of 8
  Second(const T* b, int step, int64_t n) : b_(b), step_(step) {
    for (int64_t i = 0; step == 0 && i < (n < kMost ? n : kMost); ++i) repeated_[i] = b[i % kBlock];
  }
  const T* at(int64_t i) const { return step_ != 0 ? b_ + i : repeated_; }

 private:
  const T* b_;
  int step_;
  T repeated_[kMost];
};

/// y[i…] = bytes of f(i, lanes), as many lanes at a time as there are, up to Second's.
template <typename F>
[[gnu::always_inline]] inline void for_lanes(int8_t* y, int64_t n, const RoundArgs& round, const F& f) {
  const int64_t vector = int64_t(__riscv_vsetvlmax_e32m8()), most = vector < 256 ? vector : 256;
  for (int64_t i = 0; i < n; i += most) {
    const size_t vl = size_t(n - i < most ? n - i : most);
    __riscv_vse8_v_i8m2(y + i, round_to_bytes(f(i, vl), round, vl), vl);
  }
}

}  // namespace

void quantize_s8(const float* x, int8_t* y, int64_t n, const QuantizeArgs& args) {
  const QuantizeArgs a = args;
  for_lanes(
      y, n, a.round, [&](int64_t i, size_t vl) __attribute__((always_inline)) {
        return __riscv_vfdiv_vf_f32m8(__riscv_vle32_v_f32m8(x + i, vl), a.scale, vl);
      });
}

void dequantize_s8(const int8_t* x, float* y, int64_t n, float scale, int32_t zero_point) {
  for (int64_t i = 0; i < n;) {
    const size_t vl = __riscv_vsetvl_e32m8(size_t(n - i));
    const vfloat32m8_t v = __riscv_vfcvt_f_x_v_f32m8(centred(x + i, zero_point, vl), vl);
    __riscv_vse32_v_f32m8(y + i, __riscv_vfmul_vf_f32m8(v, scale, vl), vl);
    i += int64_t(vl);
  }
}

void requantize_s8(const int8_t* x, int8_t* y, int64_t n, const RescaleArgs& args) {
  const RescaleArgs a = args;
  for_lanes(
      y, n, a.round, [&](int64_t i, size_t vl) __attribute__((always_inline)) {
        return __riscv_vfmul_vf_f32m8(__riscv_vfcvt_f_x_v_f32m8(centred(x + i, a.zero_x, vl), vl), a.multiplier, vl);
      });
}

void table_u8(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table) {
  for (int64_t i = 0; i < n;) {
    const size_t vl = __riscv_vsetvl_e8m8(size_t(n - i));
    __riscv_vse8_v_u8m8(y + i, __riscv_vluxei8_v_u8m8(table, __riscv_vle8_v_u8m8(x + i, vl), vl), vl);
    i += int64_t(vl);
  }
}

void add_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args) {
  const BinaryArgs g = args;
  const Second<int8_t> second(b, b_step, n);
  for_lanes(
      y, n, g.round, [&](int64_t i, size_t vl) __attribute__((always_inline)) {
        const vfloat32m8_t ta =
            __riscv_vfmul_vf_f32m8(__riscv_vfcvt_f_x_v_f32m8(centred(a + i, g.zero_a, vl), vl), g.mul_a, vl);
        const vfloat32m8_t tb =
            __riscv_vfmul_vf_f32m8(__riscv_vfcvt_f_x_v_f32m8(centred(second.at(i), g.zero_b, vl), vl), g.mul_b, vl);
        return __riscv_vfadd_vv_f32m8(ta, tb, vl);
      });
}

void mul_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args) {
  const BinaryArgs g = args;
  const Second<int8_t> second(b, b_step, n);
  for_lanes(
      y, n, g.round, [&](int64_t i, size_t vl) __attribute__((always_inline)) {
        const vint32m8_t p =
            __riscv_vmul_vv_i32m8(centred(a + i, g.zero_a, vl), centred(second.at(i), g.zero_b, vl), vl);
        return __riscv_vfmul_vf_f32m8(__riscv_vfcvt_f_x_v_f32m8(p, vl), g.mul_a, vl);
      });
}

void prelu_s8(const int8_t* x, const float* negative, int step, int8_t* y, int64_t n, const RescaleArgs& args) {
  const RescaleArgs a = args;
  const Second<float> second(negative, step, n);
  for_lanes(
      y, n, a.round, [&](int64_t i, size_t vl) __attribute__((always_inline)) {
        const vint32m8_t acc = centred(x + i, a.zero_x, vl);
        const vbool4_t below = __riscv_vmslt_vx_i32m8_b4(acc, 0, vl);
        const vfloat32m8_t t = __riscv_vfcvt_f_x_v_f32m8(acc, vl),
                           positive = __riscv_vfmul_vf_f32m8(t, a.multiplier, vl);
        return __riscv_vmerge_vvm_f32m8(
            positive, __riscv_vfmul_vv_f32m8(t, __riscv_vle32_v_f32m8(second.at(i), vl), vl), below, vl);
      });
}

}  // namespace lq::rvv
