// The Advanced SIMD table of elementwise kernels; on ARMv7 some stay scalar (elementwise_neon.h says why).
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
    {"table_s8__neon", kIsa, neon::table_u8},
#else
    {"table_s8__scalar", Isa::kScalar, scalar::table_u8},
#endif
    {"add_s8__neon", kIsa, neon::add_s8},
    {"mul_s8__neon", kIsa, neon::mul_s8},
    {"prelu_s8__neon", kIsa, neon::prelu_s8},
    {"to_blocked_b1__neon", kIsa, neon::to_blocked_1},
    {"to_blocked_b4__neon", kIsa, neon::to_blocked_4},
    {"to_linear_b1__neon", kIsa, neon::to_linear_1},
    {"to_linear_b4__neon", kIsa, neon::to_linear_4},
    {"move_channels_b1__neon", kIsa, neon::move_channels_1},
    {"move_channels_b4__scalar", Isa::kScalar, scalar::move_channels_4},
#if defined(__aarch64__)
    {"max_pool_f32__neon", kIsa, neon::max_pool_f32},
    {"average_pool_f32__neon", kIsa, neon::average_pool_f32},
#else
    {"max_pool_f32__scalar", Isa::kScalar, scalar::max_pool_f32},
    {"average_pool_f32__scalar", Isa::kScalar, scalar::average_pool_f32},
#endif
    {"max_pool_s8__neon", kIsa, neon::max_pool_s8},
    {"average_pool_s8__neon", kIsa, neon::average_pool_s8},
    {"resize_s8__neon", kIsa, neon::resize_s8},
  };
  return kTable;
}

}  // namespace lq
