#include "runtime/prepare_graph.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "graph/built_ops.h"
#include "graph/op_def.h"
#include "graph/session_shapes.h"
#include "passes/passes.h"
#include "runtime/session.h"

namespace lq {
namespace {

/// Shape inference may turn captured values into constants and a constant condition into its branch, which gives more
/// to infer; each round removes an If or a captured value, so a model needs few.
constexpr int kMaxInferRounds = 16;
std::string dim_label(const Tensor& t, size_t axis) {
  std::string label = "dimension " + std::to_string(axis);
  if (axis < t.dim_names.size() && !t.dim_names[axis].empty()) label += " ('" + t.dim_names[axis] + "')";
  return label;
}

Status check_given_shape(const Tensor& t, const Shape& given) {
  const std::string what =
      "input '" + t.name + "' is " + shape_string(t.shape) + " in the model, " + shape_string(given) + " was given: ";
  if (t.ranked && given.size() != t.shape.size()) {
    return invalid_argument(what + "it needs " + std::to_string(t.shape.size()) + " dimensions");
  }
  for (size_t axis = 0; axis < given.size(); ++axis) {
    if (given[axis] < 1 || given[axis] > InferContext::kMaxDim) {
      return invalid_argument(what + dim_label(t, axis) + " must be at least 1 and at most 2^31");
    }
    if (t.ranked && t.shape[axis] != kUnknownDim && t.shape[axis] != given[axis]) {
      return invalid_argument(what + dim_label(t, axis) + " must be " + std::to_string(t.shape[axis]));
    }
  }
  return {};
}

/// Values of the symbols ("N", "height") that the given shapes decide.
Result<std::map<std::string, int64_t>> symbol_values(const Graph& graph, const std::map<std::string, Shape>& shapes) {
  std::map<std::string, int64_t> values;
  for (TensorId id : graph.inputs) {
    const Tensor& t = graph.tensor(id);
    const auto given = shapes.find(t.name);
    if (given == shapes.end()) continue;
    for (size_t axis = 0; axis < std::min(t.dim_names.size(), given->second.size()); ++axis) {
      if (t.dim_names[axis].empty() || (t.ranked && t.shape[axis] != kUnknownDim)) continue;
      const auto [it, inserted] = values.emplace(t.dim_names[axis], given->second[axis]);
      if (!inserted && it->second != given->second[axis]) {
        return invalid_argument("input '" + t.name + "': " + dim_label(t, axis) + " is " +
                                std::to_string(given->second[axis]) + " here and " + std::to_string(it->second) +
                                " elsewhere; give it one value");
      }
    }
  }
  return values;
}

uint64_t hash_bytes(const uint8_t* data, size_t size) {
  // Eight bytes a turn, FNV-like: folded constants can be megabytes and this runs at every resize.
  constexpr uint64_t kPrime = 0x9E3779B97F4A7C15u;
  uint64_t h = 0xCBF29CE484222325u ^ size;
  for (; size >= 8; data += 8, size -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, data, 8);
    h = (h ^ word) * kPrime;
    h ^= h >> 32;
  }
  for (; size > 0; ++data, --size) h = (h ^ *data) * kPrime;
  return h ^ (h >> 29);
}

std::set<const uint8_t*> constant_addresses(const ModelIr& model) {
  std::set<const uint8_t*> addresses;
  for (const Graph& graph : model.graphs) {
    for (const Tensor& t : graph.tensors) {
      if (t.is_constant()) addresses.insert(t.data.data());
    }
  }
  return addresses;
}

/// A constant made while planning may differ after a resize: its content goes into its name, and so into pack keys.
void name_folded_constants(ModelIr& model, const std::set<const uint8_t*>& original) {
  for (Graph& graph : model.graphs) {
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      Tensor& t = graph.tensors[i];
      if (!t.is_constant() || original.count(t.data.data()) != 0 || is_graph_output(graph, TensorId(i))) continue;
      t.name += '@' + std::to_string(hash_bytes(t.data.data(), t.data.size()));
    }
  }
}

