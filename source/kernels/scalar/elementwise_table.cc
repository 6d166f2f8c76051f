// The scalar table of elementwise kernels.
#include "kernels/kernels_of_this_build.h"
#include "kernels/scalar/elementwise_scalar.h"

namespace lq {

const ElementwiseKernels& elementwise_kernels_scalar() {
  static constexpr Isa kIsa = Isa::kScalar;
  static constexpr ElementwiseKernels kTable = {
      {"quantize_s8__scalar", kIsa, scalar::quantize_s8},
      {"dequantize_s8__scalar", kIsa, scalar::dequantize_s8},
      {"requantize_s8__scalar", kIsa, scalar::requantize_s8},
      {"table_s8__scalar", kIsa, has::kTable ? scalar::table_u8 : nullptr},
      {"add_s8__scalar", kIsa, has::kAdd ? scalar::add_s8 : nullptr},
      {"mul_s8__scalar", kIsa, has::kMul ? scalar::mul_s8 : nullptr},
      {"prelu_s8__scalar", kIsa, has::kPRelu ? scalar::prelu_s8 : nullptr},
      {"to_blocked_b1__scalar", kIsa, scalar::to_blocked_1},
      {"to_blocked_b4__scalar", kIsa, scalar::to_blocked_4},
      {"to_linear_b1__scalar", kIsa, scalar::to_linear_1},
      {"to_linear_b4__scalar", kIsa, scalar::to_linear_4},
      {"move_channels_b1__scalar", kIsa, scalar::move_channels_1},
      {"move_channels_b4__scalar", kIsa, scalar::move_channels_4},
      {"max_pool_f32__scalar", kIsa, has::kMaxPoolFloat ? scalar::max_pool_f32 : nullptr},
      {"average_pool_f32__scalar", kIsa, has::kAveragePoolFloat ? scalar::average_pool_f32 : nullptr},
      {"max_pool_s8__scalar", kIsa, has::kMaxPoolInt8 ? scalar::max_pool_s8 : nullptr},
      {"average_pool_s8__scalar", kIsa, has::kAveragePoolInt8 ? scalar::average_pool_s8 : nullptr},
      {"resize_s8__scalar", kIsa, has::kResizeInt8 ? scalar::resize_s8 : nullptr},
  };
  return kTable;
}

}  // namespace lq
