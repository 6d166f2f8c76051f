#include "runtime/ops/stored_range.h"

#include <algorithm>

#include "graph/op_def.h"

namespace lq {
namespace {

constexpr int kMaxMoves = 64;  // operators in a row that only move values; behind more than these any value counts

bool is_quantized_s8(const Graph& graph, TensorId id) {
  return id != kNoTensor && graph.tensor(id).dtype == DType::Int8 && graph.tensor(id).quant.has_value();
}

/// Every window of the pool meets a value: otherwise it gives −128.
bool windows_are_filled(const Graph& graph, const Node& node) {
  const Shape& x = graph.tensor(node.inputs[0]).shape;
  const Result<WindowGeometry> geometry = pool_geometry(attrs_as<schema::PoolAttrsT>(node), x);
  if (!geometry.ok()) return false;
  const WindowGeometry& g = *geometry;
  for (size_t i = 0; i < g.kernel.size(); ++i) {
    const int64_t last = (g.output[i] - 1) * g.strides[i] - g.pads_begin[i];
    if (g.dilations[i] != 1 || g.pads_begin[i] >= g.kernel[i] || last >= x[i + 2]) return false;
  }
  return true;
}

/// Does the node put nothing into its outputs but values of its data inputs (Concat: all, others: the first)?
bool only_moves(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::MaxPool:
      return windows_are_filled(graph, node);
    case Op::Resize:
      return attrs_as<schema::ResizeAttrsT>(node).mode == schema::ResizeMode::Nearest;
    case Op::Concat:
    case Op::DepthToSpace:
    case Op::Expand:
    case Op::Flatten:
    case Op::Gather:
    case Op::Identity:
    case Op::LayoutToBlocked:
    case Op::LayoutToLinear:
    case Op::Reshape:
    case Op::Slice:
    case Op::SpaceToDepth:
    case Op::Split:
    case Op::Squeeze:
    case Op::Tile:
    case Op::Transpose:
    case Op::Unsqueeze:
      return true;
    default:
      return false;
  }
}

/// Does the node clamp its int8 output to the output's qmin and qmax?
bool clamps(const Graph& graph, const Node& node) {
  if (node.op == Op::QuantizeLinear || node.op == Op::Requantize) return true;
  const OpDef* def = find_op(node.op);
  if (def == nullptr || !is_quantized_s8(graph, node.input(0))) return false;
  switch (def->quant) {
    case QuantRule::kProduct:
    case QuantRule::kAddSub:
    case QuantRule::kMul:
    case QuantRule::kTable:
    case QuantRule::kPRelu:
    case QuantRule::kAverage:
      return true;
    case QuantRule::kResize:  // linear and cubic; nearest was asked for before
      return true;
    case QuantRule::kFloatOnly:
    case QuantRule::kPassThrough:
      return false;
  }
  return false;
}

const Node* producer(const Graph& graph, TensorId id) {
  for (const Node& node : graph.nodes) {
    if (std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end()) return &node;
  }
  return nullptr;
}

StoredRange range_of(const Graph& graph, TensorId id, int moves) {
  const Node* node = is_quantized_s8(graph, id) && moves < kMaxMoves ? producer(graph, id) : nullptr;
  if (node == nullptr) return {};
  const QuantParams& q = *graph.tensor(id).quant;
  const bool one_zero_point = q.scale.size() == 1;
  if (!one_zero_point) return {};
  const int32_t zp = zero_point_at(q, 0);
  StoredRange range{zp, zp};
  const auto include = [&](int32_t low, int32_t high) {
    range.low = std::min(range.low, low), range.high = std::max(range.high, high);
  };
  if (only_moves(graph, *node)) {
    const size_t inputs = node->op == Op::Concat ? node->inputs.size() : 1;
    for (size_t i = 0; i < inputs; ++i) {
      const StoredRange in = range_of(graph, node->input(i), moves + 1);
      include(in.low, in.high);
    }
  } else if (clamps(graph, *node)) {
    include(q.qmin, q.qmax);
  } else {
    return {};
  }
  return {std::max(range.low, -128), std::min(range.high, 127)};
}

}  // namespace

StoredRange stored_range(const Graph& graph, TensorId id) { return range_of(graph, id, 0); }

}  // namespace lq