/// All inputs constant, outputs of known size and within the budget.
bool may_fold(const Graph& graph, const Node& node, FoldBudget& budget) {
  if (node.op == Op::If || node.op == Op::Custom || node.inputs.empty()) return false;
  for (TensorId id : node.inputs) {
    if (id != kNoTensor && !graph.tensor(id).is_constant()) return false;
  }
  size_t total = 0;
  for (TensorId id : node.outputs) {
    if (id == kNoTensor) continue;
    const Tensor& t = graph.tensor(id);
    if (!t.ranked || !is_static(t.shape)) return false;
    const Result<size_t> bytes = storage_bytes(t);
    if (!bytes.ok() || __builtin_add_overflow(total, *bytes, &total)) return false;
  }
  return budget.take(graph, node, total);
}

/// Puts an Identity behind graph output `index` so that a node of its own writes it.
void isolate_output(Graph& graph, size_t index) {
  const TensorId source = graph.outputs[index];
  Tensor copy = graph.tensor(source);
  copy.data = Bytes();
  Node node;
  node.op = Op::Identity;
  node.name = copy.name + "/copy";
  if (std::find(graph.inputs.begin(), graph.inputs.end(), source) == graph.inputs.end()) {
    graph.tensor(source).name += "/source";  // the output keeps its name; inputs keep theirs as well
  }
  const TensorId target = graph.add_tensor(std::move(copy));
  node.inputs = {source};
  node.outputs = {target};
  graph.nodes.push_back(std::move(node));
  graph.outputs[index] = target;
}

Status fold_graph(const ModelIr& model, Graph& graph, const Evaluator& evaluator, FoldBudget& budget) {
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    std::vector<Bytes> values;
    Status status = unsupported("not constant");
    if (may_fold(graph, node, budget)) status = evaluator.evaluate(evaluator.context, model, graph, node, values);
    if (status.code() == StatusCode::kUnsupported) {  // stays a node; planning says why if it must
      kept.push_back(std::move(node));
      continue;
    }
    if (!status.ok()) return status.with_context(node_label(graph, node));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNoTensor) graph.tensor(node.outputs[i]).data = values[i];
    }
  }
  graph.nodes = std::move(kept);
  return {};
}

}  // namespace

Status apply_input_shapes(Graph& graph, const std::map<std::string, Shape>& shapes) {
  for (const auto& [name, shape] : shapes) {
    const bool known = std::any_of(graph.inputs.begin(), graph.inputs.end(),
                                   [&](TensorId id) { return graph.tensor(id).name == name; });
    if (known) continue;
    std::string names;
    for (TensorId id : graph.inputs) names += (names.empty() ? "'" : ", '") + graph.tensor(id).name + "'";
    return not_found("a shape was given for '" + name + "', but the model's inputs are: " + names);
  }
  LQ_ASSIGN_OR_RETURN(const auto symbols, symbol_values(graph, shapes));
  for (TensorId id : graph.inputs) {
    Tensor& t = graph.tensor(id);
    const auto given = shapes.find(t.name);
    if (given != shapes.end()) {
      LQ_RETURN_IF_ERROR(check_given_shape(t, given->second));
      t.shape = given->second;
      t.ranked = true;
      continue;
    }
    if (!t.ranked) return invalid_argument("input '" + t.name + "' has no shape in the model; give one (NAME:D0,D1,…)");
    const Shape original = t.shape;
    for (size_t axis = 0; axis < t.shape.size(); ++axis) {
      if (t.shape[axis] != kUnknownDim) continue;
      const auto symbol = axis < t.dim_names.size() ? symbols.find(t.dim_names[axis]) : symbols.end();
      if (symbol != symbols.end() && !symbol->first.empty()) {
        t.shape[axis] = symbol->second;
      } else if (axis == 0) {
        t.shape[axis] = 1;  // a free batch
      } else {
        return invalid_argument("input '" + t.name + "' " + shape_string(original) + ": " + dim_label(t, axis) +
                                " is free; give the input's full shape (" + t.name + ":D0,D1,…)");
      }
    }
  }
  return {};
}

