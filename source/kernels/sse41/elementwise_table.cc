// The SSE4.1 table of elementwise kernels. Table lookups stay scalar: sixteen byte shuffles for sixteen bytes, with
// more slices than registers, would take longer than sixteen loads.
#include "kernels/scalar/elementwise_scalar.h"
#include "kernels/sse41/elementwise_sse41.h"

namespace lq {

const ElementwiseKernels& elementwise_kernels_sse41() {
  static constexpr Isa kIsa = Isa::kSse41;
  static constexpr ElementwiseKernels kTable = {
      {"quantize_s8__sse41", kIsa, sse41::quantize_s8},
      {"dequantize_s8__sse41", kIsa, sse41::dequantize_s8},
      {"requantize_s8__sse41", kIsa, sse41::requantize_s8},
      {"table_s8__scalar", Isa::kScalar, scalar::table_u8},
      {"add_s8__sse41", kIsa, sse41::add_s8},
      {"mul_s8__sse41", kIsa, sse41::mul_s8},
      {"prelu_s8__sse41", kIsa, sse41::prelu_s8},
      {"to_blocked_b1__sse41", kIsa, sse41::to_blocked_1},
      {"to_blocked_b4__sse41", kIsa, sse41::to_blocked_4},
      {"to_linear_b1__sse41", kIsa, sse41::to_linear_1},
      {"to_linear_b4__sse41", kIsa, sse41::to_linear_4},
      {"move_channels_b1__sse41", kIsa, sse41::move_channels_1},
      {"move_channels_b4__scalar", Isa::kScalar, scalar::move_channels_4},
      {"max_pool_f32__sse41", kIsa, sse41::max_pool_f32},
      {"average_pool_f32__sse41", kIsa, sse41::average_pool_f32},
      {"max_pool_s8__sse41", kIsa, sse41::max_pool_s8},
      {"average_pool_s8__sse41", kIsa, sse41::average_pool_s8},
      {"resize_s8__sse41", kIsa, sse41::resize_s8},
  };
  return kTable;
}

}  // namespace lq
