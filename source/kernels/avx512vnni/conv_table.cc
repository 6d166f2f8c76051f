// The AVX512-VNNI rows (Ice Lake, Zen 4 and later). The rest is AVX2's.
#include "kernels/conv_kernels.h"
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"

namespace lq {
namespace avx512vnni {
void conv_u8(const ConvByteArgs& args);
void offset_u8(const OffsetU8Args& args);
void depthwise_u8(const DepthwiseByteArgs& args);
}  // namespace avx512vnni

static const KernelRow kRows[] = {
    {"depthwise_u8_8x8__avx512vnni", "depthwise_u8", Isa::kAvx512Vnni, 8,
     has::kDepthwiseInt8 ? reinterpret_cast<KernelFn>(avx512vnni::depthwise_u8) : nullptr},
    {"conv_u8_6x64__avx512vnni", "conv_u8", Isa::kAvx512Vnni, 64,
     has::kConvInt8 ? reinterpret_cast<KernelFn>(avx512vnni::conv_u8) : nullptr},
    {"gemm_u8_6x64__avx512vnni", "gemm_u8", Isa::kAvx512Vnni, 64,
     has::kGemmInt8 ? reinterpret_cast<KernelFn>(avx512vnni::conv_u8) : nullptr},
    {"offset_u8__avx512vnni", "offset_u8", Isa::kAvx512Vnni, 0,
     has::kProductInt8 ? reinterpret_cast<KernelFn>(avx512vnni::offset_u8) : nullptr},
};

extern const KernelTable kAvx512VnniConvKernels;
const KernelTable kAvx512VnniConvKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
