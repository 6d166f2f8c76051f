// If: both branches are planned in advance and share one region of the arena (the step's scratch); run picks one.
#include <algorithm>

#include "runtime/ops/tables.h"
#include "runtime/plan.h"

namespace lq {
namespace {

struct IfParams {
  std::unique_ptr<Plan> branches[2];  // then, else
};

std::string describe(const Tensor& t) {
  return std::string(dtype_name(t.dtype)) + (t.ranked ? shape_string(t.shape) : "[unknown rank]");
}

/// A branch writes straight into the If's outputs, so type, shape and quantization must agree with theirs.
Status check_branch(const OpPrepare& p, const Graph& branch, const char* which) {
  if (branch.inputs.size() + 1 != p.node.inputs.size() || branch.outputs.size() != p.node.outputs.size()) {
    return invalid_argument(std::string("the ") + which + " branch takes or gives another number of values than the node");
  }
  for (size_t i = 0; i < branch.outputs.size(); ++i) {
    const Tensor& inner = branch.tensor(branch.outputs[i]);
    if (!p.has_output(i)) continue;
    const Tensor& outer = p.output(i);
    if (inner.ranked && is_static(inner.shape) && inner.dtype == outer.dtype && inner.shape == outer.shape) continue;
    return unsupported(std::string("output ") + std::to_string(i) + " is " + describe(outer) + " but the " + which +
                       " branch gives " + describe(inner) +
                       "; both branches must give the same static shape (fix the condition, or make the branches agree)");
  }
  for (size_t i = 0; i < branch.inputs.size(); ++i) {
    const Tensor& inner = branch.tensor(branch.inputs[i]);
    if (inner.dtype == p.input(i + 1).dtype && inner.shape == p.input(i + 1).shape) continue;
    return internal_error(std::string("captured value '") + inner.name + "' is " + describe(p.input(i + 1)) + " outside and " +
                          describe(inner) + " in the " + which + " branch");
  }
  return {};
}

Status run_if(const Step& step, const RunContext& context) {
  const bool condition = *context.input<uint8_t>(step, 0) != 0;
  return step.branches[condition ? 0 : 1]->run(*context.pool, nullptr);
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
    LQ_RETURN_IF_ERROR(check_branch(p, p.model.graphs[size_t(index)], b == 0 ? "then" : "else"));
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
