// Shape inference over a whole model, with folding: the same walk serves the toolchain (unknown dims stay) and a
// session (all input shapes given, so shape arithmetic turns into constants and If into one of its branches).
#include <cstring>

#include "graph/branches.h"
#include "graph/fold_budget.h"
#include "graph/geometry.h"
#include "graph/ops_common.h"
#include "graph/session_shapes.h"

namespace lq {
namespace {

constexpr int kMaxNesting = 64;  // of If in If; verify() allows less

struct Inference {
  ModelIr& model;
  const Evaluator* evaluator;
  FoldBudget* budget;
  bool branch_may_fail;  // infer_session_shapes
};

Status infer_graph(Inference& run, size_t graph_index, int depth);

/// Writes what a shape function found into the graph. A quantized output keeps its own type: fused operators write
/// int8.
Status apply_outputs(Graph& graph, const Node& node, const std::vector<InferContext::Output>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorId id = node.output(i);
    if (id == kNoTensor || !outputs[i].set) continue;
    LQ_RETURN_IF_ERROR(check_shape(outputs[i].shape));
    Tensor& t = graph.tensor(id);
    if (t.quant) {
      t.dtype = t.quant->dtype;
    } else if (outputs[i].dtype != DType::Undefined) {
      t.dtype = outputs[i].dtype;
    }
    t.ranked = outputs[i].ranked;
    t.shape = outputs[i].shape;
    if (t.dim_names.size() != t.shape.size()) t.dim_names.clear();
  }
  return {};
}

/// Makes output 0 an int64 constant.
Status set_int_constant(Graph& graph, const Node& node, const std::vector<int64_t>& values, Shape shape) {
  Tensor& t = graph.tensor(node.outputs[0]);
  LQ_ASSIGN_OR_RETURN(t.data, Bytes::copy_of(values.data(), values.size() * sizeof(int64_t)));
  t.dtype = DType::Int64;
  t.ranked = true;
  t.shape = std::move(shape);
  return {};
}

/// Shape and Size need no value, only the dims they report.
Result<bool> fold_shape_op(Graph& graph, const Node& node) {
  const Tensor& x = graph.tensor(node.inputs[0]);
  if (!x.ranked) return false;
  std::vector<int64_t> values;
  Shape shape;
  if (node.op == Op::Size) {
    if (!is_static(x.shape)) return false;
    values = {element_count(x.shape)};
  } else {
    const auto& a = attrs_as<schema::ShapeAttrsT>(node);
    const SliceRange r = slice_range(int64_t(x.shape.size()), a.start, a.end, 1);
    values.assign(x.shape.begin() + r.start, x.shape.begin() + r.start + r.count);
    if (!is_static(values)) return false;
    shape = {r.count};
  }
  LQ_RETURN_IF_ERROR(set_int_constant(graph, node, values, std::move(shape)));
  return true;
}

/// Quantize and Dequantize carry the model's meaning and stay; control flow and custom code are not values.
bool may_fold(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::QuantizeLinear:
    case Op::DequantizeLinear:
    case Op::Requantize:
    case Op::If:
    case Op::Custom:
    case Op::LayoutToBlocked:
    case Op::LayoutToLinear:
      return false;
    default:
      break;
  }
  for (TensorId id : node.inputs) {
    if (id != kNoTensor && (!graph.tensor(id).is_constant() || graph.tensor(id).quant)) return false;
  }
  return true;
}

/// Bytes of all outputs; nullopt when a shape or type is unknown or an output is quantized.
std::optional<size_t> output_bytes(const Graph& graph, const Node& node) {
  size_t total = 0;
  for (TensorId id : node.outputs) {
    if (id == kNoTensor) continue;
    const Tensor& t = graph.tensor(id);
    if (!t.ranked || !is_static(t.shape) || dtype_size(t.dtype) == 0 || t.quant) return std::nullopt;
    total += size_t(element_count(t.shape)) * dtype_size(t.dtype);  // at most 2^40 elements each: check_shape
  }
  return total;
}

