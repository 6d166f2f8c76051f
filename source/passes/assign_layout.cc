// Linear or NCHWc8 for each tensor, and the conversions between them. Inputs, outputs and constants of a graph stay
// linear.
#include <algorithm>

#include "graph/op_def.h"
#include "passes/blocked_moves.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace lq::passes {
namespace {

constexpr size_t kChannelAxis = 1;

bool can_be_blocked(const Tensor& t) { return t.ranked && (t.shape.size() == 3 || t.shape.size() == 4); }

/// The types elementwise operators and Concat take in blocks.
bool has_blocked_form(const Tensor& t) {
  return t.dtype == DType::Float32 || t.dtype == DType::Int8 || (t.dtype == DType::Int16 && t.quant);
}

/// A constant that a blocked elementwise operator can read as it is: one value, or one a channel of the output.
bool is_channel_constant(const Shape& constant, const Shape& output) {
  if (constant.size() > output.size()) return false;
  const size_t skipped = output.size() - constant.size();
  for (size_t i = 0; i < constant.size(); ++i) {
    if (constant[i] != 1 && !(i + skipped == kChannelAxis && constant[i] == output[kChannelAxis])) return false;
  }
  return true;
}

/// [N, C, 1…]: one value an image and channel.
bool is_per_image_channel(const Shape& shape, const Shape& output) {
  if (shape.size() != output.size() || shape[0] != output[0] || shape[1] != output[1]) return false;
  return std::all_of(shape.begin() + 2, shape.end(), [](int64_t d) { return d == 1; });
}

/// int8 means over all pixels: they read blocks; what they write is [N, C], linear, or [N, C, 1…], blocked.
bool is_spatial_mean(const Graph& graph, const Node& node) {
  if (node.op != Op::ReduceMean || node.input(1) == kNoTensor) return false;
  const Tensor& x = graph.tensor(node.inputs[0]);
  const std::optional<std::vector<int64_t>> axes = constant_ints(graph, node.inputs[1]);
  if (x.dtype != DType::Int8 || !x.quant || !can_be_blocked(x) || !axes || axes->size() != x.shape.size() - 2)
    return false;  // axes are given once each: shape inference refuses them otherwise
  return std::all_of(axes->begin(), axes->end(), [&](int64_t axis) {
    return (axis < 0 ? axis + int64_t(x.shape.size()) : axis) > int64_t(kChannelAxis);
  });
}

class LayoutAssigner {
 public:
  explicit LayoutAssigner(Graph& graph)
      : graph_(graph), linear_(graph.tensors.size(), kNoTensor), blocked_(graph.tensors.size(), kNoTensor) {
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      if (graph.tensors[i].is_constant()) linear_[i] = TensorId(i);
    }
    for (TensorId id : graph.inputs) linear_[size_t(id)] = id;
  }
  void run();

 private:
  bool runs_blocked(const Node& node, const OpDef& def) const;
  bool same_runs_blocked(const Node& node) const;
  bool move_runs_blocked(const Node& node) const;
  bool wants_blocked(const Node& node, const OpDef& def, size_t input) const;
  TensorId in_layout(TensorId id, bool blocked);
  TensorId produce(TensorId id, bool blocked);

  Graph& graph_;
  // By tensor of the graph as it came: its linear and its blocked form, as far as they exist yet.
  std::vector<TensorId> linear_, blocked_;
  std::vector<Node> nodes_;
};

/// Concat, Split and their kin: blocked where they can be and most of what they read comes blocked.
bool LayoutAssigner::move_runs_blocked(const Node& node) const {
  if (!moves_blocked(graph_, node)) return false;
  int64_t blocked = 0, linear = 0;
  for (size_t i = 0; i < (node.op == Op::Concat ? node.inputs.size() : 1); ++i) {
    const TensorId id = node.inputs[i];
    (blocked_[size_t(id)] != kNoTensor ? blocked : linear) +=
        std::max<int64_t>(1, element_count(graph_.tensor(id).shape));
  }
  return blocked >= linear;
}

/// Elementwise: blocked as soon as one operand of the output's shape comes blocked and no operand forbids it.
bool LayoutAssigner::same_runs_blocked(const Node& node) const {
  const Tensor& y = graph_.tensor(node.outputs[0]);
  bool comes_blocked = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorId id = node.inputs[i];
    if (id == kNoTensor || (node.op == Op::Clip && i > 0)) continue;  // Clip's bounds are scalars in any layout
    const Tensor& x = graph_.tensor(id);
    if (!has_blocked_form(x)) return false;
    if (x.is_constant()) {
      if (!is_channel_constant(x.shape, y.shape)) return false;
    } else if (x.shape == y.shape) {
      comes_blocked |= blocked_[size_t(id)] != kNoTensor;
    } else if (!is_per_image_channel(x.shape, y.shape)) {
      return false;
    }
  }
  return comes_blocked && has_blocked_form(y);
}

