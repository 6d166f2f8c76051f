// The RISC-V V rows of the Winograd families.
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"
#include "kernels/winograd_kernels.h"

namespace lq {
namespace rvv {
void winograd_input(const WinogradInputArgs& args);
void winograd_weights(const WinogradWeightsArgs& args);
void winograd23_s8x1(const WinogradProductArgs& args);
void winograd43_s8x1(const WinogradProductArgs& args);
void winograd_output(const WinogradOutputArgs& args);
}  // namespace rvv

static const KernelRow kRows[] = {
    {"winograd_input__rvv", "winograd_input", Isa::kRvv, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(rvv::winograd_input) : nullptr},
    {"winograd_weights__rvv", "winograd_weights", Isa::kRvv, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(rvv::winograd_weights) : nullptr},
    {"winograd23_s8x1_6x16__rvv", "winograd23_s8x1", Isa::kRvv, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(rvv::winograd23_s8x1) : nullptr},
    {"winograd43_s8x1_6x16__rvv", "winograd43_s8x1", Isa::kRvv, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(rvv::winograd43_s8x1) : nullptr},
    {"winograd_output__rvv", "winograd_output", Isa::kRvv, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(rvv::winograd_output) : nullptr},
};

extern const KernelTable kRvvWinogradKernels;
const KernelTable kRvvWinogradKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
