// The Advanced SIMD rows (every ARMv8 processor, most of ARMv7).
#include "kernels/conv_kernels.h"
#include "kernels/registry.h"

namespace lq {
namespace neon {
void conv_s8(const ConvS8Args& args);
void conv_s8x8(const ConvByteArgs& args);
void depthwise_s8x4(const DepthwiseByteArgs& args);
void depthwise_s8(const DepthwiseS8Args& args);
void widen_s8(const WidenS8Args& args);
void interleave_s16(const InterleaveS16Args& args);
#if defined(__aarch64__)
void conv_f32(const ConvF32Args& args);
void depthwise_f32(const DepthwiseF32Args& args);
#endif
}  // namespace neon

static const KernelRow kRows[] = {
    {"conv_s8x8_4x16__neon", "conv_s8x8", Isa::kNeon, 16, reinterpret_cast<KernelFn>(neon::conv_s8x8)},
    {"gemm_s8x8_4x16__neon", "gemm_s8x8", Isa::kNeon, 16, reinterpret_cast<KernelFn>(neon::conv_s8x8)},
    {"conv_s8_4x16__neon", "conv_s8", Isa::kNeon, 16, reinterpret_cast<KernelFn>(neon::conv_s8)},
    {"gemm_s8_4x16__neon", "gemm_s8", Isa::kNeon, 16, reinterpret_cast<KernelFn>(neon::conv_s8)},
    {"depthwise_s8x4_2x8__neon", "depthwise_s8x4", Isa::kNeon, 8, reinterpret_cast<KernelFn>(neon::depthwise_s8x4)},
    {"depthwise_s8_1x8__neon", "depthwise_s8", Isa::kNeon, 8, reinterpret_cast<KernelFn>(neon::depthwise_s8)},
    {"widen_s8__neon", "widen_s8", Isa::kNeon, 0, reinterpret_cast<KernelFn>(neon::widen_s8)},
    {"interleave_s16__neon", "interleave_s16", Isa::kNeon, 0, reinterpret_cast<KernelFn>(neon::interleave_s16)},
#if defined(__aarch64__)  // ARMv7's NEON flushes denormals
    {"conv_f32_6x16__neon", "conv_f32", Isa::kNeon, 16, reinterpret_cast<KernelFn>(neon::conv_f32)},
    {"gemm_f32_6x16__neon", "gemm_f32", Isa::kNeon, 16, reinterpret_cast<KernelFn>(neon::conv_f32)},
    {"depthwise_f32_4x8__neon", "depthwise_f32", Isa::kNeon, 8, reinterpret_cast<KernelFn>(neon::depthwise_f32)},
#endif
};

extern const KernelTable kNeonConvKernels;
const KernelTable kNeonConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
