// The Advanced SIMD rows of the Winograd families.
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"
#include "kernels/winograd_kernels.h"

namespace lq {
namespace neon {
void winograd_input(const WinogradInputArgs& args);
void winograd_weights(const WinogradWeightsArgs& args);
void winograd23_s8x1(const WinogradProductArgs& args);
void winograd43_s8x1(const WinogradProductArgs& args);
void winograd_output(const WinogradOutputArgs& args);
}  // namespace neon

static const KernelRow kRows[] = {
    {"winograd_input__neon", "winograd_input", Isa::kNeon, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(neon::winograd_input) : nullptr},
    {"winograd_weights__neon", "winograd_weights", Isa::kNeon, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(neon::winograd_weights) : nullptr},
    {"winograd23_s8x1_4x16__neon", "winograd23_s8x1", Isa::kNeon, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(neon::winograd23_s8x1) : nullptr},
    {"winograd43_s8x1_4x16__neon", "winograd43_s8x1", Isa::kNeon, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(neon::winograd43_s8x1) : nullptr},
    {"winograd_output__neon", "winograd_output", Isa::kNeon, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(neon::winograd_output) : nullptr},
};

extern const KernelTable kNeonWinogradKernels;
const KernelTable kNeonWinogradKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
