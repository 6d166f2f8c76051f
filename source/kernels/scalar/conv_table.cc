// The scalar rows of the convolution and matrix-product families.
#include "kernels/conv_kernels.h"
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"

namespace lq {
namespace scalar {
void conv_s8(const ConvS8Args& args);
void conv_u8(const ConvByteArgs& args);
void conv_s8x4(const ConvByteArgs& args);
void conv_s8x8(const ConvByteArgs& args);
void conv_steps_u8(const ConvStepsArgs& args);
void conv_f32(const ConvF32Args& args);
void depthwise_s8(const DepthwiseS8Args& args);
void depthwise_taps_u8(const DepthwiseTapsArgs& args);
void depthwise_f32(const DepthwiseF32Args& args);
void widen_s8(const WidenS8Args& args);
void offset_u8(const OffsetU8Args& args);
void interleave_s16(const InterleaveS16Args& args);
void depthwise_u8(const DepthwiseByteArgs& args);
void depthwise_s8x4(const DepthwiseByteArgs& args);
}  // namespace scalar

static const KernelRow kRows[] = {
    {"depthwise_u8_1x8__scalar", "depthwise_u8", Isa::kScalar, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(scalar::depthwise_u8) : nullptr},
    {"conv_s8_1x16__scalar", "conv_s8", Isa::kScalar, 16,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(scalar::conv_s8) : nullptr},
    {"gemm_s8_1x16__scalar", "gemm_s8", Isa::kScalar, 16,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(scalar::conv_s8) : nullptr},
    {"conv_u8_1x64__scalar", "conv_u8", Isa::kScalar, 64,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(scalar::conv_u8) : nullptr},
    {"gemm_u8_1x64__scalar", "gemm_u8", Isa::kScalar, 64,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(scalar::conv_u8) : nullptr},
    {"conv_s8x4_1x64__scalar", "conv_s8x4", Isa::kScalar, 64,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(scalar::conv_s8x4) : nullptr},
    {"gemm_s8x4_1x64__scalar", "gemm_s8x4", Isa::kScalar, 64,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(scalar::conv_s8x4) : nullptr},
    {"conv_s8x8_1x64__scalar", "conv_s8x8", Isa::kScalar, 64,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(scalar::conv_s8x8) : nullptr},
    {"gemm_s8x8_1x64__scalar", "gemm_s8x8", Isa::kScalar, 64,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(scalar::conv_s8x8) : nullptr},
    {"depthwise_s8x4_1x8__scalar", "depthwise_s8x4", Isa::kScalar, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(scalar::depthwise_s8x4) : nullptr},
    {"conv_steps_u8_1x16__scalar", "conv_steps_u8", Isa::kScalar, 16,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(scalar::conv_steps_u8) : nullptr},
    {"gemm_steps_u8_1x16__scalar", "gemm_steps_u8", Isa::kScalar, 16,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(scalar::conv_steps_u8) : nullptr},
    {"conv_f32_1x16__scalar", "conv_f32", Isa::kScalar, 16,
     has::kConvFloat ? reinterpret_cast<KernelFn>(scalar::conv_f32) : nullptr},
    {"gemm_f32_1x16__scalar", "gemm_f32", Isa::kScalar, 16,
     has::kGemmFloat ? reinterpret_cast<KernelFn>(scalar::conv_f32) : nullptr},
    {"depthwise_s8_1x8__scalar", "depthwise_s8", Isa::kScalar, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(scalar::depthwise_s8) : nullptr},
    {"depthwise_taps_u8_1x8__scalar", "depthwise_taps_u8", Isa::kScalar, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(scalar::depthwise_taps_u8) : nullptr},
    {"depthwise_f32_1x8__scalar", "depthwise_f32", Isa::kScalar, 8,
     has::kDepthwiseFloat ? reinterpret_cast<KernelFn>(scalar::depthwise_f32) : nullptr},
    {"widen_s8__scalar", "widen_s8", Isa::kScalar, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(scalar::widen_s8) : nullptr},
    {"offset_u8__scalar", "offset_u8", Isa::kScalar, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(scalar::offset_u8) : nullptr},
    {"interleave_s16__scalar", "interleave_s16", Isa::kScalar, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(scalar::interleave_s16) : nullptr},
};

extern const KernelTable kScalarConvKernels;
const KernelTable kScalarConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