bool sink_constants(ModelIr& model) {
  if (!is_op_built(Op::If)) return false;
  std::vector<int> uses(model.graphs.size(), 0);
  for (const Graph& graph : model.graphs) {
    for (const Node& node : graph.nodes) {
      for (int s : node.subgraphs) ++uses[size_t(s)];
    }
  }
  bool changed = false;
  for (Graph& graph : model.graphs) {
    for (Node& node : graph.nodes) {
      const bool private_branches =
          std::all_of(node.subgraphs.begin(), node.subgraphs.end(), [&](int s) { return uses[size_t(s)] == 1; });
      if (node.op != Op::If || !private_branches) continue;
      for (size_t i = node.inputs.size(); i-- > 1;) {  // [0] is the condition
        if (!graph.tensor(node.inputs[i]).is_constant()) continue;
        for (int s : node.subgraphs) {
          Graph& branch = model.graphs[size_t(s)];
          const Tensor& outer = graph.tensor(node.inputs[i]);
          Tensor& inner = branch.tensor(branch.inputs[i - 1]);
          inner.data = outer.data;
          inner.dtype = outer.dtype;
          inner.shape = outer.shape;
          inner.ranked = outer.ranked;
          inner.quant = outer.quant;
          branch.inputs.erase(branch.inputs.begin() + std::ptrdiff_t(i - 1));
        }
        node.inputs.erase(node.inputs.begin() + std::ptrdiff_t(i));
        changed = true;
      }
    }
  }
  return changed;
}

Status fold_constants(ModelIr& model, const Evaluator& evaluator, FoldBudget& budget) {
  for (size_t g = 0; g < model.graphs.size(); ++g) {
    Graph& graph = model.graphs[g];
    const Status status = fold_graph(model, graph, evaluator, budget);
    if (status.ok()) continue;
    if (g == 0 || !concerns_branch_only(status)) return status;
    graph.unusable = status.message();  // an error only when the branch is chosen
    graph.nodes.clear();
  }
  return {};
}

void isolate_outputs(ModelIr& model) {
  for (size_t g = 0; g < model.graphs.size(); ++g) {
    Graph& graph = model.graphs[g];
    if (!graph.unusable.empty()) continue;
    std::set<TensorId> seen(graph.inputs.begin(), graph.inputs.end());
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const TensorId id = graph.outputs[i];
      if (!seen.insert(id).second || (g > 0 && graph.tensor(id).is_constant())) isolate_output(graph, i);
    }
    for (Node& node : graph.nodes) {
      if (node.op != Op::If) continue;
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i] != kNoTensor) continue;
        const bool then_runs = model.graphs[size_t(node.subgraphs[0])].unusable.empty();
        const Graph& branch = model.graphs[size_t(node.subgraphs[then_runs ? 0 : 1])];
        Tensor unused = branch.tensor(branch.outputs[i]);  // same type and shape, nobody reads it
        unused.data = Bytes();
        unused.name += "/unused";
        node.outputs[i] = graph.add_tensor(std::move(unused));
      }
    }
  }
}

Status prepare_graph(ModelIr& model, const std::map<std::string, Shape>& input_shapes, const Evaluator& evaluator) {
  const std::set<const uint8_t*> original = constant_addresses(model);
  FoldBudget budget(model);
  const bool has_branches = is_op_built(Op::If) && model.graphs.size() > 1;
  LQ_RETURN_IF_ERROR(apply_input_shapes(model.main(), input_shapes));
  sink_constants(model);
  for (int round = 0; round < kMaxInferRounds; ++round) {
    LQ_RETURN_IF_ERROR(infer_session_shapes(model, evaluator, &budget));
    if (!sink_constants(model)) break;
  }
  for (Graph& graph : model.graphs) remove_dead(graph);
  if (has_branches) LQ_RETURN_IF_ERROR(verify_products(model));
  LQ_RETURN_IF_ERROR(passes::fuse_qdq(model));
  LQ_RETURN_IF_ERROR(fold_constants(model, evaluator, budget));
  LQ_RETURN_IF_ERROR(passes::fuse_activation(model));
  LQ_RETURN_IF_ERROR(passes::fuse_channel_shuffle(model));
  isolate_outputs(model);
  for (Graph& graph : model.graphs) remove_dead(graph);
  name_folded_constants(model, original);
  return passes::assign_layout(model);
}

}  // namespace lq
