// The rows on smmla (ARMv8.6, or 8.2 with i8mm: Cortex-A510, A710, X2 and later). The rest is neon_dotprod's.
#include "kernels/conv_kernels.h"
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"

namespace lq {
namespace neon_i8mm {
void conv_s8x8(const ConvByteArgs& args);
}  // namespace neon_i8mm

static const KernelRow kRows[] = {
    {"conv_s8x8_6x16__neon_i8mm", "conv_s8x8", Isa::kNeonI8mm, 16,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(neon_i8mm::conv_s8x8) : nullptr},
    {"gemm_s8x8_6x16__neon_i8mm", "gemm_s8x8", Isa::kNeonI8mm, 16,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(neon_i8mm::conv_s8x8) : nullptr},
};

extern const KernelTable kNeonI8mmConvKernels;
const KernelTable kNeonI8mmConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
