// The Advanced SIMD table of elementwise kernels; on ARMv7 some stay scalar (elementwise_neon.h says why).
#include "kernels/kernels_of_this_build.h"
#include "kernels/neon/elementwise_neon.h"
#include "kernels/scalar/elementwise_scalar.h"

namespace lq {

const ElementwiseKernels& elementwise_kernels_neon() {
  static constexpr Isa kIsa = Isa::kNeon;
  static constexpr ElementwiseKernels kTable = {
#if defined(__aarch64__)
    {"quantize_s8__neon", kIsa, neon::quantize_s8},
#else
    {"quantize_s8__scalar", Isa::kScalar, scalar::quantize_s8},
#endif
    {"dequantize_s8__neon", kIsa, neon::dequantize_s8},
    {"requantize_s8__neon", kIsa, neon::requantize_s8},
#if defined(__aarch64__)
    {"table_s8__neon", kIsa, has::kTable ? neon::table_u8 : nullptr},
#else
    {"table_s8__scalar", Isa::kScalar, has::kTable ? scalar::table_u8 : nullptr},
#endif
    {"add_s8__neon", kIsa, has::kAdd ? neon::add_s8 : nullptr},
    {"mul_s8__neon", kIsa, has::kMul ? neon::mul_s8 : nullptr},
    {"prelu_s8__neon", kIsa, has::kPRelu ? neon::prelu_s8 : nullptr},
    {"to_blocked_b1__neon", kIsa, neon::to_blocked_1},
    {"to_blocked_b4__neon", kIsa, neon::to_blocked_4},
    {"to_linear_b1__neon", kIsa, neon::to_linear_1},
    {"to_linear_b4__neon", kIsa, neon::to_linear_4},
    {"move_channels_b1__neon", kIsa, neon::move_channels_1},
    {"move_channels_b4__scalar", Isa::kScalar, scalar::move_channels_4},
#if defined(__aarch64__)
    {"max_pool_f32__neon", kIsa, has::kMaxPoolFloat ? neon::max_pool_f32 : nullptr},
    {"average_pool_f32__neon", kIsa, has::kAveragePoolFloat ? neon::average_pool_f32 : nullptr},
#else
    {"max_pool_f32__scalar", Isa::kScalar, has::kMaxPoolFloat ? scalar::max_pool_f32 : nullptr},
    {"average_pool_f32__scalar", Isa::kScalar, has::kAveragePoolFloat ? scalar::average_pool_f32 : nullptr},
#endif
    {"max_pool_s8__neon", kIsa, has::kMaxPoolInt8 ? neon::max_pool_s8 : nullptr},
    {"average_pool_s8__neon", kIsa, has::kAveragePoolInt8 ? neon::average_pool_s8 : nullptr},
    {"resize_s8__neon", kIsa, has::kResizeInt8 ? neon::resize_s8 : nullptr},
  };
  return kTable;
}

}  // namespace lq
