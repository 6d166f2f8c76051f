// The scalar rows of the Winograd families: the definitions. No layer takes them, see runtime/ops/conv_winograd.cc.
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"
#include "kernels/winograd_kernels.h"

namespace lq {
namespace scalar {
void winograd_input(const WinogradInputArgs& args);
void winograd_weights(const WinogradWeightsArgs& args);
void winograd23_s8(const WinogradProductArgs& args);
void winograd43_s8(const WinogradProductArgs& args);
void winograd23_s8x1(const WinogradProductArgs& args);
void winograd43_s8x1(const WinogradProductArgs& args);
void winograd_output(const WinogradOutputArgs& args);
}  // namespace scalar

static const KernelRow kRows[] = {
    {"winograd_input__scalar", "winograd_input", Isa::kScalar, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(scalar::winograd_input) : nullptr},
    {"winograd_weights__scalar", "winograd_weights", Isa::kScalar, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(scalar::winograd_weights) : nullptr},
    {"winograd23_s8_1x16__scalar", "winograd23_s8", Isa::kScalar, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(scalar::winograd23_s8) : nullptr},
    {"winograd43_s8_1x16__scalar", "winograd43_s8", Isa::kScalar, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(scalar::winograd43_s8) : nullptr},
    {"winograd23_s8x1_1x16__scalar", "winograd23_s8x1", Isa::kScalar, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(scalar::winograd23_s8x1) : nullptr},
    {"winograd43_s8x1_1x16__scalar", "winograd43_s8x1", Isa::kScalar, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(scalar::winograd43_s8x1) : nullptr},
    {"winograd_output__scalar", "winograd_output", Isa::kScalar, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(scalar::winograd_output) : nullptr},
};

extern const KernelTable kScalarWinogradKernels;
const KernelTable kScalarWinogradKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
