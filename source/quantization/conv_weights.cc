#include "quantization/conv_weights.h"

#include <algorithm>
#include <string>

#include "passes/rewrite.h"

namespace lq::quantization {
namespace {

TensorId replaced(Graph& graph, TensorId id, const std::vector<float>& values) {
  const std::string name = graph.tensor(id).name + "_equalized";
  const Shape shape = graph.tensor(id).shape;
  return graph.add_constant(name, DType::Float32, shape, values.data());
}

}  // namespace

std::vector<ConvWeights> find_convolutions(const Graph& graph) {
  std::vector<ConvWeights> found;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op != Op::Conv) continue;
    const auto weight = constant_floats(graph, node.input(1));
    const auto bias = node.input(2) == kNoTensor ? std::vector<float>() : constant_floats(graph, node.input(2));
    const Shape& shape = graph.tensor(node.input(1)).shape;
    if (!weight || !bias || shape.size() < 3) continue;
    ConvWeights w;
    w.node = int(n);
    w.channels = size_t(shape[0]), w.in_group = size_t(shape[1]);
    w.taps = weight->size() / std::max<size_t>(w.channels * w.in_group, 1);
    const int64_t groups = attrs_as<schema::ConvAttrsT>(node).groups;
    w.depthwise = groups > 1 && groups == shape[0] && shape[1] == 1;
    if ((groups != 1 && !w.depthwise) || weight->empty()) continue;
    w.weight = *weight, w.bias = *bias;
    found.push_back(std::move(w));
  }
  return found;
}

void write_weights(Graph& graph, const std::vector<ConvWeights>& convolutions) {
  for (const ConvWeights& w : convolutions) {
    if (!w.changed) continue;
    const TensorId weight = replaced(graph, graph.nodes[size_t(w.node)].inputs[1], w.weight);
    graph.nodes[size_t(w.node)].inputs[1] = weight;
    if (w.bias.empty()) continue;
    const TensorId bias = replaced(graph, graph.nodes[size_t(w.node)].inputs[2], w.bias);
    graph.nodes[size_t(w.node)].inputs[2] = bias;
  }
}

}  // namespace lq::quantization
