// A row of a Winograd family against its scalar twin, for the walk over the registry in conv_kernels_test.cc.
#pragma once
#include "kernels/registry.h"
#include "layer_harness.h"

namespace lq::test {

/// One random comparison; fails the running test on a difference.
void compare_winograd(const KernelRow& row, const KernelRow& scalar, Random& r);

}  // namespace lq::test
