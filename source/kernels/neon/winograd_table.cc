// The Advanced SIMD rows of the Winograd families.
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
    {"winograd_input__neon", "winograd_input", Isa::kNeon, 0, reinterpret_cast<KernelFn>(neon::winograd_input)},
    {"winograd_weights__neon", "winograd_weights", Isa::kNeon, 0, reinterpret_cast<KernelFn>(neon::winograd_weights)},
    {"winograd23_s8x1_4x16__neon", "winograd23_s8x1", Isa::kNeon, 16,
     reinterpret_cast<KernelFn>(neon::winograd23_s8x1)},
    {"winograd43_s8x1_4x16__neon", "winograd43_s8x1", Isa::kNeon, 16,
     reinterpret_cast<KernelFn>(neon::winograd43_s8x1)},
    {"winograd_output__neon", "winograd_output", Isa::kNeon, 0, reinterpret_cast<KernelFn>(neon::winograd_output)},
};

extern const KernelTable kNeonWinogradKernels;
const KernelTable kNeonWinogradKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
