// Small tools the float passes share: who reads a tensor, what constant it holds, how to redirect readers.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lq::passes {

/// Readers and writers of every tensor at one moment. Passes rebuild it after they changed a graph.
class GraphIndex {
 public:
  explicit GraphIndex(const Graph& graph);
  /// Node that writes `id`, −1 for inputs, constants and kNoTensor.
  int producer(TensorId id) const { return id == kNoTensor ? -1 : producers_[size_t(id)]; }
  const std::vector<int>& consumers(TensorId id) const { return consumers_[size_t(id)]; }
  bool is_output(TensorId id) const { return is_output_[size_t(id)]; }
  /// The one node that reads `id`, −1 if there are more, none, or it is a graph output as well.
  int sole_consumer(TensorId id) const;

 private:
  std::vector<int> producers_;
  std::vector<std::vector<int>> consumers_;
  std::vector<bool> is_output_;
};

/// Value of a constant float32 tensor with exactly one element.
std::optional<float> constant_scalar(const Graph& graph, TensorId id);
/// True when `value` equals `wanted` up to the rounding of a constant that was written as float.
bool nearly(double value, double wanted);

/// Every use of `from` (node inputs, captured values of If) reads `to` instead. Graph outputs keep their tensor.
void replace_uses(Graph& graph, TensorId from, TensorId to);

/// The output's value for each of `channels` along `axis` counted from the right (1 = last axis) if `id` is a float
/// constant that varies along that axis only and does not enlarge an output of rank `rank`; otherwise nothing.
std::optional<std::vector<double>> per_channel_values(const Graph& graph, TensorId id, size_t rank,
                                                      size_t axis_from_right, int64_t channels);

}  // namespace lq::passes
