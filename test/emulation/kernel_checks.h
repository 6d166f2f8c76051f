// Every row of a kernel table against the scalar row of its family, bit for bit, where neither the standard library nor
// an operating system may be there: on bare metal in an emulator. The same shapes as test/kernels/conv_kernels_test.cc,
// for the families of the VNNI folders.
#pragma once
#include "kernels/registry.h"

namespace lq::test {

/// Told of each row: how many of its cases differed from the twin; −1: its family has no comparison here, or no twin.
using RowReport = void (*)(const char* kernel, int cases, int failed);

/// Compares each row on `cases` random arguments; returns how many rows failed, 1 if there are none.
int check_rows(const KernelTable& table, int cases, RowReport report);

}  // namespace lq::test
