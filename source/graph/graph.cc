// The graph's own small operations: constants, users of a tensor, order, removal of what nobody needs.
#include "graph/graph.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <queue>

namespace lq {

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (int64_t d : shape) {
    if (d < 0) return -1;
    if (__builtin_mul_overflow(count, d, &count)) return -1;
  }
  return count;
}

bool is_static(const Shape& shape) {
  for (int64_t d : shape) {
    if (d < 0) return false;
  }
  return true;
}

std::string shape_string(const Shape& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i) s += ',';
    s += shape[i] < 0 ? std::string("?") : std::to_string(shape[i]);
  }
  return s + "]";
}

TensorId Graph::add_tensor(Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return TensorId(tensors.size() - 1);
}

TensorId Graph::add_constant(std::string name, DType dtype, Shape shape, const void* data) {
  Tensor t;
  t.name = std::move(name);
  t.dtype = dtype;
  t.ranked = true;
  const int64_t count = element_count(shape);
  auto bytes = Bytes::copy_of(data, size_t(count < 0 ? 0 : count) * dtype_size(dtype));
  if (count < 0 || !bytes.ok()) std::abort();
  t.shape = std::move(shape);
  t.data = std::move(*bytes);
  return add_tensor(std::move(t));
}

const char* op_name(Op op) { return schema::EnumNameOp(op); }

std::string node_label(const Graph& graph, const Node& node) {
  std::string label = op_name(node.op);
  if (label.empty()) label = "operator " + std::to_string(int(node.op));
  if (!node.name.empty()) return label + " '" + node.name + "'";
  const std::less<const Node*> before;  // total order even for a node outside the vector
  const Node* first = graph.nodes.data();
  if (!graph.nodes.empty() && !before(&node, first) && before(&node, first + graph.nodes.size())) {
    label += " #" + std::to_string(&node - first);
  }
  for (TensorId id : node.outputs) {
    if (id >= 0 && size_t(id) < graph.tensors.size()) return label + " (-> '" + graph.tensor(id).name + "')";
  }
  return label;
}

std::optional<std::vector<int64_t>> constant_ints(const Graph& graph, TensorId id) {
  if (id < 0 || size_t(id) >= graph.tensors.size()) return std::nullopt;
  const Tensor& t = graph.tensor(id);
  if (!t.is_constant() || (t.dtype != DType::Int64 && t.dtype != DType::Int32)) return std::nullopt;
  const int64_t count = element_count(t.shape);
  const size_t size = dtype_size(t.dtype);
  // The size is compared by division: a count from an untrusted shape times 8 could wrap.
  if (count < 0 || t.data.size() % size != 0 || uint64_t(count) != t.data.size() / size) return std::nullopt;
  std::vector<int64_t> values;
  values.resize(size_t(count));
  for (size_t i = 0; i < values.size(); ++i) {
    if (t.dtype == DType::Int64) {
      std::memcpy(&values[i], t.data.data() + i * 8, 8);
    } else {
      int32_t v;
      std::memcpy(&v, t.data.data() + i * 4, 4);
      values[i] = v;
    }
  }
  return values;
}

std::optional<std::vector<float>> constant_floats(const Graph& graph, TensorId id) {
  if (id < 0 || size_t(id) >= graph.tensors.size()) return std::nullopt;
  const Tensor& t = graph.tensor(id);
  if (!t.is_constant() || t.dtype != DType::Float32) return std::nullopt;
  const int64_t count = element_count(t.shape);
  if (count < 0 || t.data.size() % 4 != 0 || uint64_t(count) != t.data.size() / 4) return std::nullopt;
  std::vector<float> values(static_cast<size_t>(count));
  if (count > 0) std::memcpy(values.data(), t.data.data(), t.data.size());
  return values;
}

std::vector<std::vector<int>> consumers_of(const Graph& graph) {
  std::vector<std::vector<int>> consumers(graph.tensors.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (TensorId id : graph.nodes[n].inputs) {
      if (id >= 0) consumers[size_t(id)].push_back(int(n));
    }
  }
  return consumers;
}

