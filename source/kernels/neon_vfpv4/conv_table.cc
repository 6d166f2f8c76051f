// What VFPv4 (Cortex-A7, A15 and later, and every 64-bit processor in 32-bit mode) adds to ARMv7's NEON: floats.
#include "kernels/conv_kernels.h"
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"

namespace lq {
namespace neon_vfpv4 {
void conv_f32(const ConvF32Args& args);
void depthwise_f32(const DepthwiseF32Args& args);
}  // namespace neon_vfpv4

static const KernelRow kRows[] = {
    {"conv_f32_4x4__neon_vfpv4", "conv_f32", Isa::kNeonVfpv4, 16,
     has::kConvFloat ? reinterpret_cast<KernelFn>(neon_vfpv4::conv_f32) : nullptr},
    {"gemm_f32_4x4__neon_vfpv4", "gemm_f32", Isa::kNeonVfpv4, 16,
     has::kGemmFloat ? reinterpret_cast<KernelFn>(neon_vfpv4::conv_f32) : nullptr},
    {"depthwise_f32_1x4__neon_vfpv4", "depthwise_f32", Isa::kNeonVfpv4, 8,
     has::kDepthwiseFloat ? reinterpret_cast<KernelFn>(neon_vfpv4::depthwise_f32) : nullptr},
};

extern const KernelTable kNeonVfpv4ConvKernels;
const KernelTable kNeonVfpv4ConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
