// The AVX2 rows of the convolution and matrix-product families.
#include "kernels/conv_kernels.h"
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"

namespace lq {
namespace avx2 {
void conv_s8(const ConvS8Args& args);
void conv_steps_u8(const ConvStepsArgs& args);
void conv_f32(const ConvF32Args& args);
void depthwise_s8(const DepthwiseS8Args& args);
void depthwise_taps_u8(const DepthwiseTapsArgs& args);
void depthwise_f32(const DepthwiseF32Args& args);
void widen_s8(const WidenS8Args& args);
void offset_u8(const OffsetU8Args& args);
void interleave_s16(const InterleaveS16Args& args);
}  // namespace avx2

static const KernelRow kRows[] = {
    {"conv_s8_4x16__avx2", "conv_s8", Isa::kAvx2, 16,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(avx2::conv_s8) : nullptr},
    {"gemm_s8_4x16__avx2", "gemm_s8", Isa::kAvx2, 16,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(avx2::conv_s8) : nullptr},
    {"conv_steps_u8_6x16__avx2", "conv_steps_u8", Isa::kAvx2, 16,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(avx2::conv_steps_u8) : nullptr},
    {"gemm_steps_u8_6x16__avx2", "gemm_steps_u8", Isa::kAvx2, 16,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(avx2::conv_steps_u8) : nullptr},
    {"conv_f32_6x16__avx2", "conv_f32", Isa::kAvx2, 16,
     has::kConvFloat ? reinterpret_cast<KernelFn>(avx2::conv_f32) : nullptr},
    {"gemm_f32_6x16__avx2", "gemm_f32", Isa::kAvx2, 16,
     has::kGemmFloat ? reinterpret_cast<KernelFn>(avx2::conv_f32) : nullptr},
    {"depthwise_s8_4x8__avx2", "depthwise_s8", Isa::kAvx2, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(avx2::depthwise_s8) : nullptr},
    {"depthwise_taps_u8_4x8__avx2", "depthwise_taps_u8", Isa::kAvx2, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(avx2::depthwise_taps_u8) : nullptr},
    {"depthwise_f32_8x8__avx2", "depthwise_f32", Isa::kAvx2, 8,
     has::kDepthwiseFloat ? reinterpret_cast<KernelFn>(avx2::depthwise_f32) : nullptr},
    {"widen_s8__avx2", "widen_s8", Isa::kAvx2, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(avx2::widen_s8) : nullptr},
    {"offset_u8__avx2", "offset_u8", Isa::kAvx2, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(avx2::offset_u8) : nullptr},
    {"interleave_s16__avx2", "interleave_s16", Isa::kAvx2, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(avx2::interleave_s16) : nullptr},
};

extern const KernelTable kAvx2ConvKernels;
const KernelTable kAvx2ConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
