// How much memory constants made by folding may take. Folded values lie outside the caller's allocator and stay for the
// session's life, and a file of a hundred bytes can ask for any amount: Expand of one number to a gigabyte.
#pragma once
#include <algorithm>
#include <cstddef>
#include <set>

#include "graph/graph.h"

namespace lq {

class FoldBudget {
 public:
  /// Of one value: always allowed up to kSmall, beyond it only up to kWidening times what it is made of (int8 weights
  /// become float).
  static constexpr size_t kSmall = size_t(64) << 20, kWidening = 4;
  /// Of all values together, on top of kWidening times the model's constants.
  static constexpr size_t kTogether = size_t(256) << 20;

  explicit FoldBudget(const ModelIr& model) : left_(kTogether) {
    std::set<const uint8_t*> seen;
    for (const Graph& graph : model.graphs) {
      for (const Tensor& t : graph.tensors) {
        if (t.is_constant() && seen.insert(t.data.data()).second) left_ += kWidening * t.data.size();
      }
    }
  }

  /// Whether a node's outputs of `bytes` may become constants; counts them if so. Otherwise the node stays and its
  /// outputs take their place in the arena, which the caller's allocator gives.
  bool take(const Graph& graph, const Node& node, size_t bytes) {
    size_t inputs = 0;
    for (TensorId id : node.inputs) {
      if (id != kNoTensor) inputs += graph.tensor(id).data.size();
    }
    if (bytes > left_ || (bytes > kSmall && bytes > kWidening * inputs)) return false;
    left_ -= bytes;
    return true;
  }

 private:
  size_t left_;
};

}  // namespace lq
