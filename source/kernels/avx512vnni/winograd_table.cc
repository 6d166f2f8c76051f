// The AVX512-VNNI rows of the Winograd families. Inputs are transformed by AVX2's.
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"
#include "kernels/winograd_kernels.h"

namespace lq {
namespace avx512vnni {
void winograd_weights(const WinogradWeightsArgs& args);
void winograd23_s8(const WinogradProductArgs& args);
void winograd43_s8(const WinogradProductArgs& args);
void winograd_output(const WinogradOutputArgs& args);
}  // namespace avx512vnni

static const KernelRow kRows[] = {
    {"winograd_weights__avx512vnni", "winograd_weights", Isa::kAvx512Vnni, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(avx512vnni::winograd_weights) : nullptr},
    {"winograd23_s8_12x32__avx512vnni", "winograd23_s8", Isa::kAvx512Vnni, 32,
     has::kWinograd ? reinterpret_cast<KernelFn>(avx512vnni::winograd23_s8) : nullptr},
    {"winograd43_s8_12x32__avx512vnni", "winograd43_s8", Isa::kAvx512Vnni, 32,
     has::kWinograd ? reinterpret_cast<KernelFn>(avx512vnni::winograd43_s8) : nullptr},
    {"winograd_output__avx512vnni", "winograd_output", Isa::kAvx512Vnni, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(avx512vnni::winograd_output) : nullptr},
};

extern const KernelTable kAvx512VnniWinogradKernels;
const KernelTable kAvx512VnniWinogradKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
