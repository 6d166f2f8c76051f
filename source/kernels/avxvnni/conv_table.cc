// The AVX-VNNI rows: 256-bit vpdpbusd in VEX form (Alder Lake, Sapphire Rapids and later). The rest is AVX2's.
#include "kernels/conv_kernels.h"
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"

namespace lq {
namespace avxvnni {
void conv_u8(const ConvByteArgs& args);
void depthwise_u8(const DepthwiseByteArgs& args);
}  // namespace avxvnni

static const KernelRow kRows[] = {
    {"depthwise_u8_4x8__avxvnni", "depthwise_u8", Isa::kAvxVnni, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(avxvnni::depthwise_u8) : nullptr},
    {"conv_u8_6x16__avxvnni", "conv_u8", Isa::kAvxVnni, 16,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(avxvnni::conv_u8) : nullptr},
    {"gemm_u8_6x16__avxvnni", "gemm_u8", Isa::kAvxVnni, 16,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(avxvnni::conv_u8) : nullptr},
};

extern const KernelTable kAvxVnniConvKernels;
const KernelTable kAvxVnniConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
