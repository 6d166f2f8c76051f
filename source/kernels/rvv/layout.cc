// Layout conversion: a channel is a column of the blocks, one strided access.
#include "kernels/rvv/elementwise_rvv.h"

namespace lq::rvv {

void to_blocked_1(const void* xv, int64_t x_stride, int channels, void* yv, int64_t count, uint32_t fill) {
  const uint8_t* x = static_cast<const uint8_t*>(xv);
  uint8_t* y = static_cast<uint8_t*>(yv);
  for (int64_t i = 0; i < count;) {
    const size_t vl = __riscv_vsetvl_e8m8(size_t(count - i));
    for (int c = 0; c < kBlock; ++c) {
      const vuint8m8_t v =
          c < channels ? __riscv_vle8_v_u8m8(x + c * x_stride + i, vl) : __riscv_vmv_v_x_u8m8(uint8_t(fill), vl);
      __riscv_vsse8_v_u8m8(y + i * kBlock + c, kBlock, v, vl);
    }
    i += int64_t(vl);
  }
}

void to_blocked_4(const void* xv, int64_t x_stride, int channels, void* yv, int64_t count, uint32_t fill) {
  const uint32_t* x = static_cast<const uint32_t*>(xv);
  uint32_t* y = static_cast<uint32_t*>(yv);
  for (int64_t i = 0; i < count;) {
    const size_t vl = __riscv_vsetvl_e32m8(size_t(count - i));
    for (int c = 0; c < kBlock; ++c) {
      const vuint32m8_t v =
          c < channels ? __riscv_vle32_v_u32m8(x + c * x_stride + i, vl) : __riscv_vmv_v_x_u32m8(fill, vl);
      __riscv_vsse32_v_u32m8(y + i * kBlock + c, kBlock * 4, v, vl);
    }
    i += int64_t(vl);
  }
}

void to_linear_1(const void* xv, void* yv, int64_t y_stride, int channels, int64_t count) {
  const uint8_t* x = static_cast<const uint8_t*>(xv);
  uint8_t* y = static_cast<uint8_t*>(yv);
  for (int64_t i = 0; i < count;) {
    const size_t vl = __riscv_vsetvl_e8m8(size_t(count - i));
    for (int c = 0; c < channels; ++c)
      __riscv_vse8_v_u8m8(y + c * y_stride + i, __riscv_vlse8_v_u8m8(x + i * kBlock + c, kBlock, vl), vl);
    i += int64_t(vl);
  }
}

void to_linear_4(const void* xv, void* yv, int64_t y_stride, int channels, int64_t count) {
  const uint32_t* x = static_cast<const uint32_t*>(xv);
  uint32_t* y = static_cast<uint32_t*>(yv);
  for (int64_t i = 0; i < count;) {
    const size_t vl = __riscv_vsetvl_e32m8(size_t(count - i));
    for (int c = 0; c < channels; ++c)
      __riscv_vse32_v_u32m8(y + c * y_stride + i, __riscv_vlse32_v_u32m8(x + i * kBlock + c, kBlock * 4, vl), vl);
    i += int64_t(vl);
  }
}

}  // namespace lq::rvv
