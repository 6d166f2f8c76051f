#include "passes/blocked_moves.h"

#include <algorithm>

#include "graph/op_def.h"

namespace lq::passes {
namespace {

constexpr int64_t kChannels = 1;  // the axis

bool is_channel_axis(int64_t axis, size_t rank) { return axis == kChannels || axis + int64_t(rank) == kChannels; }

bool has_moved_type(const Tensor& t) { return t.dtype == DType::Float32 || t.dtype == DType::Int8; }

/// What the lanes behind the last channel hold.
int64_t lane_value(const Tensor& t) { return t.quant ? zero_point_at(*t.quant, 0) : 0; }

/// Lanes move with their pixels, so they must mean the same on both sides: not so where a file lets bytes of one zero
/// point stand for values of another.
bool lanes_agree(const Graph& graph, const Node& node) {
  const int64_t value = lane_value(graph.tensor(node.inputs[0]));
  const auto agrees = [&](TensorId id) { return id == kNoTensor || lane_value(graph.tensor(id)) == value; };
  return std::all_of(node.outputs.begin(), node.outputs.end(), agrees) &&
         (node.op != Op::Concat || std::all_of(node.inputs.begin(), node.inputs.end(), agrees));
}

/// At least half the lanes of an NCHWc8 form hold channels.
bool fills_blocks(const Tensor& t) {
  const int64_t channels = t.shape[kChannels];
  return channels > 0 && 2 * channels >= (channels + 7) / 8 * 8;
}

bool joins_blocks(const Graph& graph, const Node& node) {
  const Tensor& y = graph.tensor(node.outputs[0]);
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
    if (id == kNoTensor) return false;
    const Tensor& x = graph.tensor(id);
    return !x.is_constant() && x.dtype == y.dtype && x.shape.size() == y.shape.size();
  });
}

bool splits_blocks(const Graph& graph, const Node& node) {
  if (node.input(1) != kNoTensor && !constant_ints(graph, node.inputs[1])) return false;
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
    return id == kNoTensor || (graph.tensor(id).ranked && fills_blocks(graph.tensor(id)));
  });
}

/// Channels alone, or other axes alone: one move or the other.
bool slices_blocks(const Graph& graph, const Node& node) {
  const auto starts = constant_ints(graph, node.input(1)), axes = constant_ints(graph, node.input(3));
  if (!starts || (node.input(3) != kNoTensor && !axes)) return false;
  if (node.input(4) != kNoTensor && !constant_ints(graph, node.inputs[4])) return false;
  const size_t rank = graph.tensor(node.inputs[0]).shape.size();
  int64_t channels = 0;
  for (size_t i = 0; i < starts->size(); ++i) {
    channels += is_channel_axis(axes && i < axes->size() ? (*axes)[i] : int64_t(i), rank);
  }
  return channels == 0 || (channels == int64_t(starts->size()) && fills_blocks(graph.tensor(node.outputs[0])));
}

bool gathers_channels(const Graph& graph, const Node& node) {
  const Tensor& x = graph.tensor(node.inputs[0]);
  const Tensor& y = graph.tensor(node.outputs[0]);
  return is_channel_axis(attrs_as<schema::AxisAttrsT>(node).axis, x.shape.size()) &&
         graph.tensor(node.inputs[1]).shape.size() == 1 && constant_ints(graph, node.inputs[1]) && fills_blocks(y);
}

bool pads_pixels(const Graph& graph, const Node& node) {
  const auto pads = constant_ints(graph, node.input(1)), axes = constant_ints(graph, node.input(3));
  if (!pads || (node.input(3) != kNoTensor && !axes)) return false;
  const size_t rank = graph.tensor(node.inputs[0]).shape.size(), count = pads->size() / 2;
  for (size_t i = 0; i < count; ++i) {
    const int64_t named = axes && i < axes->size() ? (*axes)[i] : int64_t(i);
    const int64_t axis = named < 0 ? named + int64_t(rank) : named;
    if (axis <= kChannels && ((*pads)[i] != 0 || (*pads)[count + i] != 0)) return false;
  }
  return true;
}

bool resizes_pixels(const Graph& graph, const Node& node) {
  const auto& attrs = attrs_as<schema::ResizeAttrsT>(node);
  const Shape& x = graph.tensor(node.inputs[0]).shape;
  const Shape& y = graph.tensor(node.outputs[0]).shape;
  // A crop may take as many images or channels as there are, but others.
  return attrs.coordinate_mode != schema::CoordinateMode::TfCropAndResize && x[0] == y[0] &&
         x[kChannels] == y[kChannels];
}

}  // namespace

bool moves_values(Op op) {
  return op == Op::Concat || op == Op::Split || op == Op::Slice || op == Op::Gather || op == Op::Pad ||
         op == Op::Resize;
}

bool moves_blocked(const Graph& graph, const Node& node) {
  const Tensor& x = graph.tensor(node.inputs[0]);
  const Tensor& y = graph.tensor(node.outputs[0]);
  if (!has_moved_type(x) || !x.ranked || x.shape.size() != y.shape.size() || x.is_constant()) return false;
  const bool computes =
      node.op == Op::Resize && attrs_as<schema::ResizeAttrsT>(node).mode != schema::ResizeMode::Nearest;
  if (!computes && !lanes_agree(graph, node)) return false;
  switch (node.op) {
    case Op::Concat:
      return joins_blocks(graph, node) && has_moved_type(y);
    case Op::Split:
      return splits_blocks(graph, node);
    case Op::Slice:
      return slices_blocks(graph, node);
    case Op::Gather:
      return gathers_channels(graph, node);
    case Op::Pad:
      return pads_pixels(graph, node);
    case Op::Resize:
      return resizes_pixels(graph, node);
    default:
      return false;
  }
}

}  // namespace lq::passes
