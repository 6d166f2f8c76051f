// Tensors that must share one scale and zero point because operators only move values between them.
#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "quantization/precision.h"

namespace lq::quantization {

struct ParamGroup {
  std::vector<TensorId> members;    // ascending
  TensorId calibrated = kNoTensor;  // the member whose values decide the range
  /// Range known from the operator that writes it: [0, 1] of Sigmoid, HardSigmoid, Softmax; [−1, 1] of Tanh; the bounds
  /// of a Clip whose values are results. (A Clip inside is an activation: where its values end is for the data to say.
  /// With the bounds of every ReLU6 instead, mcunet's outputs lose 1.5 dB.)
  std::optional<ValueRange> fixed;
  std::optional<float> must_hold;  // constant of a Pad inside the group: widens the range
  bool is_graph_input = false;     // raw data: its observed range counts, not a threshold
  bool is_result = false;  // results of the model, maybe moved on the way: white stays white, nothing is clipped
};

class ParamGroups {
 public:
  /// Which tensors get int8 values: data inputs of int8 nodes, outputs of int8 nodes other than float-writing products.
  /// Input and outputs of a pass-through operator share parameters. Concat: an input whose int8 readers all end in this
  /// Concat takes the Concat's parameters (its producer writes them directly); others keep their own and are
  /// requantized.
  static ParamGroups build(const Graph& graph, const PrecisionPlan& plan);

  const std::vector<ParamGroup>& groups() const { return groups_; }
  /// Index of the tensor's group, −1 when it has no int8 form.
  int of(TensorId id) const { return id == kNoTensor ? -1 : group_of_[size_t(id)]; }

 private:
  std::vector<ParamGroup> groups_;
  std::vector<int> group_of_;
};

}  // namespace lq::quantization
