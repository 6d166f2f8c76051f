// The RISC-V V 1.0 rows, for vectors of any length. The tile's channels in a name are those of 128 bits.
#include "kernels/conv_kernels.h"
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"

namespace lq {
namespace rvv {
void conv_s8(const ConvS8Args& args);
void conv_s8x4(const ConvByteArgs& args);
void conv_f32(const ConvF32Args& args);
void depthwise_s8x4(const DepthwiseByteArgs& args);
void depthwise_f32(const DepthwiseF32Args& args);
void widen_s8(const WidenS8Args& args);
}  // namespace rvv

static const KernelRow kRows[] = {
    {"conv_s8_4x16__rvv", "conv_s8", Isa::kRvv, 16,
     has::kConvInt16 ? reinterpret_cast<KernelFn>(rvv::conv_s8) : nullptr},
    {"gemm_s8_4x16__rvv", "gemm_s8", Isa::kRvv, 16,
     has::kGemmInt16 ? reinterpret_cast<KernelFn>(rvv::conv_s8) : nullptr},
    {"conv_s8x4_4x16__rvv", "conv_s8x4", Isa::kRvv, 64,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(rvv::conv_s8x4) : nullptr},
    {"gemm_s8x4_4x16__rvv", "gemm_s8x4", Isa::kRvv, 64,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(rvv::conv_s8x4) : nullptr},
    {"conv_f32_4x16__rvv", "conv_f32", Isa::kRvv, 16,
     has::kConvFloat ? reinterpret_cast<KernelFn>(rvv::conv_f32) : nullptr},
    {"gemm_f32_4x16__rvv", "gemm_f32", Isa::kRvv, 16,
     has::kGemmFloat ? reinterpret_cast<KernelFn>(rvv::conv_f32) : nullptr},
    {"depthwise_s8x4_4x8__rvv", "depthwise_s8x4", Isa::kRvv, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(rvv::depthwise_s8x4) : nullptr},
    {"depthwise_f32_4x8__rvv", "depthwise_f32", Isa::kRvv, 8,
     has::kDepthwiseFloat ? reinterpret_cast<KernelFn>(rvv::depthwise_f32) : nullptr},
    {"widen_s8__rvv", "widen_s8", Isa::kRvv, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(rvv::widen_s8) : nullptr},
};

extern const KernelTable kRvvConvKernels;
const KernelTable kRvvConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
