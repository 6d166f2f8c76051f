// The AVX2 rows of the Winograd families.
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"
#include "kernels/winograd_kernels.h"

namespace lq {
namespace avx2 {
void winograd_input(const WinogradInputArgs& args);
void winograd_weights(const WinogradWeightsArgs& args);
void winograd23_s8(const WinogradProductArgs& args);
void winograd43_s8(const WinogradProductArgs& args);
void winograd_output(const WinogradOutputArgs& args);
}  // namespace avx2

static const KernelRow kRows[] = {
    {"winograd_input__avx2", "winograd_input", Isa::kAvx2, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(avx2::winograd_input) : nullptr},
    {"winograd_weights__avx2", "winograd_weights", Isa::kAvx2, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(avx2::winograd_weights) : nullptr},
    {"winograd23_s8_6x16__avx2", "winograd23_s8", Isa::kAvx2, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(avx2::winograd23_s8) : nullptr},
    {"winograd43_s8_6x16__avx2", "winograd43_s8", Isa::kAvx2, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(avx2::winograd43_s8) : nullptr},
    {"winograd_output__avx2", "winograd_output", Isa::kAvx2, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(avx2::winograd_output) : nullptr},
};

extern const KernelTable kAvx2WinogradKernels;
const KernelTable kAvx2WinogradKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
