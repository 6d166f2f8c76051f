// Every kernel of this build, one row each: what prepare chooses from and what tests and benchmarks iterate.
// Plain data and no templates here: the tables of the ISA folders include this file.
#pragma once
#include "kernels/kernel_types.h"

namespace lq {

/// A kernel's address; cast back to the signature of its family (conv_kernels.h …) before the call.
using KernelFn = void (*)();

struct KernelRow {
  const char* name;    // what --profile prints, e.g. "conv_s8_4x16__avx2"
  const char* family;  // same arguments, same result bits, e.g. "conv_s8"
  Isa isa;
  int panel_width;  // products: most output channels of one call; 0: not a product
  KernelFn fn;      // nullptr: a selective build leaves the family out (kernels_of_this_build.h)
};

struct KernelTable {
  const KernelRow* rows;
  int count;
};

/// The tables of this build. Add a family: define its table in the ISA's folder and list it in registry.cc.
const KernelTable* const* kernel_tables(int* count);

/// The family's row for `isa`, or of the next ISA it includes (fallback_isa), down to the scalar twin; nullptr if the
/// family doesn't exist or a selective build leaves it out.
const KernelRow* find_kernel(const char* family, Isa isa);

}  // namespace lq
