// A selective build (LIBQUANT_OPS): which operators this library can run, and in which forms. Tables leave out what it
// cannot, so that nothing refers to the code of those operators and the linker drops it.
#pragma once
#include "ops_of_this_build.h"

namespace lq {

/// The forms of an operator this build can run; 0: none, or the operator is not built at all.
constexpr unsigned built_forms(schema::Op op) {
  if (kEveryOpBuilt) return kEveryForm;
  for (const BuiltOp& built : kOpsOfThisBuild) {
    if (op == built.op) return built.forms;
  }
  return 0;
}

/// Is the operator known at all? One without a form is: passes fold it away.
constexpr bool is_op_built(schema::Op op) {
  if (kEveryOpBuilt) return true;
  for (const BuiltOp& built : kOpsOfThisBuild) {
    if (op == built.op) return true;
  }
  return false;
}

/// True if any of these is known: guards a family's table in the graph.
template <schema::Op... kOps>
constexpr bool any_op_built() {
  return (is_op_built(kOps) || ...);
}

/// True if any of these runs in one of the forms: guards code in the runtime.
template <unsigned kForms, schema::Op... kOps>
constexpr bool any_form_built() {
  return (((built_forms(kOps) & kForms) != 0) || ...);
}

/// `function` for a row of a constant table, nullptr if this build cannot run the operator.
template <schema::Op kOp, typename Function>
constexpr Function* built(Function* function) {
  return built_forms(kOp) != 0 ? function : nullptr;
}

}  // namespace lq