Result<bool> fold_node(Inference& run, Graph& graph, const Node& node) {
  if (node.op == Op::Shape || node.op == Op::Size) return fold_shape_op(graph, node);
  if (!run.evaluator->evaluate || !may_fold(graph, node)) return false;
  const auto bytes = output_bytes(graph, node);
  if (!bytes || !run.budget->take(graph, node, *bytes)) return false;
  std::vector<Bytes> outputs;
  const Status status = run.evaluator->evaluate(run.evaluator->context, run.model, graph, node, outputs);
  if (status.code() == StatusCode::kUnsupported) return false;  // stays a node; whoever executes it will say why
  LQ_RETURN_IF_ERROR(status);
  if (outputs.size() < node.outputs.size()) return internal_error("evaluation gave too few outputs");
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoTensor) continue;
    const Tensor& t = graph.tensor(node.outputs[i]);
    if (outputs[i].size() != size_t(element_count(t.shape)) * dtype_size(t.dtype))
      return internal_error("evaluation gave an output of the wrong size");
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoTensor) continue;
    Bytes& b = outputs[i];
    if (b.present()) {
      graph.tensor(node.outputs[i]).data = std::move(b);
    } else {  // no elements: still a constant
      LQ_ASSIGN_OR_RETURN(graph.tensor(node.outputs[i]).data, Bytes::copy_of(nullptr, 0));
    }
  }
  return true;
}

/// Value of a constant condition.
std::optional<bool> known_condition(const Graph& graph, TensorId id) {
  const Tensor& t = graph.tensor(id);
  if (!t.is_constant() || t.dtype != DType::Bool || t.data.size() != 1) return std::nullopt;
  return t.data.data()[0] != 0;
}

Status check_branches(const ModelIr& model, const Node& node, size_t graph_index) {
  if (node.subgraphs.size() != 2)
    return invalid_argument("needs two branches, has " + std::to_string(node.subgraphs.size()));
  for (int b : node.subgraphs) {
    if (b <= 0 || size_t(b) >= model.graphs.size() || size_t(b) == graph_index)
      return invalid_argument("branch graph " + std::to_string(b) + " does not exist");
    const Graph& branch = model.graphs[size_t(b)];
    if (branch.inputs.size() + 1 != node.inputs.size() || branch.outputs.size() != node.outputs.size()) {
      return invalid_argument("branch '" + branch.name + "' does not have the inputs and outputs of its If");
    }
  }
  if (node.subgraphs[0] == node.subgraphs[1]) return invalid_argument("both branches are one graph");
  for (TensorId id : node.inputs) {
    if (id == kNoTensor) return invalid_argument("a captured value is missing");
  }
  return {};
}

/// Output i of an If: what both branches agree on.
InferContext::Output join(const Tensor& a, const Tensor& b) {
  InferContext::Output out{true, a.ranked && b.ranked && a.shape.size() == b.shape.size(), a.dtype, {}};
  if (!out.ranked) return out;
  for (size_t k = 0; k < a.shape.size(); ++k) out.shape.push_back(a.shape[k] == b.shape[k] ? a.shape[k] : kUnknownDim);
  return out;
}

/// Infers one branch. In a session a branch that does not fit is marked and emptied instead: it is half inferred, so
/// nothing may look at it, and what it nests is no longer reached.
Status infer_branch(Inference& run, size_t index, int depth) {
  if (!run.model.graphs[index].unusable.empty()) return {};  // found in an earlier call
  const Status status = infer_graph(run, index, depth);
  if (status.ok() || !run.branch_may_fail || !concerns_branch_only(status)) return status;
  Graph& branch = run.model.graphs[index];
  branch.unusable = status.message();
  branch.nodes.clear();
  return {};
}

/// Outputs of an If as the branches that can run give them.
Result<std::vector<InferContext::Output>> branch_outputs(const Graph& then, const Graph& otherwise) {
  if (!then.unusable.empty() && !otherwise.unusable.empty()) {
    return invalid_argument("neither branch can run with these input shapes; then: " + then.unusable +
                            "; else: " + otherwise.unusable);
  }
  const Graph& first = then.unusable.empty() ? then : otherwise;
  const Graph& second = otherwise.unusable.empty() ? otherwise : then;  // one alone agrees with itself
  std::vector<InferContext::Output> outputs;
  for (size_t i = 0; i < first.outputs.size(); ++i) {
    const Tensor &a = first.tensor(first.outputs[i]), &b = second.tensor(second.outputs[i]);
    if (a.dtype != b.dtype && a.dtype != DType::Undefined && b.dtype != DType::Undefined) {
      return invalid_argument("output " + std::to_string(i) + " is " + dtype_name(a.dtype) + " in one branch and " +
                              dtype_name(b.dtype) + " in the other");
    }
    outputs.push_back(join(a, b));
  }
  return outputs;
}

