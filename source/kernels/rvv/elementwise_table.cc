// The RISC-V V table of elementwise kernels.
#include "kernels/rvv/elementwise_rvv.h"
#include "kernels/scalar/elementwise_scalar.h"

namespace lq {

const ElementwiseKernels& elementwise_kernels_rvv() {
  static constexpr Isa kIsa = Isa::kRvv;
  static constexpr ElementwiseKernels kTable = {
      {"quantize_s8__rvv", kIsa, rvv::quantize_s8},
      {"dequantize_s8__rvv", kIsa, rvv::dequantize_s8},
      {"requantize_s8__rvv", kIsa, rvv::requantize_s8},
      {"table_s8__rvv", kIsa, rvv::table_u8},
      {"add_s8__rvv", kIsa, rvv::add_s8},
      {"mul_s8__rvv", kIsa, rvv::mul_s8},
      {"prelu_s8__rvv", kIsa, rvv::prelu_s8},
      {"to_blocked_b1__rvv", kIsa, rvv::to_blocked_1},
      {"to_blocked_b4__rvv", kIsa, rvv::to_blocked_4},
      {"to_linear_b1__rvv", kIsa, rvv::to_linear_1},
      {"to_linear_b4__rvv", kIsa, rvv::to_linear_4},
      {"move_channels_b1__scalar", Isa::kScalar, scalar::move_channels_1},
      {"move_channels_b4__scalar", Isa::kScalar, scalar::move_channels_4},
      {"max_pool_f32__rvv", kIsa, rvv::max_pool_f32},
      {"average_pool_f32__rvv", kIsa, rvv::average_pool_f32},
      {"max_pool_s8__rvv", kIsa, rvv::max_pool_s8},
      {"average_pool_s8__rvv", kIsa, rvv::average_pool_s8},
      {"resize_s8__rvv", kIsa, rvv::resize_s8},
  };
  return kTable;
}

}  // namespace lq
