// Shape inference for a session: a branch that cannot run is an error only once it is chosen.
#pragma once
#include "graph/fold_budget.h"
#include "graph/graph.h"
#include "graph/op_def.h"

namespace lq {

/// infer_shapes for a session: all input shapes given, the model never written back. Where exactly one branch of an If
/// whose condition stays open fails (a branch per sample rate, the input fits one), that branch loses its nodes, gets
/// `unusable` and the If takes its outputs from the other branch. Both failing is an error, with both reasons. May be
/// called again on its own result, then with one budget for all calls.
Status infer_session_shapes(ModelIr& model, const Evaluator& evaluator, FoldBudget* budget = nullptr);

/// Whether a failure says that the branch does not fit, so that it may wait until the branch is chosen. Lack of memory
/// and faults of our own never wait.
inline bool concerns_branch_only(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kUnsupported;
}

/// "the then branch cannot run with these input shapes: Conv 'c': ..."; which: 0 then, 1 else.
inline Status branch_error(int which, const std::string& reason) {
  return invalid_argument(std::string("the ") + (which == 0 ? "then" : "else") +
                          " branch cannot run with these input shapes: " + reason);
}

}  // namespace lq
