// The RISC-V V 1.0 rows, for vectors of any length. The tile's channels in a name are those of 128 bits.
#include "kernels/conv_kernels.h"
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
    {"conv_s8_4x16__rvv", "conv_s8", Isa::kRvv, 16, reinterpret_cast<KernelFn>(rvv::conv_s8)},
    {"gemm_s8_4x16__rvv", "gemm_s8", Isa::kRvv, 16, reinterpret_cast<KernelFn>(rvv::conv_s8)},
    {"conv_s8x4_4x16__rvv", "conv_s8x4", Isa::kRvv, 64, reinterpret_cast<KernelFn>(rvv::conv_s8x4)},
    {"gemm_s8x4_4x16__rvv", "gemm_s8x4", Isa::kRvv, 64, reinterpret_cast<KernelFn>(rvv::conv_s8x4)},
    {"conv_f32_4x16__rvv", "conv_f32", Isa::kRvv, 16, reinterpret_cast<KernelFn>(rvv::conv_f32)},
    {"gemm_f32_4x16__rvv", "gemm_f32", Isa::kRvv, 16, reinterpret_cast<KernelFn>(rvv::conv_f32)},
    {"depthwise_s8x4_4x8__rvv", "depthwise_s8x4", Isa::kRvv, 8, reinterpret_cast<KernelFn>(rvv::depthwise_s8x4)},
    {"depthwise_f32_4x8__rvv", "depthwise_f32", Isa::kRvv, 8, reinterpret_cast<KernelFn>(rvv::depthwise_f32)},
    {"widen_s8__rvv", "widen_s8", Isa::kRvv, 0, reinterpret_cast<KernelFn>(rvv::widen_s8)},
};

extern const KernelTable kRvvConvKernels;
const KernelTable kRvvConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
