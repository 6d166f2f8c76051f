// A product operator's constant weights seen as output channels, whatever the operator: what batch-norm folding and
// weight quantization have in common.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lq::passes {

/// How the weight tensor of a product maps to output channels.
///   Conv          [M, C/g, k...]          channel = index along axis 0
///   ConvTranspose [C, M/g, k...]          channel = group · M/g + index along axis 1; group = index along axis 0 · g /
///   C Gemm          [K, N] or [N, K] (trans_b), MatMul [K, N]   channel = index along N
struct ProductWeights {
  TensorId weight = kNoTensor;
  TensorId bias = kNoTensor;      // constant or absent
  int axis = 0;                   // the axis output channels lie on
  int64_t channels = 0;           // output channels (all groups)
  int64_t groups = 1;             // > 1 only for ConvTranspose, where it matters to the mapping
  size_t channel_from_right = 1;  // where the channel axis of the OUTPUT is, counted from the right (1 = last)
  /// Output channel of each weight element, in the order of the tensor's data.
  std::vector<int32_t> channel_of_element(const Shape& weight_shape) const;
};

/// The view of `node`, or nothing plus the reason when its weights or bias are no float32 constants of a usable shape.
std::optional<ProductWeights> product_weights(const Graph& graph, const Node& node, std::string* reason);

/// Bias as one double a channel (zeros when absent). Only for a view product_weights() gave.
std::vector<double> bias_values(const Graph& graph, const Node& node, const ProductWeights& view);

/// Gemm only: alpha into the weights, beta into the bias (which becomes [N]), so that both are 1. Other operators:
/// no-op. New constants; the old ones stay for other readers.
Status normalize_gemm(Graph& graph, Node& node);

}  // namespace lq::passes
