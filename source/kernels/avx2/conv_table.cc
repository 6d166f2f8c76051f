// The AVX2 rows of the convolution and matrix-product families.
#include "kernels/conv_kernels.h"
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
    {"conv_s8_4x16__avx2", "conv_s8", Isa::kAvx2, 16, reinterpret_cast<KernelFn>(avx2::conv_s8)},
    {"gemm_s8_4x16__avx2", "gemm_s8", Isa::kAvx2, 16, reinterpret_cast<KernelFn>(avx2::conv_s8)},
    {"conv_steps_u8_6x16__avx2", "conv_steps_u8", Isa::kAvx2, 16, reinterpret_cast<KernelFn>(avx2::conv_steps_u8)},
    {"gemm_steps_u8_6x16__avx2", "gemm_steps_u8", Isa::kAvx2, 16, reinterpret_cast<KernelFn>(avx2::conv_steps_u8)},
    {"conv_f32_6x16__avx2", "conv_f32", Isa::kAvx2, 16, reinterpret_cast<KernelFn>(avx2::conv_f32)},
    {"gemm_f32_6x16__avx2", "gemm_f32", Isa::kAvx2, 16, reinterpret_cast<KernelFn>(avx2::conv_f32)},
    {"depthwise_s8_4x8__avx2", "depthwise_s8", Isa::kAvx2, 8, reinterpret_cast<KernelFn>(avx2::depthwise_s8)},
    {"depthwise_taps_u8_4x8__avx2", "depthwise_taps_u8", Isa::kAvx2, 8,
     reinterpret_cast<KernelFn>(avx2::depthwise_taps_u8)},
    {"depthwise_f32_8x8__avx2", "depthwise_f32", Isa::kAvx2, 8, reinterpret_cast<KernelFn>(avx2::depthwise_f32)},
    {"widen_s8__avx2", "widen_s8", Isa::kAvx2, 0, reinterpret_cast<KernelFn>(avx2::widen_s8)},
    {"offset_u8__avx2", "offset_u8", Isa::kAvx2, 0, reinterpret_cast<KernelFn>(avx2::offset_u8)},
    {"interleave_s16__avx2", "interleave_s16", Isa::kAvx2, 0, reinterpret_cast<KernelFn>(avx2::interleave_s16)},
};

extern const KernelTable kAvx2ConvKernels;
const KernelTable kAvx2ConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
