// A separate Pad before an operator that can pad by itself.
#include <optional>
#include <vector>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace lq::passes {
namespace {

/// Pads of the spatial axes (all begins, then all ends) of a constant Pad with a zero value that leaves N and C alone.
std::optional<std::vector<int64_t>> spatial_zero_pads(const Graph& graph, const Node& pad) {
  if (attrs_as<schema::PadAttrsT>(pad).mode != schema::PadMode::Constant) return std::nullopt;
  const Tensor& x = graph.tensor(pad.inputs[0]);
  if (x.dtype != DType::Float32 || !x.ranked || x.shape.size() < 3) return std::nullopt;
  if (pad.input(2) != kNoTensor && constant_scalar(graph, pad.input(2)) != 0.0f) return std::nullopt;
  const auto given = constant_ints(graph, pad.input(1));
  if (!given) return std::nullopt;
  const size_t rank = x.shape.size();
  std::vector<int64_t> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = int64_t(i);
  if (pad.input(3) != kNoTensor) {
    const auto listed = constant_ints(graph, pad.input(3));
    if (!listed) return std::nullopt;
    axes = *listed;
  }
  if (given->size() != 2 * axes.size()) return std::nullopt;
  std::vector<int64_t> spatial(2 * (rank - 2), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + int64_t(rank) : axes[i];
    const int64_t begin = (*given)[i], end = (*given)[i + axes.size()];
    if (axis < 0 || axis >= int64_t(rank) || begin < 0 || end < 0) return std::nullopt;
    if (axis < 2 && (begin != 0 || end != 0)) return std::nullopt;
    if (axis < 2) continue;
    spatial[size_t(axis) - 2] = begin;
    spatial[size_t(axis) - 2 + rank - 2] = end;
  }
  return spatial;
}

/// Own pads of an operator; nothing for SAME_*, whose pads depend on the (padded) input size.
template <typename AttrsT>
std::optional<std::vector<int64_t>> own_pads(const AttrsT& attrs, size_t spatial) {
  if (attrs.auto_pad == schema::AutoPad::SameUpper || attrs.auto_pad == schema::AutoPad::SameLower) return std::nullopt;
  std::vector<int64_t> pads(2 * spatial, 0);
  if (attrs.auto_pad == schema::AutoPad::NotSet && attrs.pads.size() == pads.size())
    pads.assign(attrs.pads.begin(), attrs.pads.end());
  return pads;
}

template <typename AttrsT>
void set_pads(AttrsT& attrs, const std::vector<int64_t>& own, const std::vector<int64_t>& more) {
  attrs.auto_pad = schema::AutoPad::NotSet;
  attrs.pads.resize(own.size());
  for (size_t i = 0; i < own.size(); ++i) attrs.pads[i] = int32_t(own[i] + more[i]);
}

/// Values known to be >= 0: behind Relu, Clip from 0, Sigmoid and what only moves or averages such values.
bool is_non_negative(const Graph& graph, const GraphIndex& index, TensorId id, int depth = 0) {
  const int n = index.producer(id);
  if (n < 0 || depth > 8) return false;
  const Node& node = graph.nodes[size_t(n)];
  switch (node.op) {
    case Op::Relu:
    case Op::Sigmoid:
    case Op::HardSigmoid:
    case Op::Softmax:
      return true;
    case Op::Clip:
      return constant_scalar(graph, node.input(1)).value_or(-1) >= 0;
    case Op::MaxPool:
    case Op::AveragePool:
      return is_non_negative(graph, index, node.inputs[0], depth + 1);
    case Op::Concat:
      for (TensorId input : node.inputs) {
        if (!is_non_negative(graph, index, input, depth + 1)) return false;
      }
      return true;
    default:
      return false;
  }
}

bool fuse_into_conv(Node& conv, const std::vector<int64_t>& more) {
  auto attrs = attrs_as<schema::ConvAttrsT>(conv);
  const auto own = own_pads(attrs, more.size() / 2);
  if (!own) return false;
  set_pads(attrs, *own, more);
  conv.attrs.Set(std::move(attrs));
  return true;
}

/// A pool's window must keep at least one real element everywhere, so pads stay below the kernel; ceil_mode adds
/// windows whose overhang counts differently from padding.
bool fuse_into_pool(const Graph& graph, const GraphIndex& index, Node& pool, TensorId x,
                    const std::vector<int64_t>& more) {
  auto attrs = attrs_as<schema::PoolAttrsT>(pool);
  const size_t spatial = more.size() / 2;
  const auto own = own_pads(attrs, spatial);
  if (!own || attrs.ceil_mode || attrs.kernel_shape.size() != spatial || pool.output(1) != kNoTensor) return false;
  bool own_is_zero = true;
  for (size_t i = 0; i < more.size(); ++i) {
    if ((*own)[i] + more[i] >= attrs.kernel_shape[i % spatial]) return false;
    own_is_zero = own_is_zero && (*own)[i] == 0;
  }
  for (int32_t d : attrs.dilations) {
    if (d != 1) return false;
  }
  if (pool.op == Op::MaxPool) {
    // The pool's own padding never wins; the Pad's zeros may, unless everything else is at least 0.
    if (!is_non_negative(graph, index, x)) return false;
  } else {
    // The Pad's zeros are counted; the pool's own padding only with count_include_pad.
    if (!own_is_zero && !attrs.count_include_pad) return false;
    attrs.count_include_pad = true;
  }
  set_pads(attrs, *own, more);
  pool.attrs.Set(std::move(attrs));
  return true;
}

void fuse_in(Graph& graph) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op != Op::Pad) continue;
    const auto pads = spatial_zero_pads(graph, graph.nodes[n]);
    if (!pads) continue;
    const GraphIndex index(graph);
    const TensorId x = graph.nodes[n].inputs[0], padded = graph.nodes[n].outputs[0];
    for (int reader : index.consumers(padded)) {
      Node& node = graph.nodes[size_t(reader)];
      if (node.inputs[0] != padded) continue;
      const bool is_pool = node.op == Op::MaxPool || node.op == Op::AveragePool;
      const bool fused =
          node.op == Op::Conv ? fuse_into_conv(node, *pads) : is_pool && fuse_into_pool(graph, index, node, x, *pads);
      if (fused) node.inputs[0] = x;
    }
  }
  remove_dead(graph);
}

}  // namespace

Status fuse_pad(ModelIr& model) {
  for (Graph& graph : model.graphs) fuse_in(graph);
  return {};
}

}  // namespace lq::passes
