// What a model must satisfy before anything trusts it. Files are untrusted: every id, count, size, type and number is
// looked at here, so that passes and runtime may index without asking. What depends on run-time shapes is checked when
// planning.
#include <set>

#include "graph/ops_common.h"
#include "graph/verify_quant.h"

namespace lq {
namespace {

constexpr size_t kMaxGraphs = 1u << 12, kMaxTensors = 1u << 22, kMaxNodes = 1u << 20;
constexpr size_t kMaxNesting = 16;
constexpr int kFirstRuntimeOp = 60000;

std::string tensor_label(const Graph& graph, TensorId id) {
  const std::string& name = graph.tensor(id).name;
  return name.empty() ? "tensor #" + std::to_string(id) : "tensor '" + name + "'";
}

Status check_constant(const Tensor& t) {
  if (!t.ranked || !is_static(t.shape)) return corrupt("a constant needs a known shape");
  const size_t size = dtype_size(t.dtype);
  if (size == 0) return corrupt(std::string("constants of type ") + dtype_name(t.dtype) + " are not supported");
  const size_t wanted = size_t(element_count(t.shape)) * size;  // at most 2^40 · 8: check_shape came first
  if (t.data.size() != wanted) {
    return corrupt("has " + std::to_string(t.data.size()) + " bytes, its shape " + shape_string(t.shape) + " needs " +
                   std::to_string(wanted));
  }
  return {};
}

Status check_tensor(const Tensor& t, ConstantFacts& facts) {
  if (t.dtype > DType::MAX) return corrupt("unknown type " + std::to_string(int(t.dtype)));
  if (!t.ranked && !t.shape.empty()) return corrupt("has a shape but no rank");
  LQ_RETURN_IF_ERROR(check_shape(t.shape));
  if (!t.dim_names.empty() && t.dim_names.size() != t.shape.size())
    return corrupt("dimension names do not match the rank");
  if (t.blocked_axis != -1) return corrupt("a blocked layout cannot be stored");
  if (t.is_constant()) LQ_RETURN_IF_ERROR(check_constant(t));
  if (t.range &&
      !(t.range->min <= t.range->max && t.range->max - t.range->max == 0 && t.range->min - t.range->min == 0)) {
    return corrupt("its range is empty or not finite");
  }
  return t.quant ? check_quant_params(t, facts) : Status();
}

bool valid_id(const Graph& graph, TensorId id) { return id >= 0 && size_t(id) < graph.tensors.size(); }

/// Marks `id` as available; refuses a second source.
Status define(const Graph& graph, TensorId id, std::vector<bool>& defined) {
  if (!valid_id(graph, id)) return corrupt("tensor id " + std::to_string(id) + " does not exist");
  if (defined[size_t(id)]) return corrupt(tensor_label(graph, id) + " is produced twice");
  defined[size_t(id)] = true;
  return {};
}

Status check_inputs(const Graph& graph, bool main, std::vector<bool>& defined) {
  std::vector<bool> is_input(graph.tensors.size());
  std::set<std::string> names;
  for (TensorId id : graph.inputs) {
    if (!valid_id(graph, id)) return corrupt("graph input id " + std::to_string(id) + " does not exist");
    const Tensor& t = graph.tensor(id);
    if (is_input[size_t(id)]) return corrupt(tensor_label(graph, id) + " is listed twice as an input");
    is_input[size_t(id)] = true;
    if (main && t.is_constant()) return corrupt(tensor_label(graph, id) + " is an input and a constant");
    if (main && (t.name.empty() || !names.insert(t.name).second))
      return corrupt("an input has no name, or one that another input has");
    if (main && dtype_size(t.dtype) == 0) return corrupt(tensor_label(graph, id) + ", an input, has no usable type");
    defined[size_t(id)] = true;
  }
  return {};
}

Status check_outputs(const Graph& graph, bool main, const std::vector<bool>& defined) {
  if (graph.outputs.empty()) return corrupt("the graph has no output");
  for (TensorId id : graph.outputs) {
    if (!valid_id(graph, id)) return corrupt("graph output id " + std::to_string(id) + " does not exist");
    if (!defined[size_t(id)]) return corrupt(tensor_label(graph, id) + ", an output, is produced by no node");
    if (main && graph.tensor(id).name.empty()) return corrupt("an output has no name");
  }
  return {};
}

Status check_graph_node(const Graph& graph, const Node& node, std::vector<bool>& defined) {
  // Ids first: even a label looks at the outputs' names.
  for (TensorId id : node.inputs) {
    if (id == kNoTensor) continue;
    if (!valid_id(graph, id)) return corrupt("input id " + std::to_string(id) + " does not exist");
    if (!defined[size_t(id)]) return corrupt("reads " + tensor_label(graph, id) + " before it is produced");
  }
  for (TensorId id : node.outputs) {
    if (id != kNoTensor) LQ_RETURN_IF_ERROR(define(graph, id, defined));
  }
  if (int(node.op) >= kFirstRuntimeOp) return corrupt("this operator cannot be stored");
  const OpDef* def = find_op(node.op);
  if (!def) return corrupt("unknown operator " + std::to_string(int(node.op)));
  LQ_RETURN_IF_ERROR(check_node(node, *def));
  if (node.fused_clamp) return corrupt("a fused clamp cannot be stored");
  return {};
}

Status check_graph(const Graph& graph, bool main, ConstantFacts& facts) {
  if (graph.tensors.size() > kMaxTensors || graph.nodes.size() > kMaxNodes) return corrupt("too many tensors or nodes");
  std::vector<bool> defined(graph.tensors.size());
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const Status s = check_tensor(graph.tensors[i], facts);
    if (!s.ok()) return s.with_context(tensor_label(graph, TensorId(i)));
    defined[i] = graph.tensors[i].is_constant();
  }
  LQ_RETURN_IF_ERROR(check_inputs(graph, main, defined));
  for (const Node& node : graph.nodes) {
    const Status s = check_graph_node(graph, node, defined);
    if (!s.ok()) return s.with_context(node_label(graph, node));
  }
  LQ_RETURN_IF_ERROR(check_outputs(graph, main, defined));
  return check_quantization(graph, facts);
}

/// Branch `b` fits its If: as many inputs as captured values, as many outputs, of the same types and parameters.
Status check_branch(const Graph& parent, const Node& node, const Graph& branch) {
  if (branch.inputs.size() + 1 != node.inputs.size())
    return corrupt("branch '" + branch.name + "' has not as many inputs as the If captures values");
  if (branch.outputs.size() != node.outputs.size())
    return corrupt("branch '" + branch.name + "' has not as many outputs as the If");
  for (size_t k = 0; k < branch.inputs.size(); ++k) {
    const Tensor &from = parent.tensor(node.inputs[k + 1]), &to = branch.tensor(branch.inputs[k]);
    if (from.dtype != to.dtype || from.quant != to.quant) {
      return corrupt("branch '" + branch.name + "' takes '" + to.name + "' as another type than it is captured");
    }
  }
  for (size_t k = 0; k < branch.outputs.size(); ++k) {
    if (node.outputs[k] == kNoTensor) continue;
    const Tensor &inner = branch.tensor(branch.outputs[k]), &outer = parent.tensor(node.outputs[k]);
    if (inner.dtype != outer.dtype || inner.quant || outer.quant) {
      return corrupt("branch '" + branch.name + "' returns '" + inner.name +
                     "' as another type than the If, or quantized");
    }
  }
  return {};
}

/// Every branch graph belongs to one If and following them upwards ends at graph 0, so they form a tree.
Status check_branches(const ModelIr& model) {
  std::vector<size_t> parent(model.graphs.size(), 0);
  std::vector<bool> used(model.graphs.size());
  used[0] = true;
  for (size_t g = 0; g < model.graphs.size(); ++g) {
    for (const Node& node : model.graphs[g].nodes) {
      if (node.op != Op::If) continue;
      const std::string label = node_label(model.graphs[g], node);
      if (node.subgraphs.size() != 2)
        return corrupt(label + ": needs two branches, has " + std::to_string(node.subgraphs.size()));
      for (TensorId id : node.inputs) {
        if (id == kNoTensor) return corrupt(label + ": a captured value is missing");
      }
      for (int b : node.subgraphs) {
        if (b < 0 || size_t(b) >= model.graphs.size() || used[size_t(b)]) {
          return corrupt(label + ": branch graph " + std::to_string(b) + " does not exist or has another use");
        }
        used[size_t(b)] = true;
        parent[size_t(b)] = g;
        LQ_RETURN_IF_ERROR(check_branch(model.graphs[g], node, model.graphs[size_t(b)]).with_context(label));
      }
    }
  }
  for (size_t g = 0; g < model.graphs.size(); ++g) {
    if (!used[g]) return corrupt("graph " + std::to_string(g) + " belongs to no If");
    size_t depth = 0;
    for (size_t up = g; up != 0; up = parent[up]) {
      if (++depth > kMaxNesting) return corrupt("branch graphs are nested too deeply or in a circle");
    }
  }
  return {};
}

}  // namespace

Status verify(const ModelIr& model) {
  if (model.graphs.empty() || model.graphs.size() > kMaxGraphs) return corrupt("the model has no graph, or too many");
  if (model.arithmetic != schema::ArithmeticMode::FloatRequantize) {
    return unsupported("the model asks for integer requantization, which this version does not have");
  }
  ConstantFacts facts(model);
  for (size_t g = 0; g < model.graphs.size(); ++g) {
    const Status s = check_graph(model.graphs[g], g == 0, facts);
    if (s.ok()) continue;
    // One code for all of it: the model is not what it claims to be (an unsupported feature stays one).
    const Status coded = s.code() == StatusCode::kInvalidArgument ? corrupt(s.message()) : s;
    return g == 0 ? coded : coded.with_context("branch '" + model.graphs[g].name + "'");
  }
  return check_branches(model);
}

Status verify_products(const ModelIr& model) {
  ConstantFacts facts(model);
  for (const Graph& graph : model.graphs) {
    if (graph.unusable.empty()) LQ_RETURN_IF_ERROR(check_quantization(graph, facts));
  }
  return {};
}

}  // namespace lq
