// The RISC-V V table of elementwise kernels.
#include "kernels/kernels_of_this_build.h"
#include "kernels/rvv/elementwise_rvv.h"
#include "kernels/scalar/elementwise_scalar.h"

namespace lq {

const ElementwiseKernels& elementwise_kernels_rvv() {
  static constexpr Isa kIsa = Isa::kRvv;
  static constexpr ElementwiseKernels kTable = {
      {"quantize_s8__rvv", kIsa, rvv::quantize_s8},
      {"dequantize_s8__rvv", kIsa, rvv::dequantize_s8},
      {"requantize_s8__rvv", kIsa, rvv::requantize_s8},
      {"table_s8__rvv", kIsa, has::kTable ? rvv::table_u8 : nullptr},
      {"add_s8__rvv", kIsa, has::kAdd ? rvv::add_s8 : nullptr},
      {"mul_s8__rvv", kIsa, has::kMul ? rvv::mul_s8 : nullptr},
      {"prelu_s8__rvv", kIsa, has::kPRelu ? rvv::prelu_s8 : nullptr},
      {"to_blocked_b1__rvv", kIsa, rvv::to_blocked_1},
      {"to_blocked_b4__rvv", kIsa, rvv::to_blocked_4},
      {"to_linear_b1__rvv", kIsa, rvv::to_linear_1},
      {"to_linear_b4__rvv", kIsa, rvv::to_linear_4},
      {"move_channels_b1__scalar", Isa::kScalar, scalar::move_channels_1},
      {"move_channels_b4__scalar", Isa::kScalar, scalar::move_channels_4},
      {"max_pool_f32__rvv", kIsa, has::kMaxPoolFloat ? rvv::max_pool_f32 : nullptr},
      {"average_pool_f32__rvv", kIsa, has::kAveragePoolFloat ? rvv::average_pool_f32 : nullptr},
      {"max_pool_s8__rvv", kIsa, has::kMaxPoolInt8 ? rvv::max_pool_s8 : nullptr},
      {"average_pool_s8__rvv", kIsa, has::kAveragePoolInt8 ? rvv::average_pool_s8 : nullptr},
      {"resize_s8__rvv", kIsa, has::kResizeInt8 ? rvv::resize_s8 : nullptr},
  };
  return kTable;
}

}  // namespace lq
