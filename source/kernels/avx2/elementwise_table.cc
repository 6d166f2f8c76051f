// The AVX2 table of elementwise kernels.
#include "kernels/avx2/elementwise_avx2.h"
#include "kernels/kernels_of_this_build.h"

namespace lq {

const ElementwiseKernels& elementwise_kernels_avx2() {
  static constexpr Isa kIsa = Isa::kAvx2;
  static constexpr ElementwiseKernels kTable = {
      {"quantize_s8__avx2", kIsa, avx2::quantize_s8},
      {"dequantize_s8__avx2", kIsa, avx2::dequantize_s8},
      {"requantize_s8__avx2", kIsa, avx2::requantize_s8},
      {"table_s8__avx2", kIsa, has::kTable ? avx2::table_u8 : nullptr},
      {"add_s8__avx2", kIsa, has::kAdd ? avx2::add_s8 : nullptr},
      {"mul_s8__avx2", kIsa, has::kMul ? avx2::mul_s8 : nullptr},
      {"prelu_s8__avx2", kIsa, has::kPRelu ? avx2::prelu_s8 : nullptr},
      {"to_blocked_b1__avx2", kIsa, avx2::to_blocked_1},
      {"to_blocked_b4__avx2", kIsa, avx2::to_blocked_4},
      {"to_linear_b1__avx2", kIsa, avx2::to_linear_1},
      {"to_linear_b4__avx2", kIsa, avx2::to_linear_4},
      {"move_channels_b1__avx2", kIsa, avx2::move_channels_1},
      {"move_channels_b4__avx2", kIsa, avx2::move_channels_4},
      {"max_pool_f32__avx2", kIsa, has::kMaxPoolFloat ? avx2::max_pool_f32 : nullptr},
      {"average_pool_f32__avx2", kIsa, has::kAveragePoolFloat ? avx2::average_pool_f32 : nullptr},
      {"max_pool_s8__avx2", kIsa, has::kMaxPoolInt8 ? avx2::max_pool_s8 : nullptr},
      {"average_pool_s8__avx2", kIsa, has::kAveragePoolInt8 ? avx2::average_pool_s8 : nullptr},
      {"resize_s8__avx2", kIsa, has::kResizeInt8 ? avx2::resize_s8 : nullptr},
  };
  return kTable;
}

}  // namespace lq