Status infer_branches(Inference& run, size_t graph_index, size_t n, int depth) {
  {
    Graph& graph = run.model.graphs[graph_index];
    for (int b : graph.nodes[n].subgraphs) pass_captured_values(graph, graph.nodes[n], run.model.graphs[size_t(b)]);
  }
  const std::vector<int> branches = run.model.graphs[graph_index].nodes[n].subgraphs;
  for (int b : branches) LQ_RETURN_IF_ERROR(infer_branch(run, size_t(b), depth + 1));
  Graph& graph = run.model.graphs[graph_index];
  LQ_ASSIGN_OR_RETURN(const auto outputs,
                      branch_outputs(run.model.graphs[size_t(branches[0])], run.model.graphs[size_t(branches[1])]));
  return apply_outputs(graph, graph.nodes[n], outputs);
}

enum class Outcome { kKept, kFolded, kInlined };

Result<Outcome> infer_node(Inference& run, size_t graph_index, size_t n, int depth) {
  Graph& graph = run.model.graphs[graph_index];
  const Node& node = graph.nodes[n];
  const OpDef* def = find_op(node.op);
  if (!def) return unsupported("unknown operator");
  LQ_RETURN_IF_ERROR(check_node(node, *def));
  InferContext context(graph, node);
  LQ_RETURN_IF_ERROR(def->infer(context));
  LQ_RETURN_IF_ERROR(apply_outputs(graph, node, context.outputs));
  if (is_op_built(Op::If) && node.op == Op::If) {
    LQ_RETURN_IF_ERROR(check_branches(run.model, node, graph_index));
    const auto condition = known_condition(graph, node.inputs[0]);
    if (run.evaluator && condition) {
      const int which = *condition ? 0 : 1;
      const std::string& unusable = run.model.graphs[size_t(node.subgraphs[size_t(which)])].unusable;
      if (!unusable.empty()) return branch_error(which, unusable);  // an earlier call did not know the condition yet
      LQ_RETURN_IF_ERROR(inline_branch(run.model, graph_index, n, which));
      return Outcome::kInlined;
    }
    LQ_RETURN_IF_ERROR(infer_branches(run, graph_index, n, depth));
    return Outcome::kKept;
  }
  if (!run.evaluator) return Outcome::kKept;
  LQ_ASSIGN_OR_RETURN(const bool folded, fold_node(run, graph, node));
  return folded ? Outcome::kFolded : Outcome::kKept;
}

Status infer_graph(Inference& run, size_t graph_index, int depth) {
  if (depth > kMaxNesting) return invalid_argument("If nested more than " + std::to_string(kMaxNesting) + " deep");
  std::vector<bool> folded;  // by node; folded ones leave together at the end
  for (size_t n = 0; n < run.model.graphs[graph_index].nodes.size();) {
    auto outcome = infer_node(run, graph_index, n, depth);
    if (!outcome.ok()) {
      const Graph& graph = run.model.graphs[graph_index];
      return outcome.status().with_context(node_label(graph, graph.nodes[n]));
    }
    if (*outcome == Outcome::kInlined) continue;  // node n is now the first of the branch (or what followed the If)
    folded.push_back(*outcome == Outcome::kFolded);
    ++n;
  }
  std::vector<Node>& nodes = run.model.graphs[graph_index].nodes;
  size_t kept = 0;
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (folded[n]) continue;
    if (kept != n) nodes[kept] = std::move(nodes[n]);
    ++kept;
  }
  nodes.resize(kept);
  return {};
}

Status infer_model(Inference run) {
  if (run.model.graphs.empty()) return invalid_argument("the model has no graph");
  LQ_RETURN_IF_ERROR(infer_graph(run, 0, 0));
  drop_unused_graphs(run.model);
  return {};
}

}  // namespace

Status infer_shapes(ModelIr& model, const Evaluator* evaluator) {
  FoldBudget budget(model);
  return infer_model({model, evaluator, &budget, false});
}

Status infer_session_shapes(ModelIr& model, const Evaluator& evaluator, FoldBudget* budget) {
  FoldBudget own(model);
  return infer_model({model, &evaluator, budget != nullptr ? budget : &own, true});
}

}  // namespace lq