bool LayoutAssigner::runs_blocked(const Node& node, const OpDef& def) const {
  if (node.output(0) == kNoTensor || node.input(0) == kNoTensor) return false;
  if (node.op == Op::ReduceMean) return is_spatial_mean(graph_, node) && blocked_[size_t(node.inputs[0])] != kNoTensor;
  if (def.layout == LayoutRule::kLinear) return false;
  if (!can_be_blocked(graph_.tensor(node.outputs[0]))) return false;
  if (moves_values(node.op)) return move_runs_blocked(node);
  if (def.layout == LayoutRule::kSame) return same_runs_blocked(node);
  return can_be_blocked(graph_.tensor(node.inputs[0]));
}

/// In a blocked operator: the data input of Conv, pools, means and moves, every operand of Concat, every non-constant
/// one of an elementwise operator.
bool LayoutAssigner::wants_blocked(const Node& node, const OpDef& def, size_t input) const {
  if (def.layout == LayoutRule::kBlocked || (moves_values(node.op) && node.op != Op::Concat)) return input == 0;
  return !(node.op == Op::Clip && input > 0) && !graph_.tensor(node.inputs[input]).is_constant();
}

/// The id of `id` in a layout; the first request for the other layout inserts the conversion, later ones share it.
TensorId LayoutAssigner::in_layout(TensorId id, bool blocked) {
  TensorId& wanted = (blocked ? blocked_ : linear_)[size_t(id)];
  if (wanted != kNoTensor) return wanted;
  const TensorId present = (blocked ? linear_ : blocked_)[size_t(id)];
  if (present == id) {
    Tensor other = graph_.tensor(id);
    other.data = Bytes();
    other.blocked_axis = blocked ? int(kChannelAxis) : -1;
    other.name += blocked ? "/blocked" : "/linear";
    wanted = graph_.add_tensor(std::move(other));
  } else {
    wanted = id;  // a graph output: the linear form has the tensor's own id
  }
  Node convert;
  convert.op = blocked ? Op::LayoutToBlocked : Op::LayoutToLinear;
  convert.name = graph_.tensor(wanted).name;
  convert.inputs = {present};
  convert.outputs = {wanted};
  nodes_.push_back(std::move(convert));
  return wanted;
}

TensorId LayoutAssigner::produce(TensorId id, bool blocked) {
  if (!blocked) return linear_[size_t(id)] = id;
  if (is_graph_output(graph_, id)) {
    Tensor form = graph_.tensor(id);
    form.name += "/blocked";
    form.blocked_axis = int(kChannelAxis);
    return blocked_[size_t(id)] = graph_.add_tensor(std::move(form));
  }
  graph_.tensor(id).blocked_axis = int(kChannelAxis);
  return blocked_[size_t(id)] = id;
}

void LayoutAssigner::run() {
  for (Node& node : graph_.nodes) {
    const OpDef* def = find_op(node.op);
    const bool blocked = def != nullptr && runs_blocked(node, *def);
    std::vector<TensorId> inputs = node.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != kNoTensor) inputs[i] = in_layout(inputs[i], blocked && wants_blocked(node, *def, i));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoTensor) continue;
      const bool written = blocked && (i == 0 || node.op == Op::Split);
      node.outputs[i] = produce(node.outputs[i], written && can_be_blocked(graph_.tensor(node.outputs[i])));
    }
    node.inputs = std::move(inputs);
    nodes_.push_back(std::move(node));
  }
  for (TensorId id : std::vector<TensorId>(graph_.outputs)) in_layout(id, false);
  graph_.nodes = std::move(nodes_);
}

bool changes_layout(const Node& node) { return node.op == Op::LayoutToBlocked || node.op == Op::LayoutToLinear; }

bool converts_values(const Node& node) {
  return node.op == Op::QuantizeLinear || node.op == Op::DequantizeLinear || node.op == Op::Requantize;
}

bool is_per_tensor(const Tensor& t) { return !t.quant || t.quant->scale.size() == 1; }

/// Quantize, Dequantize and Requantize read one layout and write the other in one go: a conversion that only serves one
/// of them, on either side, goes.
void absorb_conversions(Graph& graph) {
  const GraphIndex index(graph);
  std::vector<bool> absorbed(graph.nodes.size(), false);
  for (Node& node : graph.nodes) {
    if (!converts_values(node) || !is_per_tensor(graph.tensor(node.inputs[0])) ||
        !is_per_tensor(graph.tensor(node.outputs[0])))
      continue;
    const int before = index.producer(node.inputs[0]);
    if (before >= 0 && changes_layout(graph.nodes[size_t(before)]) && index.sole_consumer(node.inputs[0]) >= 0) {
      node.inputs[0] = graph.nodes[size_t(before)].inputs[0];
      absorbed[size_t(before)] = true;
    }
    const int after = index.sole_consumer(node.outputs[0]);
    if (after >= 0 && changes_layout(graph.nodes[size_t(after)]) && !absorbed[size_t(after)]) {
      node.outputs[0] = graph.nodes[size_t(after)].outputs[0];
      absorbed[size_t(after)] = true;
    }
  }
  std::vector<Node> kept;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!absorbed[i]) kept.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(kept);
}

}  // namespace

Status assign_layout(ModelIr& model) {
  for (Graph& graph : model.graphs) {
    if (!graph.unusable.empty()) continue;
    LayoutAssigner(graph).run();
    absorb_conversions(graph);
  }
  return {};
}

}  // namespace lq::passes
