// What verify() asks of constants, asked once: many tensors and nodes may name one constant, and a hostile file lets a
// hundred thousand of them name its largest. Internal to graph/.
#pragma once
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace lq {

/// How a product reads its weights: [outer, dim, inner], dim the channel axis; `groups` of a ConvTranspose spread that
/// axis over groups · dim channels; `batch` matrices of a MatMul lie one after another.
struct WeightView {
  int64_t outer = 1, dim = 1, inner = 1, groups = 1, batch = 1;
  auto operator<=>(const WeightView&) const = default;
};

class ConstantFacts {
 public:
  /// Allows the work of reading every constant of the model some twenty times; sound models need two.
  explicit ConstantFacts(const ModelIr& model);

  /// Smallest and largest value of a constant integer tensor; {0, 0} when empty or not of an integer type.
  Result<std::pair<int64_t, int64_t>> extremes(const Tensor& t);
  /// Σ|q_w| of every output channel of int8 weights; of a batch the largest sum of its matrices. The pointer is valid
  /// as long as this object.
  Result<const std::vector<int64_t>*> channel_sums(const Tensor& w, const WeightView& view);
  /// Counts `work` (bytes or numbers looked at); an error once there is too much of it.
  Status spend(size_t work);

 private:
  uint64_t left_;
  std::map<std::tuple<const uint8_t*, size_t, DType>, std::pair<int64_t, int64_t>> extremes_;
  std::map<std::pair<const uint8_t*, WeightView>, std::vector<int64_t>> sums_;
};

}  // namespace lq
