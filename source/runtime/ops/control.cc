// If: both branches are planned in advance and share one region of the arena (the step's scratch); run picks one. A
// branch that does not fit the input shapes (one branch a sample rate) is an error only when it is picked.
#include <algorithm>
#include <string>

#include "graph/session_shapes.h"
#include "runtime/ops/tables.h"
#include "runtime/plan.h"

namespace lq {
namespace {

struct IfParams {
  std::unique_ptr<Plan> branches[2];  // then, else; nullptr: cannot run with these shapes
  Status reason[2];                   // why
};

constexpr const char* kBranchNames[2] = {"then", "else"};

std::string describe(const Tensor& t) {
  return std::string(dtype_name(t.dtype)) + (t.ranked ? shape_string(t.shape) : "[unknown rank]");
}

/// A branch writes straight into the If's outputs, so type, shape and quantization must agree with theirs.
Status check_branch(const OpPrepare& p, const Graph& branch, const char* which) {
  if (branch.inputs.size() + 1 != p.node.inputs.size() || branch.outputs.size() != p.node.outputs.size()) {
    return invalid_argument(std::string("the ") + which +
                            " branch takes or gives another number of values than the node");
  }
  for (size_t i = 0; i < branch.outputs.size(); ++i) {
    const Tensor& inner = branch.tensor(branch.outputs[i]);
    if (!p.has_output(i)) continue;
    const Tensor& outer = p.output(i);
    if (inner.ranked && is_static(inner.shape) && inner.dtype == outer.dtype && inner.shape == outer.shape) continue;
    return unsupported(
        std::string("output ") + std::to_string(i) + " is " + describe(outer) + " but the " + which + " branch gives " +
        describe(inner) +
        "; both branches must give the same static shape (fix the condition, or make the branches agree)");
  }
  for (size_t i = 0; i < branch.inputs.size(); ++i) {
    const Tensor& inner = branch.tensor(branch.inputs[i]);
    if (inner.dtype == p.input(i + 1).dtype && inner.shape == p.input(i + 1).shape) continue;
    return internal_error(std::string("captured value '") + inner.name + "' is " + describe(p.input(i + 1)) +
                          " outside and " + describe(inner) + " in the " + which + " branch");
  }
  return {};
}

Status run_if(const Step& step, const RunContext& context) {
  const IfParams& params = step.params_as<IfParams>();
  const int chosen = *context.input<uint8_t>(step, 0) != 0 ? 0 : 1;
  if (params.branches[chosen]) return params.branches[chosen]->run(*context.pool, nullptr, context.cancel);
  return params.reason[chosen].with_context("the condition chose a branch that cannot run");
}

/// Plans one branch. A failure that concerns this branch alone becomes its reason and no error of the If.
Status plan_branch(OpPrepare& p, int which, const PlanOptions& options, IfParams& params) {
  const int index = p.node.subgraphs[size_t(which)];
  const Graph& branch = p.model.graphs[size_t(index)];
  if (!branch.unusable.empty()) {
    params.reason[which] = branch_error(which, branch.unusable);
    return {};
  }
  LQ_RETURN_IF_ERROR(check_branch(p, branch, kBranchNames[which]));
  auto plan = Plan::build(p.model, index, options);
  if (!plan.ok()) {
    params.reason[which] = plan.status().with_context(std::string("the ") + kBranchNames[which] + " branch");
    return concerns_branch_only(plan.status()) ? Status() : params.reason[which];
  }
  params.branches[which] = std::move(*plan);
  p.step.branches.push_back(params.branches[which].get());
  p.step.scratch_bytes = std::max(p.step.scratch_bytes, params.branches[which]->arena_bytes());
  return {};
}

Status prepare_if(OpPrepare& p) {
  if (p.node.subgraphs.size() != 2) return invalid_argument("If needs two branches");
  if (p.input(0).dtype != DType::Bool || element_count(p.input(0).shape) != 1) {
    return invalid_argument("the condition must be one bool, not " + describe(p.input(0)));
  }
  IfParams& params = p.make_params<IfParams>();
  const PlanOptions options{p.isa, p.threads, &p.packs};
  for (int which = 0; which < 2; ++which) LQ_RETURN_IF_ERROR(plan_branch(p, which, options, params));
  if (!params.branches[0] && !params.branches[1]) {
    return Status(params.reason[0].code(),
                  "neither branch can run: " + params.reason[0].message() + "; " + params.reason[1].message());
  }
  p.set("if", Isa::kScalar, run_if);
  return {};
}

constexpr OpRow kRows[] = {{Op::If, prepare_if}};

}  // namespace

const OpRowTable kControlRows = {kRows, int(std::size(kRows))};

}  // namespace lq
