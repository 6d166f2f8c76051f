#include "quantization/channel_classes.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace lq::quantization {
namespace {

class ClassFinder {
 public:
  ClassFinder(const Graph& graph, const std::vector<ConvWeights>& convolutions)
      : graph_(graph), convolutions_(convolutions), parent_(graph.tensors.size()), blocked_(graph.tensors.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  std::vector<ChannelClass> run() {
    std::map<int, size_t> convolution_of;
    for (size_t i = 0; i < convolutions_.size(); ++i) convolution_of[convolutions_[i].node] = i;
    for (TensorId id : graph_.inputs) block(id);
    for (TensorId id : graph_.outputs) block(id);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (convolution_of.count(int(n)) == 0) join(graph_.nodes[n]);
    }
    std::map<TensorId, ChannelClass> by_root;
    const auto of = [&](TensorId id, size_t channels) -> ChannelClass& {
      ChannelClass& c = by_root[root(id)];
      if (c.channels != 0 && c.channels != channels) block(id);
      c.channels = channels;
      return c;
    };
    for (size_t i = 0; i < convolutions_.size(); ++i) {
      const Node& node = graph_.nodes[size_t(convolutions_[i].node)];
      of(node.inputs[0], convolutions_[i].inputs()).consumers.push_back(i);
      of(node.outputs[0], convolutions_[i].channels).producers.push_back(i);
    }
    for (size_t id = 0; id < graph_.tensors.size(); ++id) {
      if (blocked_[id]) by_root.erase(root(TensorId(id)));
    }
    std::vector<ChannelClass> classes;
    for (size_t id = 0; id < graph_.tensors.size(); ++id) {
      const auto found = by_root.find(root(TensorId(id)));
      if (found != by_root.end()) found->second.members.push_back(TensorId(id));
    }
    for (auto& [first, c] : by_root) {
      if (!c.producers.empty() && !c.consumers.empty()) classes.push_back(std::move(c));
    }
    return classes;
  }

 private:
  TensorId root(TensorId id) const {
    while (parent_[size_t(id)] != id) id = parent_[size_t(id)];
    return id;
  }
  void unite(TensorId a, TensorId b) {
    a = root(a), b = root(b);
    parent_[size_t(std::max(a, b))] = std::min(a, b);
  }
  void block(TensorId id) {
    if (id != kNoTensor) blocked_[size_t(id)] = true;
  }
  const Tensor& tensor(TensorId id) const { return graph_.tensor(id); }
  /// [N, C, …] with C known.
  bool has_channels(TensorId id) const {
    return !tensor(id).is_constant() && tensor(id).ranked && tensor(id).shape.size() >= 3 && tensor(id).shape[1] > 0;
  }
  bool same_channels(TensorId a, TensorId b) const {
    return has_channels(a) && has_channels(b) && tensor(a).shape.size() == tensor(b).shape.size() &&
           tensor(a).shape[1] == tensor(b).shape[1];
  }
  /// One value a channel.
  bool is_gate(TensorId id) const {
    const Shape& shape = tensor(id).shape;
    return has_channels(id) && std::all_of(shape.begin() + 2, shape.end(), [](int64_t d) { return d == 1; });
  }

  void join(const Node& node) {
    if (!scales(node)) {
      for (TensorId id : node.inputs) block(id);
      for (TensorId id : node.outputs) block(id);
    }
  }

  /// Joins inputs and output if the operator's result scales with its input, channel by channel.
  bool scales(const Node& node) {
    if (node.outputs.size() != 1 || node.inputs.empty()) return false;
    const TensorId x = node.inputs[0], y = node.outputs[0];
    switch (node.op) {
      case Op::Resize:
        if (attrs_as<schema::ResizeAttrsT>(node).coordinate_mode == schema::CoordinateMode::TfCropAndResize)
          return false;
        [[fallthrough]];
      case Op::Relu:
      case Op::LeakyRelu:
      case Op::PRelu:
      case Op::MaxPool:
      case Op::AveragePool:
      case Op::GlobalAveragePool:
      case Op::GlobalMaxPool:
        if (!same_channels(x, y) || (node.op == Op::PRelu && !tensor(node.inputs[1]).is_constant())) return false;
        unite(x, y);
        return true;
      case Op::Add:
      case Op::Sub:
        if (!same_channels(x, node.inputs[1]) || !same_channels(x, y)) return false;
        unite(x, node.inputs[1]), unite(x, y);
        return true;
      case Op::Mul:
        return scales_by_gate(x, node.inputs[1], y) || scales_by_gate(node.inputs[1], x, y);
      default:
        return false;
    }
  }
  /// The gate itself (squeeze and excitation) keeps its size.
  bool scales_by_gate(TensorId x, TensorId gate, TensorId y) {
    if (!same_channels(x, gate) || !same_channels(x, y) || !is_gate(gate) || is_gate(x)) return false;
    unite(x, y);
    block(gate);
    return true;
  }

  const Graph& graph_;
  const std::vector<ConvWeights>& convolutions_;
  std::vector<TensorId> parent_;
  std::vector<bool> blocked_;
};

}  // namespace

std::vector<ChannelClass> find_channel_classes(const Graph& graph, const std::vector<ConvWeights>& convolutions) {
  return ClassFinder(graph, convolutions).run();
}

}  // namespace lq::quantization
