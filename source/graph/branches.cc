#include "graph/branches.h"

#include <iterator>

namespace lq {

void pass_captured_values(const Graph& parent, const Node& node, Graph& branch) {
  for (size_t k = 0; k < branch.inputs.size(); ++k) {
    const Tensor& from = parent.tensor(node.inputs[k + 1]);
    Tensor& to = branch.tensor(branch.inputs[k]);
    to.dtype = from.dtype;
    to.ranked = from.ranked;
    to.shape = from.shape;
    to.dim_names = from.dim_names;
    to.quant = from.quant;
    if (from.is_constant()) to.data = from.data;  // shared, not copied
  }
}

namespace {

/// A branch on its way into its parent: where each of its tensors ends up.
struct Transfer {
  Graph& parent;
  Graph& branch;
  std::vector<TensorId> map;
  TensorId at(TensorId id) {
    if (id == kNoTensor) return id;
    TensorId& target = map[size_t(id)];
    if (target == kNoTensor) target = parent.add_tensor(std::move(branch.tensor(id)));
    return target;
  }
};

void replace_uses(Graph& graph, TensorId from, TensorId to) {
  for (Node& node : graph.nodes) {
    for (TensorId& id : node.inputs) {
      if (id == from) id = to;
    }
  }
}

/// Connects output `out` of the If to what the branch returns. Returns a node to append where a copy is needed: the
/// value is one the parent has already, or one constant, and `out` must exist under its own name.
std::optional<Node> connect_output(Transfer& t, TensorId out, TensorId returned) {
  const Tensor& value = t.branch.tensor(returned);
  const bool mapped = t.map[size_t(returned)] != kNoTensor;
  if (!mapped && value.is_constant()) {
    Tensor& target = t.parent.tensor(out);
    target.dtype = value.dtype;
    target.ranked = value.ranked;
    target.shape = value.shape;
    target.data = value.data;
    target.quant = value.quant;
    return std::nullopt;
  }
  if (!mapped) {
    t.map[size_t(returned)] = out;  // produced in the branch: it takes over the parent's tensor
    t.parent.tensor(out).quant = value.quant;
    return std::nullopt;
  }
  const TensorId source = t.at(returned);
  replace_uses(t.parent, out, source);
  if (!is_graph_output(t.parent, out)) return std::nullopt;
  Node copy;
  copy.op = Op::Identity;
  copy.inputs = {source};
  copy.outputs = {out};
  return copy;
}

}  // namespace

Status inline_branch(ModelIr& model, size_t parent_index, size_t n, int which) {
  Graph& parent = model.graphs[parent_index];
  const Node node = std::move(parent.nodes[n]);
  Graph branch = std::move(model.graphs[size_t(node.subgraphs[size_t(which)])]);
  for (int b : node.subgraphs) model.graphs[size_t(b)] = Graph();

  Transfer transfer{parent, branch, std::vector<TensorId>(branch.tensors.size(), kNoTensor)};
  for (size_t k = 0; k < branch.inputs.size(); ++k) transfer.map[size_t(branch.inputs[k])] = node.inputs[k + 1];
  // The If's place is empty meanwhile: replace_uses must not see it.
  parent.nodes[n] = Node();
  std::vector<Node> copies;
  for (size_t i = 0; i < branch.outputs.size(); ++i) {
    if (node.outputs[i] == kNoTensor) continue;
    if (auto copy = connect_output(transfer, node.outputs[i], branch.outputs[i])) copies.push_back(std::move(*copy));
  }
  std::vector<Node> inserted;
  for (Node& inner : branch.nodes) {
    for (TensorId& id : inner.inputs) id = transfer.at(id);
    for (TensorId& id : inner.outputs) id = transfer.at(id);
    inserted.push_back(std::move(inner));
  }
  for (Node& copy : copies) inserted.push_back(std::move(copy));
  const auto place = parent.nodes.erase(parent.nodes.begin() + std::ptrdiff_t(n));
  parent.nodes.insert(place, std::make_move_iterator(inserted.begin()), std::make_move_iterator(inserted.end()));
  return {};
}

void drop_unused_graphs(ModelIr& model) {
  std::vector<bool> used(model.graphs.size());
  std::vector<size_t> work = {0};
  used[0] = true;
  while (!work.empty()) {
    const size_t g = work.back();
    work.pop_back();
    for (const Node& node : model.graphs[g].nodes) {
      for (int b : node.subgraphs) {
        if (!used[size_t(b)]) work.push_back(size_t(b));
        used[size_t(b)] = true;
      }
    }
  }
  std::vector<int> renumbered(model.graphs.size(), -1);
  std::vector<Graph> graphs;
  for (size_t g = 0; g < model.graphs.size(); ++g) {
    if (!used[g]) continue;
    renumbered[g] = int(graphs.size());
    graphs.push_back(std::move(model.graphs[g]));
  }
  for (Graph& graph : graphs) {
    for (Node& node : graph.nodes) {
      for (int& b : node.subgraphs) b = renumbered[size_t(b)];
    }
  }
  model.graphs = std::move(graphs);
}

}  // namespace lq
