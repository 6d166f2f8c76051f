#include "quantization/equalization.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "passes/rewrite.h"
#include "quantization/conv_weights.h"

namespace lq::quantization {
namespace {

constexpr int kRounds = 20;
constexpr int kLargestExponent = 8;  // of a channel's factor in one round
constexpr float kShareOfBias =
    0.2f;  // measured: 0 ruins mobilenet_v2 (channels that are all bias), 1 equalizes too little

struct Pair {
  size_t first = 0, second = 0;  // indices of ConvWeights
  int clip = -1;                 // node, when the activation is a Clip
  std::vector<float> bounds;     // of the Clip, by channel
};

class Equalizer {
 public:
  explicit Equalizer(Graph& graph) : graph_(graph), index_(graph) {}

  EqualizationReport run() {
    convs_ = find_convolutions(graph_);
    for (size_t i = 0; i < convs_.size(); ++i) find_pair(i);
    std::vector<bool> used(pairs_.size(), false);
    for (int round = 0; round < kRounds; ++round) {
      bool changed = false;
      for (size_t p = 0; p < pairs_.size(); ++p) {
        if (!balance(pairs_[p])) continue;
        used[p] = changed = true;
      }
      if (!changed) break;
    }
    EqualizationReport report;
    for (size_t p = 0; p < pairs_.size(); ++p) {
      if (!used[p]) continue;
      ++report.pairs;
      report.bounds += pairs_[p].clip >= 0 ? 1 : 0;
    }
    write_weights(graph_, convs_);
    write_bounds(used);
    return report;
  }

 private:
  /// Upper bound of a Clip [0, b].
  std::optional<float> upper_bound(const Node& clip) const {
    const auto low = passes::constant_scalar(graph_, clip.input(1)),
               high = passes::constant_scalar(graph_, clip.input(2));
    return low && high && *low == 0 && *high > 0 ? high : std::nullopt;
  }

  void find_pair(size_t first) {
    Pair pair;
    pair.first = first;
    int next = index_.sole_consumer(graph_.nodes[size_t(convs_[first].node)].outputs[0]);
    if (next < 0) return;
    const Node& node = graph_.nodes[size_t(next)];
    if (node.op == Op::Clip) {
      const auto bound = upper_bound(node);
      if (!bound) return;
      pair.clip = next;
      pair.bounds.assign(convs_[first].channels, *bound);
    }
    if (node.op == Op::Clip || node.op == Op::Relu) next = index_.sole_consumer(node.outputs[0]);
    const TensorId read = graph_.nodes[size_t(convs_[first].node)].outputs[0];
    const auto second =
        std::find_if(convs_.begin(), convs_.end(), [&](const ConvWeights& c) { return c.node == next; });
    if (second == convs_.end() || second->inputs() != convs_[first].channels) return;
    const TensorId data = node.op == Op::Conv ? read : node.outputs[0];
    if (graph_.nodes[size_t(next)].inputs[0] != data) return;
    pair.second = size_t(second - convs_.begin());
    pairs_.push_back(std::move(pair));
  }

  /// One round; true if a channel was rescaled.
  bool balance(Pair& pair) {
    ConvWeights &a = convs_[pair.first], &b = convs_[pair.second];
    bool changed = false;
    for (size_t c = 0; c < a.channels; ++c) {
      float r1 = 0, r2 = 0;
      a.each_of_output(c, [&](float& w) { r1 = std::max(r1, std::abs(w)); });
      b.each_of_input(c, [&](float& w) { r2 = std::max(r2, std::abs(w)); });
      if (!a.bias.empty()) r1 = std::max(r1, kShareOfBias * std::abs(a.bias[c]));
      if (r1 == 0 || r2 == 0 || !std::isfinite(r1) || !std::isfinite(r2)) continue;
      const int exponent = int(std::nearbyint(std::log2(double(r1) / double(r2)) / 2));
      const float s = std::ldexp(1.0f, std::clamp(exponent, -kLargestExponent, kLargestExponent));
      if (s == 1) continue;
      a.each_of_output(c, [&](float& w) { w /= s; });
      if (!a.bias.empty()) a.bias[c] /= s;
      b.each_of_input(c, [&](float& w) { w *= s; });
      if (pair.clip >= 0) pair.bounds[c] /= s;
      changed = a.changed = b.changed = true;
    }
    return changed;
  }

  /// Clip -> Relu, Min. The Min takes the Clip's place, so that its result keeps its name.
  void write_bounds(const std::vector<bool>& used) {
    std::vector<std::pair<int, Node>> inserted;  // before this node
    for (size_t p = 0; p < pairs_.size(); ++p) {
      const Pair& pair = pairs_[p];
      if (!used[p] || pair.clip < 0) continue;
      const TensorId input = graph_.nodes[size_t(pair.clip)].inputs[0],
                     output = graph_.nodes[size_t(pair.clip)].outputs[0];
      Shape shape(graph_.tensor(graph_.nodes[size_t(convs_[pair.first].node)].inputs[1]).shape.size(), 1);
      shape[1] = int64_t(pair.bounds.size());
      Tensor positive = graph_.tensor(input);
      positive.name = graph_.tensor(output).name + "_positive";
      Node relu;
      relu.op = Op::Relu;
      relu.inputs = {input};
      relu.outputs = {graph_.add_tensor(std::move(positive))};
      const TensorId bounds =
          graph_.add_constant(graph_.tensor(output).name + "_bounds", DType::Float32, shape, pair.bounds.data());
      Node& clip = graph_.nodes[size_t(pair.clip)];
      clip.op = Op::Min;
      clip.attrs.Reset();
      clip.inputs = {relu.outputs[0], bounds};
      inserted.emplace_back(pair.clip, std::move(relu));
    }
    std::sort(inserted.begin(), inserted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto& [before, node] : inserted) graph_.nodes.insert(graph_.nodes.begin() + before, std::move(node));
  }

  Graph& graph_;
  const passes::GraphIndex index_;
  std::vector<ConvWeights> convs_;
  std::vector<Pair> pairs_;
};

}  // namespace

EqualizationReport equalize(Graph& graph) { return Equalizer(graph).run(); }

}  // namespace lq::quantization
