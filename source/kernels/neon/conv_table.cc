// The Advanced SIMD rows (every ARMv8 processor, most of ARMv7).
#include "kernels/conv_kernels.h"
#include "kernels/kernels_of_this_build.h"
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
    {"conv_s8x8_4x16__neon", "conv_s8x8", Isa::kNeon, 16,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(neon::conv_s8x8) : nullptr},
    {"gemm_s8x8_4x16__neon", "gemm_s8x8", Isa::kNeon, 16,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(neon::conv_s8x8) : nullptr},
    {"conv_s8_4x16__neon", "conv_s8", Isa::kNeon, 16,
     has::kConvInt16 ? reinterpret_cast<KernelFn>(neon::conv_s8) : nullptr},
    {"gemm_s8_4x16__neon", "gemm_s8", Isa::kNeon, 16,
     has::kGemmInt16 ? reinterpret_cast<KernelFn>(neon::conv_s8) : nullptr},
    {"depthwise_s8x4_2x8__neon", "depthwise_s8x4", Isa::kNeon, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(neon::depthwise_s8x4) : nullptr},
    {"depthwise_s8_1x8__neon", "depthwise_s8", Isa::kNeon, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(neon::depthwise_s8) : nullptr},
    {"widen_s8__neon", "widen_s8", Isa::kNeon, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(neon::widen_s8) : nullptr},
    {"interleave_s16__neon", "interleave_s16", Isa::kNeon, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(neon::interleave_s16) : nullptr},
#if defined(__aarch64__)  // ARMv7's NEON flushes denormals
    {"conv_f32_6x16__neon", "conv_f32", Isa::kNeon, 16,
     has::kConvFloat ? reinterpret_cast<KernelFn>(neon::conv_f32) : nullptr},
    {"gemm_f32_6x16__neon", "gemm_f32", Isa::kNeon, 16,
     has::kGemmFloat ? reinterpret_cast<KernelFn>(neon::conv_f32) : nullptr},
    {"depthwise_f32_4x8__neon", "depthwise_f32", Isa::kNeon, 8,
     has::kDepthwiseFloat ? reinterpret_cast<KernelFn>(neon::depthwise_f32) : nullptr},
#endif
};

extern const KernelTable kNeonConvKernels;
const KernelTable kNeonConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
