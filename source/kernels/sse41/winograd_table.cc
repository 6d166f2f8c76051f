// The SSE4.1 rows of the Winograd families.
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"
#include "kernels/winograd_kernels.h"

namespace lq {
namespace sse41 {
void winograd_input(const WinogradInputArgs& args);
void winograd_weights(const WinogradWeightsArgs& args);
void winograd23_s8(const WinogradProductArgs& args);
void winograd43_s8(const WinogradProductArgs& args);
void winograd_output(const WinogradOutputArgs& args);
}  // namespace sse41

static const KernelRow kRows[] = {
    {"winograd_input__sse41", "winograd_input", Isa::kSse41, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(sse41::winograd_input) : nullptr},
    {"winograd_weights__sse41", "winograd_weights", Isa::kSse41, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(sse41::winograd_weights) : nullptr},
    {"winograd23_s8_2x16__sse41", "winograd23_s8", Isa::kSse41, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(sse41::winograd23_s8) : nullptr},
    {"winograd43_s8_2x16__sse41", "winograd43_s8", Isa::kSse41, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(sse41::winograd43_s8) : nullptr},
    {"winograd_output__sse41", "winograd_output", Isa::kSse41, 0,
     has::kWinograd ? reinterpret_cast<KernelFn>(sse41::winograd_output) : nullptr},
};

extern const KernelTable kSse41WinogradKernels;
const KernelTable kSse41WinogradKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
