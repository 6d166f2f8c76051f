// The SSE4.1 table of elementwise kernels. Table lookups stay scalar: sixteen byte shuffles for sixteen bytes, with
// more slices than registers, would take longer than sixteen loads.
#include "kernels/kernels_of_this_build.h"
#include "kernels/scalar/elementwise_scalar.h"
#include "kernels/sse41/elementwise_sse41.h"

namespace lq {

const ElementwiseKernels& elementwise_kernels_sse41() {
  static constexpr Isa kIsa = Isa::kSse41;
  static constexpr ElementwiseKernels kTable = {
      {"quantize_s8__sse41", kIsa, sse41::quantize_s8},
      {"dequantize_s8__sse41", kIsa, sse41::dequantize_s8},
      {"requantize_s8__sse41", kIsa, sse41::requantize_s8},
      {"table_s8__scalar", Isa::kScalar, has::kTable ? scalar::table_u8 : nullptr},
      {"add_s8__sse41", kIsa, has::kAdd ? sse41::add_s8 : nullptr},
      {"mul_s8__sse41", kIsa, has::kMul ? sse41::mul_s8 : nullptr},
      {"prelu_s8__sse41", kIsa, has::kPRelu ? sse41::prelu_s8 : nullptr},
      {"to_blocked_b1__sse41", kIsa, sse41::to_blocked_1},
      {"to_blocked_b4__sse41", kIsa, sse41::to_blocked_4},
      {"to_linear_b1__sse41", kIsa, sse41::to_linear_1},
      {"to_linear_b4__sse41", kIsa, sse41::to_linear_4},
      {"move_channels_b1__sse41", kIsa, sse41::move_channels_1},
      {"move_channels_b4__scalar", Isa::kScalar, scalar::move_channels_4},
      {"max_pool_f32__sse41", kIsa, has::kMaxPoolFloat ? sse41::max_pool_f32 : nullptr},
      {"average_pool_f32__sse41", kIsa, has::kAveragePoolFloat ? sse41::average_pool_f32 : nullptr},
      {"max_pool_s8__sse41", kIsa, has::kMaxPoolInt8 ? sse41::max_pool_s8 : nullptr},
      {"average_pool_s8__sse41", kIsa, has::kAveragePoolInt8 ? sse41::average_pool_s8 : nullptr},
      {"resize_s8__sse41", kIsa, has::kResizeInt8 ? sse41::resize_s8 : nullptr},
  };
  return kTable;
}

}  // namespace lq
