// The AVX2 table of elementwise kernels.
#include "kernels/avx2/elementwise_avx2.h"

namespace lq {

const ElementwiseKernels& elementwise_kernels_avx2() {
  static constexpr Isa kIsa = Isa::kAvx2;
  static constexpr ElementwiseKernels kTable = {
      {"quantize_s8__avx2", kIsa, avx2::quantize_s8},
      {"dequantize_s8__avx2", kIsa, avx2::dequantize_s8},
      {"requantize_s8__avx2", kIsa, avx2::requantize_s8},
      {"table_s8__avx2", kIsa, avx2::table_u8},
      {"add_s8__avx2", kIsa, avx2::add_s8},
      {"mul_s8__avx2", kIsa, avx2::mul_s8},
      {"prelu_s8__avx2", kIsa, avx2::prelu_s8},
      {"to_blocked_b1__avx2", kIsa, avx2::to_blocked_1},
      {"to_blocked_b4__avx2", kIsa, avx2::to_blocked_4},
      {"to_linear_b1__avx2", kIsa, avx2::to_linear_1},
      {"to_linear_b4__avx2", kIsa, avx2::to_linear_4},
      {"move_channels_b1__avx2", kIsa, avx2::move_channels_1},
      {"move_channels_b4__avx2", kIsa, avx2::move_channels_4},
      {"max_pool_f32__avx2", kIsa, avx2::max_pool_f32},
      {"average_pool_f32__avx2", kIsa, avx2::average_pool_f32},
      {"max_pool_s8__avx2", kIsa, avx2::max_pool_s8},
      {"average_pool_s8__avx2", kIsa, avx2::average_pool_s8},
      {"resize_s8__avx2", kIsa, avx2::resize_s8},
  };
  return kTable;
}

}  // namespace lq
