// The rows on sdot (ARMv8.2 with dotprod: Cortex-A55, A75 and later). The rest is neon's.
#include "kernels/conv_kernels.h"
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"

namespace lq {
namespace neon_dotprod {
void conv_s8x4(const ConvByteArgs& args);
void depthwise_s8x4(const DepthwiseByteArgs& args);
}  // namespace neon_dotprod

static const KernelRow kRows[] = {
    {"conv_s8x4_6x16__neon_dotprod", "conv_s8x4", Isa::kNeonDotprod, 16,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(neon_dotprod::conv_s8x4) : nullptr},
    {"gemm_s8x4_6x16__neon_dotprod", "gemm_s8x4", Isa::kNeonDotprod, 16,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(neon_dotprod::conv_s8x4) : nullptr},
    {"depthwise_s8x4_4x8__neon_dotprod", "depthwise_s8x4", Isa::kNeonDotprod, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(neon_dotprod::depthwise_s8x4) : nullptr},
};

extern const KernelTable kNeonDotprodConvKernels;
const KernelTable kNeonDotprodConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
