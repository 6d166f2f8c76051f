// The scalar table of elementwise kernels.
#include "kernels/scalar/elementwise_scalar.h"

namespace lq {

const ElementwiseKernels& elementwise_kernels_scalar() {
  static constexpr Isa kIsa = Isa::kScalar;
  static constexpr ElementwiseKernels kTable = {
      {"quantize_s8__scalar", kIsa, scalar::quantize_s8},
      {"dequantize_s8__scalar", kIsa, scalar::dequantize_s8},
      {"requantize_s8__scalar", kIsa, scalar::requantize_s8},
      {"table_s8__scalar", kIsa, scalar::table_u8},
      {"add_s8__scalar", kIsa, scalar::add_s8},
      {"mul_s8__scalar", kIsa, scalar::mul_s8},
      {"prelu_s8__scalar", kIsa, scalar::prelu_s8},
      {"to_blocked_b1__scalar", kIsa, scalar::to_blocked_1},
      {"to_blocked_b4__scalar", kIsa, scalar::to_blocked_4},
      {"to_linear_b1__scalar", kIsa, scalar::to_linear_1},
      {"to_linear_b4__scalar", kIsa, scalar::to_linear_4},
      {"move_channels_b1__scalar", kIsa, scalar::move_channels_1},
      {"move_channels_b4__scalar", kIsa, scalar::move_channels_4},
      {"max_pool_f32__scalar", kIsa, scalar::max_pool_f32},
      {"average_pool_f32__scalar", kIsa, scalar::average_pool_f32},
      {"max_pool_s8__scalar", kIsa, scalar::max_pool_s8},
      {"average_pool_s8__scalar", kIsa, scalar::average_pool_s8},
      {"resize_s8__scalar", kIsa, scalar::resize_s8},
  };
  return kTable;
}

}  // namespace lq
