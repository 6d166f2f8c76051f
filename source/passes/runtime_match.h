// What the runtime passes look for: constant clamps, per-tensor int8 and int16 values, weights of a product.
#pragma once
#include <optional>

#include "graph/graph.h"

namespace lq::passes {

/// Bounds of a Relu or of a Clip whose bounds are constants or absent; nothing for other nodes, NaN bounds or min >
/// max.
std::optional<ValueRange> constant_clamp(const Graph& graph, const Node& node);

/// An int8 tensor with one scale and zero point known from the file: what the integer rules take.
bool is_int8_per_tensor(const Tensor& tensor);
/// The same, or uint8: what Requantize takes (public inputs and outputs keep uint8).
bool is_8bit_per_tensor(const Tensor& tensor);
/// An int8 tensor as above, or an int16 one with one scale known from the file and zero point 0: what products by
/// constant weights, sums, products of two tensors and moves take.
bool is_activation(const Tensor& tensor);
/// Same type, bounds, scale and zero point: a value passes from one to the other unchanged.
bool is_same_quantization(const QuantParams& a, const QuantParams& b);

/// A constant int8 tensor with zero point 0 and one scale, or one for each of `channels` along `axis`.
bool is_int8_weights(const Tensor& tensor, int axis, int64_t channels);
/// A constant int32 tensor with zero point 0 and one value an output channel, along its last axis, in units of
/// s_x·s_w[c] (within 2^-16: other tools round that product elsewhere). Other units would change the bias's real value.
bool is_int32_bias(const Tensor& tensor, int64_t channels, const QuantParams& x, const QuantParams& w);

}  // namespace lq::passes
