// The SSE4.1 rows of the convolution and matrix-product families (x86 before AVX2, from Penryn on). Float products stay
// scalar: their sum is one fused multiply-add a term, which these processors lack.
#include "kernels/conv_kernels.h"
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"

namespace lq {
namespace sse41 {
void conv_s8(const ConvS8Args& args);
void conv_steps_u8(const ConvStepsArgs& args);
void depthwise_s8(const DepthwiseS8Args& args);
void depthwise_taps_u8(const DepthwiseTapsArgs& args);
void widen_s8(const WidenS8Args& args);
void offset_u8(const OffsetU8Args& args);
void interleave_s16(const InterleaveS16Args& args);
}  // namespace sse41

static const KernelRow kRows[] = {
    {"conv_s8_2x16__sse41", "conv_s8", Isa::kSse41, 16,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(sse41::conv_s8) : nullptr},
    {"gemm_s8_2x16__sse41", "gemm_s8", Isa::kSse41, 16,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(sse41::conv_s8) : nullptr},
    {"conv_steps_u8_2x16__sse41", "conv_steps_u8", Isa::kSse41, 16,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(sse41::conv_steps_u8) : nullptr},
    {"gemm_steps_u8_2x16__sse41", "gemm_steps_u8", Isa::kSse41, 16,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(sse41::conv_steps_u8) : nullptr},
    {"depthwise_s8_4x8__sse41", "depthwise_s8", Isa::kSse41, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(sse41::depthwise_s8) : nullptr},
    {"depthwise_taps_u8_4x8__sse41", "depthwise_taps_u8", Isa::kSse41, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(sse41::depthwise_taps_u8) : nullptr},
    {"widen_s8__sse41", "widen_s8", Isa::kSse41, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(sse41::widen_s8) : nullptr},
    {"offset_u8__sse41", "offset_u8", Isa::kSse41, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(sse41::offset_u8) : nullptr},
    {"interleave_s16__sse41", "interleave_s16", Isa::kSse41, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(sse41::interleave_s16) : nullptr},
};

extern const KernelTable kSse41ConvKernels;
const KernelTable kSse41ConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
