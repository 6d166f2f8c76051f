// The AVX-VNNI rows of the Winograd families. The transforms are AVX2's.
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"
#include "kernels/winograd_kernels.h"

namespace lq {
namespace avxvnni {
void winograd23_s8(const WinogradProductArgs& args);
void winograd43_s8(const WinogradProductArgs& args);
}  // namespace avxvnni

static const KernelRow kRows[] = {
    {"winograd23_s8_6x16__avxvnni", "winograd23_s8", Isa::kAvxVnni, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(avxvnni::winograd23_s8) : nullptr},
    {"winograd43_s8_6x16__avxvnni", "winograd43_s8", Isa::kAvxVnni, 16,
     has::kWinograd ? reinterpret_cast<KernelFn>(avxvnni::winograd43_s8) : nullptr},
};

extern const KernelTable kAvxVnniWinogradKernels;
const KernelTable kAvxVnniWinogradKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