std::vector<int> producers_of(const Graph& graph) {
  std::vector<int> producers(graph.tensors.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (TensorId id : graph.nodes[n].outputs) {
      if (id >= 0) producers[size_t(id)] = int(n);
    }
  }
  return producers;
}

bool is_graph_output(const Graph& graph, TensorId id) {
  for (TensorId out : graph.outputs) {
    if (out == id) return true;
  }
  return false;
}

Status sort_topologically(Graph& graph) {
  const std::vector<int> producers = producers_of(graph);
  std::vector<bool> given(graph.tensors.size());
  for (size_t i = 0; i < given.size(); ++i) given[i] = graph.tensors[i].is_constant();
  for (TensorId id : graph.inputs) given[size_t(id)] = true;

  // Kahn's algorithm; the smallest ready index first keeps the order of an already sorted graph.
  std::vector<int> waiting(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (TensorId id : graph.nodes[n].inputs) {
      if (id < 0) continue;
      if (producers[size_t(id)] >= 0) {
        ++waiting[n];
      } else if (!given[size_t(id)]) {
        return invalid_argument(node_label(graph, graph.nodes[n]) + ": input '" + graph.tensor(id).name +
                                "' is produced by no node and is neither a constant nor a graph input");
      }
    }
  }
  const auto consumers = consumers_of(graph);
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (waiting[n] == 0) ready.push(int(n));
  }
  std::vector<Node> sorted;
  sorted.reserve(graph.nodes.size());
  std::vector<int> order;
  while (!ready.empty()) {
    const int n = ready.top();
    ready.pop();
    order.push_back(n);
    for (TensorId id : graph.nodes[size_t(n)].outputs) {
      if (id < 0) continue;
      for (int reader : consumers[size_t(id)]) {
        if (--waiting[size_t(reader)] == 0) ready.push(reader);
      }
    }
  }
  if (order.size() != graph.nodes.size()) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (waiting[n] > 0) return invalid_argument(node_label(graph, graph.nodes[n]) + ": part of a cycle");
    }
  }
  for (int n : order) sorted.push_back(std::move(graph.nodes[size_t(n)]));
  graph.nodes = std::move(sorted);
  return {};
}

namespace {

/// Nodes some graph output depends on.
std::vector<bool> live_nodes(const Graph& graph) {
  const std::vector<int> producers = producers_of(graph);
  std::vector<bool> live(graph.nodes.size());
  std::vector<int> work;
  auto want = [&](TensorId id) {
    if (id < 0) return;
    const int n = producers[size_t(id)];
    if (n >= 0 && !live[size_t(n)]) {
      live[size_t(n)] = true;
      work.push_back(n);
    }
  };
  for (TensorId id : graph.outputs) want(id);
  while (!work.empty()) {
    const int n = work.back();
    work.pop_back();
    for (TensorId id : graph.nodes[size_t(n)].inputs) want(id);
  }
  return live;
}

}  // namespace

void remove_dead(Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  std::vector<Node> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (live[n]) nodes.push_back(std::move(graph.nodes[n]));
  }
  graph.nodes = std::move(nodes);

  std::vector<bool> used(graph.tensors.size());
  auto use = [&](const std::vector<TensorId>& ids) {
    for (TensorId id : ids) {
      if (id >= 0) used[size_t(id)] = true;
    }
  };
  use(graph.inputs);
  use(graph.outputs);
  for (const Node& node : graph.nodes) {
    use(node.inputs);
    use(node.outputs);
  }
  std::vector<TensorId> renumbered(graph.tensors.size(), kNoTensor);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = TensorId(tensors.size());
    tensors.push_back(std::move(graph.tensors[i]));
  }
  graph.tensors = std::move(tensors);
  auto renumber = [&](std::vector<TensorId>& ids) {
    for (TensorId& id : ids) {
      if (id >= 0) id = renumbered[size_t(id)];
    }
  };
  renumber(graph.inputs);
  renumber(graph.outputs);
  for (Node& node : graph.nodes) {
    renumber(node.inputs);
    renumber(node.outputs);
  }
}

}  // namespace lq
