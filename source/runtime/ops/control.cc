// If: both branches are planned in advance and share one region of the arena (the step's scratch); run picks one. A
// branch that does not fit the input shapes (one branch a sample rate) is an error only when it is picked.
#include <algorithm>
#include <string>

#include "runtime/ops/tables.h"
#include "runtime/plan.h"

namespace lq {
namespace {

struct IfParams {
  std::unique_ptr<Plan> branches[2];  // then, else; nullptr: cannot run with these shapes
  std::string reason[2];              // why
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
  if (params.branches[chosen]) return params.branches[chosen]->run(*context.pool, nullptr);
  return invalid_argument(std::string("the condition chose the ") + kBranchNames[chosen] +
                          " branch, which cannot run with these input shapes: " + params.reason[chosen]);
}

Status prepare_if(OpPrepare& p) {
  if (p.node.subgraphs.size() != 2) return invalid_argument("If needs two branches");
  if (p.input(0).dtype != DType::Bool || element_count(p.input(0).shape) != 1) {
    return invalid_argument("the condition must be one bool, not " + describe(p.input(0)));
  }
  IfParams& params = p.make_params<IfParams>();
  const PlanOptions options{p.isa, p.threads, &p.packs};
  for (int b = 0; b < 2; ++b) {
    const int index = p.node.subgraphs[size_t(b)];
    const Graph& branch = p.model.graphs[size_t(index)];
    params.reason[b] = branch.unusable;
    if (!branch.unusable.empty()) continue;
    LQ_RETURN_IF_ERROR(check_branch(p, branch, kBranchNames[b]));
    LQ_ASSIGN_OR_RETURN(params.branches[b], Plan::build(p.model, index, options));
    p.step.branches.push_back(params.branches[b].get());
    p.step.scratch_bytes = std::max(p.step.scratch_bytes, params.branches[b]->arena_bytes());
  }
  p.set("if", Isa::kScalar, run_if);
  return {};
}

constexpr OpRow kRows[] = {{Op::If, prepare_if}};

}  // namespace

const OpRowTable kControlRows = {kRows, int(std::size(kRows))};

}  // namespace lq
