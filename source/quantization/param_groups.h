// Tensors that must share one scale and zero point because operators only move values between them.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "quantization/precision.h"

namespace lq::quantization {

struct ParamGroup {
  DType dtype = DType::Int8;        // or Int16
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
  /// Which tensors get quantized values: data inputs of integer nodes, outputs of integer nodes other than
  /// float-writing products. The readers of a tensor decide its type; without any it is the producer's. Read as both,
  /// it has both: the producer writes int16, and that is requantized to int8. Input and outputs of a pass-through
  /// operator share parameters. Concat: an input whose readers of its type all end in this Concat takes the Concat's
  /// parameters (its producer writes them directly); others keep their own and are requantized.
  static ParamGroups build(const Graph& graph, const PrecisionPlan& plan);

  const std::vector<ParamGroup>& groups() const { return groups_; }
  /// Index of the tensor's group of that type, −1 when it has no such form.
  int of(TensorId id, DType dtype) const {
    return id == kNoTensor ? -1 : group_of_[dtype == DType::Int16 ? 1 : 0][size_t(id)];
  }
  /// Of the group its producer writes, −1 when it has no quantized form.
  int of(TensorId id) const {
    const int wide = of(id, DType::Int16);
    return wide >= 0 ? wide : of(id, DType::Int8);
  }

 private:
  std::vector<ParamGroup> groups_;
  std::array<std::vector<int>, 2> group_of_;  // int8, int16
};

}  // namespace lq::quantization
