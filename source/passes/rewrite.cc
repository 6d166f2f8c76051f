#include "passes/rewrite.h"

#include <cmath>

namespace lq::passes {

GraphIndex::GraphIndex(const Graph& graph)
    : producers_(producers_of(graph)), consumers_(consumers_of(graph)), is_output_(graph.tensors.size(), false) {
  for (TensorId id : graph.outputs) is_output_[size_t(id)] = true;
}

int GraphIndex::sole_consumer(TensorId id) const {
  if (id == kNoTensor || is_output(id) || consumers(id).size() != 1) return -1;
  return consumers(id)[0];
}

std::optional<float> constant_scalar(const Graph& graph, TensorId id) {
  if (id == kNoTensor) return std::nullopt;
  const std::optional<std::vector<float>> values = constant_floats(graph, id);
  if (!values || values->size() != 1) return std::nullopt;
  return (*values)[0];
}

bool nearly(double value, double wanted) { return std::abs(value - wanted) <= 2e-6 * std::abs(wanted); }

void replace_uses(Graph& graph, TensorId from, TensorId to) {
  for (Node& node : graph.nodes) {
    for (TensorId& id : node.inputs) {
      if (id == from) id = to;
    }
  }
}

std::optional<std::vector<double>> per_channel_values(const Graph& graph, TensorId id, size_t rank,
                                                      size_t axis_from_right, int64_t channels) {
  if (id == kNoTensor || channels <= 0) return std::nullopt;
  const std::optional<std::vector<float>> values = constant_floats(graph, id);
  if (!values || values->empty()) return std::nullopt;
  const Shape& shape = graph.tensor(id).shape;
  if (shape.size() > rank) return std::nullopt;
  for (size_t from_right = 1; from_right <= shape.size(); ++from_right) {
    const int64_t dim = shape[shape.size() - from_right];
    if (dim != 1 && !(from_right == axis_from_right && dim == channels)) return std::nullopt;
  }
  std::vector<double> result(static_cast<size_t>(channels), double((*values)[0]));
  if (values->size() == result.size()) result.assign(values->begin(), values->end());
  return result;
}

}  // namespace lq::passes
