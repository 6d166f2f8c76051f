// Which operators of a float graph compute in int8 or int16, and why the others do not.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"
#include "quantization/node_requests.h"

namespace lq::quantization {

enum class Precision : uint8_t {
  kNotFloat,  // shapes, indices, booleans: nothing to quantize
  kFloat,
  kInt8,
  kInt16,  // int16 activations, int8 weights
};
/// Reads and writes quantized values.
constexpr bool is_integer(Precision p) { return p == Precision::kInt8 || p == Precision::kInt16; }
/// "int8", "int16", "float", or "-" where there is nothing to quantize.
const char* precision_name(Precision p);

struct NodePlan {
  Precision precision = Precision::kFloat;
  std::string reason;            // why it is float; empty for int8 and int16
  bool pinned = false;           // int8 or int16 because it was asked for: the rules below do not take it back
  bool int8_parameters = false;  // float arithmetic, but its constants are stored as int8, see stores_int8()
  int fused_activation = -1;     // integer: the Relu or Clip behind it that only narrows its output range; a node index
  int fused_into = -1;           // integer Relu or Clip: the node it is fused into
};

/// One entry a node of the graph, same order.
using PrecisionPlan = std::vector<NodePlan>;

/// The inputs of `node` that carry activations (not weights, bias, shapes, slopes). Constants count as activations
/// where an operator treats both sides alike (Add, Concat …).
std::vector<size_t> data_inputs(const Graph& graph, const Node& node);

/// The rule `node` follows when its data is int8; linear Resize is kResize, nearest kPassThrough.
QuantRule rule_of(const Node& node);
/// Conv, ConvTranspose, Gemm and MatMul by constant: may write float from integer accumulators.
bool is_weight_product(const Graph& graph, const Node& node);
/// True when the tensor is a float32 constant.
bool is_float_constant(const Graph& graph, TensorId id);

/// Why `node` cannot compute in int8; empty when NUMERICS has an integer rule for this very node.
std::string why_not_int8(const Graph& graph, const Node& node);

/// The same for int16: products by constant weights, sums and products of two tensors, operators that move values, and
/// a Relu or Clip that can be folded into one of the first two kinds (whether it is, the plan says).
std::string why_not_int16(const Graph& graph, const Node& node);
/// May write int16, whatever it reads: an operator of why_not_int16() other than Relu and Clip.
bool can_write_int16(const Graph& graph, const Node& node);

/// True for a float operator whose constants weigh like weights: LayerNormalization with a scale and bias for every
/// position of a map ([C, H, W], at least 1024 numbers). They are stored in int8, one scale a channel (axis 0), as
/// convolution weights are, and dequantized when a session is made. `--skip` keeps them in float.
bool stores_int8(const Graph& graph, const Node& node);

/// Decides for every node. Wishes come first (an int8 or int16 wish for a node without that form leaves it float);
/// then, in order:
///  1. a node is a candidate when NUMERICS has an integer rule for it and its weights are usable constants;
///  2. operators that lead to float operators and outputs only stay float (the product before them writes float
///  anyway),
///     unless they are products: logits, boxes and scores keep float resolution;
///  3. elementwise operators that read float values only stay float: quantizing later costs one rounding less;
///  4. a residual sum that a normalization reads stays float, since normalizations want its full range;
///  5. an operator that moves values is int16 if an int16 operator reads what it moved;
///  6. what cannot write int16 but is read by an int16 operator computes in float, and so does a Relu or Clip asked for
///     in int16 that is folded into nothing.
PrecisionPlan plan_precision(const Graph& graph, const NodeRequests& requests);

/// The same with skip patterns only, see resolve_requests.
Result<PrecisionPlan> plan_precision(const Graph& graph, const std::vector<std::string>& skip,
                                     const std::vector<std::string>& original_names = {});

}  // namespace lq::quantization
