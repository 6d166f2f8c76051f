// AVX-VNNI by trapping: a SIGILL handler that decodes vpdpbusd, vpdpbusds, vpdpwssd and vpdpwssds in their VEX form,
// computes them on the registers saved in the signal frame and goes on behind them. For processors without AVX-VNNI;
// and for the same instructions with VEX.W set, which no processor has (with_trapping_encoding), so that all machines
// can test it.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace lq::test {

/// Installs the handler. Anything else that raises SIGILL ends the program as before.
void install_avxvnni_trap();

/// Instructions emulated since the program began.
long trapped_instructions();

/// Makes [begin, end) writable and sets VEX.W of every VEX-encoded VNNI instruction there, so that it traps. `begin`
/// and `end` bound the code of kernels alone: bytes are searched, not instructions. Returns how many, −1 if the system
/// does not allow writing to code.
int with_trapping_encoding(uint8_t* begin, uint8_t* end);

}  // namespace lq::test
