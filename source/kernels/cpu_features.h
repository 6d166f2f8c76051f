// What the processor and its operating system can execute, asked once by cpuid.
#pragma once
#include "kernels/kernel_types.h"

namespace lq {

/// This library was built with kernels of `isa`.
bool is_isa_built(Isa isa);
/// The processor has the instructions and the operating system saves their registers.
bool is_isa_supported(Isa isa);
/// The fastest ISA that is built and supported. Scalar always is.
Isa best_isa();
/// The ISA whose kernels a processor with `isa` also runs, taken where `isa` has no kernel of its own; scalar in the
/// end.
Isa fallback_isa(Isa isa);
/// Bits of a vector register of RISC-V V, if the processor has it; otherwise 0.
int rvv_vector_bits();

}  // namespace lq
