// Channels in another order, as ShuffleNets have it, are one Gather of channels, in any layout:
//   Reshape [N, g, C/g, …] -> Transpose of axes 1 and 2 -> Reshape back;
//   Reshape [N·C/g, g, …] -> Transpose of axes 0 and 1 -> Reshape [g, N, C/g, …] -> Gathers of the first axis, each
//   taking every g-th channel (the shuffle behind a block and the split before the next, as PyTorch code writes it).
#include <optional>

#include "graph/built_ops.h"
#include "graph/op_def.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace lq::passes {
namespace {

int64_t product(const Shape& shape, size_t begin) {
  int64_t n = 1;
  for (size_t i = begin; i < shape.size(); ++i) n *= shape[i];
  return n;
}

/// `perm` exchanges axes `first` and first + 1 and keeps the others.
bool swaps_axes(const Node& transpose, size_t first, size_t rank) {
  const std::vector<int32_t>& perm = attrs_as<schema::TransposeAttrsT>(transpose).perm;
  if (perm.size() != rank || rank < first + 2) return false;
  for (size_t i = 0; i < rank; ++i) {
    const size_t from = i == first ? first + 1 : (i == first + 1 ? first : i);
    if (perm[i] != int32_t(from)) return false;
  }
  return true;
}

/// Three nodes, each the only reader of the one before.
struct Triple {
  const Node *reshape, *transpose;
  size_t back;             // the second Reshape
  const Shape *x, *split;  // before and after the first
};

std::optional<Triple> match_triple(const Graph& graph, const GraphIndex& index, size_t at) {
  const Node& reshape = graph.nodes[at];
  if (reshape.op != Op::Reshape || reshape.input(0) == kNoTensor) return {};
  const int swap = index.sole_consumer(reshape.output(0));
  if (swap < 0 || graph.nodes[size_t(swap)].op != Op::Transpose) return {};
  const int back = index.sole_consumer(graph.nodes[size_t(swap)].output(0));
  if (back < 0 || graph.nodes[size_t(back)].op != Op::Reshape) return {};
  const Tensor& x = graph.tensor(reshape.inputs[0]);
  const Tensor& split = graph.tensor(reshape.outputs[0]);
  const Tensor& y = graph.tensor(graph.nodes[size_t(back)].outputs[0]);
  const bool known = x.ranked && is_static(x.shape) && split.ranked && is_static(split.shape) && y.ranked;
  if (!known || x.is_constant() || x.shape.size() < 2 || x.shape[1] < 1) return {};
  return Triple{&reshape, &graph.nodes[size_t(swap)], size_t(back), &x.shape, &split.shape};
}

/// The node becomes y = Gather(data, channels).
void gather_channels(Graph& graph, Node& node, TensorId data, const std::vector<int64_t>& channels) {
  const TensorId indices = graph.add_constant(graph.tensor(node.outputs[0]).name + "/channels", DType::Int64,
                                              {int64_t(channels.size())}, channels.data());
  graph.tensor(indices).ranked = true;
  node.op = Op::Gather;
  node.attrs.Reset();
  mutable_attrs<schema::AxisAttrsT>(node).axis = 1;
  node.inputs = {data, indices};
}

/// Channels from `first` on, `step` apart.
std::vector<int64_t> every(int64_t first, int64_t step, int64_t count) {
  std::vector<int64_t> channels;
  for (int64_t i = 0; i < count; ++i) channels.push_back(first + i * step);
  return channels;
}

bool fuse_shuffle(Graph& graph, const Triple& t) {
  const Shape &x = *t.x, &split = *t.split;
  const bool channels_split =
      split.size() >= 3 && split[0] == x[0] && split[1] * split[2] == x[1] && product(split, 3) == product(x, 2);
  Node& back = graph.nodes[t.back];
  if (!channels_split || !swaps_axes(*t.transpose, 1, split.size()) || graph.tensor(back.outputs[0]).shape != x)
    return false;
  const int64_t groups = split[1], each = split[2];
  std::vector<int64_t> channels;  // y's channel i · groups + g is x's g · each + i
  for (int64_t i = 0; i < each; ++i) {
    const std::vector<int64_t> row = every(i, each, groups);
    channels.insert(channels.end(), row.begin(), row.end());
  }
  gather_channels(graph, back, t.reshape->inputs[0], channels);
  return true;
}

/// The index of a Gather of one slice of the first axis.
std::optional<int64_t> slice_index(const Graph& graph, const Node& node, int64_t size) {
  if (node.op != Op::Gather || attrs_as<schema::AxisAttrsT>(node).axis != 0) return {};
  const std::optional<std::vector<int64_t>> index = constant_ints(graph, node.inputs[1]);
  if (!index || !graph.tensor(node.inputs[1]).shape.empty() || (*index)[0] < -size || (*index)[0] >= size) return {};
  return (*index)[0] < 0 ? (*index)[0] + size : (*index)[0];
}

bool fuse_interleaved(Graph& graph, const GraphIndex& index, const Triple& t) {
  const Shape &x = *t.x, &split = *t.split;
  const TensorId halves = graph.nodes[t.back].outputs[0];
  Shape expected = {split.size() < 2 ? 0 : split[1], x[0], 0};
  const int64_t groups = expected[0];
  if (groups < 1 || x[1] % groups != 0 || split[0] != x[0] * (x[1] / groups) || product(split, 2) != product(x, 2))
    return false;
  expected[2] = x[1] / groups;
  expected.insert(expected.end(), x.begin() + 2, x.end());
  if (!swaps_axes(*t.transpose, 0, split.size()) || graph.tensor(halves).shape != expected || index.is_output(halves))
    return false;
  for (int reader : index.consumers(halves)) {
    if (!slice_index(graph, graph.nodes[size_t(reader)], groups)) return false;
  }
  const TensorId data = t.reshape->inputs[0];
  for (int reader : index.consumers(halves)) {
    Node& node = graph.nodes[size_t(reader)];
    gather_channels(graph, node, data, every(*slice_index(graph, node, groups), groups, expected[2]));
  }
  return true;
}

}  // namespace

Status fuse_channel_shuffle(ModelIr& model) {
  if (!is_op_built(Op::Gather)) return {};
  for (Graph& graph : model.graphs) {
    if (!graph.unusable.empty()) continue;
    const GraphIndex index(graph);
    bool fused = false;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const std::optional<Triple> triple = match_triple(graph, index, i);
      if (triple) fused |= fuse_shuffle(graph, *triple) || fuse_interleaved(graph, index, *triple);
    }
    if (fused) remove_dead(graph);
  }
  return {};
}

}  // namespace lq::passes
