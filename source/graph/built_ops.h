// A selective build (LIBQUANT_OPS): which operators this library can run. Tables leave out what it cannot, so that
// nothing refers to the code of those operators and the linker drops it.
#pragma once
#include "ops_of_this_build.h"

namespace lq {

constexpr bool is_op_built(schema::Op op) {
  if (kEveryOpBuilt) return true;
  for (const schema::Op built : kOpsOfThisBuild) {
    if (op == built) return true;
  }
  return false;
}

/// True if any of these is built: guards a family's table.
template <schema::Op... kOps>
constexpr bool any_op_built() {
  return (is_op_built(kOps) || ...);
}

/// `function` for a row of a constant table, nullptr if this build leaves the operator out.
template <schema::Op kOp, typename Function>
constexpr Function* built(Function* function) {
  return is_op_built(kOp) ? function : nullptr;
}

}  // namespace lq
