// Which operators have an int8 or int16 form, by docs/NUMERICS.md and by what their constants allow.
#include <algorithm>
#include <cmath>

#include "passes/product_weights.h"
#include "passes/rewrite.h"
#include "quantization/precision.h"

namespace lq::quantization {
namespace {

bool is_activation(const Graph& graph, TensorId id) {
  return id != kNoTensor && !graph.tensor(id).is_constant() && graph.tensor(id).dtype == DType::Float32;
}

/// Tables whose 256 entries resolve the function. Exp, Log, Reciprocal, Sqrt change too fast for 8-bit inputs, Floor
/// and its kin jump, Sin and Cos usually see large phases: those run in float although a file may ask for their tables.
bool is_table_worthy(Op op) {
  switch (op) {
    case Op::Relu:
    case Op::Clip:
    case Op::LeakyRelu:
    case Op::Elu:
    case Op::Selu:
    case Op::Sigmoid:
    case Op::HardSigmoid:
    case Op::HardSwish:
    case Op::Silu:
    case Op::Tanh:
    case Op::Gelu:
    case Op::Erf:
    case Op::Softplus:
    case Op::Neg:
    case Op::Abs:
      return true;
    default:
      return false;
  }
}

std::string check_constant_weights(const Graph& graph, const Node& node) {
  std::string reason;
  if (!passes::product_weights(graph, node, &reason)) return reason;
  for (TensorId id : {node.input(1), node.input(2)}) {
    if (id == kNoTensor) continue;
    const std::vector<float> values = *constant_floats(graph, id);
    const bool sane = std::all_of(values.begin(), values.end(), [](float v) { return std::abs(v) < 1e30f; });
    if (!sane) return "weights or bias hold NaN, Inf or values above 1e30";
  }
  return "";
}

std::string check_product(const Graph& graph, const Node& node) {
  if (!is_activation(graph, node.input(0))) return "its first input is no float activation";
  const Tensor& x = graph.tensor(node.inputs[0]);
  if (node.op == Op::MatMul && (!x.ranked || x.shape.size() < 2)) return "a vector times a matrix has no int8 form";
  if (node.op != Op::MatMul || graph.tensor(node.inputs[1]).is_constant()) return check_constant_weights(graph, node);
  if (!is_activation(graph, node.input(1))) return "its second input is no float activation";
  // The integer rule for two activations writes int8 only, so its result cannot be a (float) output of the model.
  return is_graph_output(graph, node.outputs[0]) ? "a product of two activations that is a model output" : "";
}

/// A constant operand becomes an integer with one scale and `levels` steps up to the largest entry; small entries
/// beside large ones would lose too much in a product.
std::string check_constant_operand(const Graph& graph, const Node& node, int levels) {
  size_t constants = 0;
  for (TensorId id : node.inputs) {
    if (!graph.tensor(id).is_constant()) continue;
    ++constants;
    const auto values = constant_floats(graph, id);
    if (!values || values->empty()) return "its constant operand is no float32";
    float largest = 0, smallest = INFINITY;
    for (float v : *values) {
      if (!(std::abs(v) < 1e30f)) return "its constant operand holds NaN, Inf or values above 1e30";
      largest = std::max(largest, std::abs(v));
      if (v != 0) smallest = std::min(smallest, std::abs(v));
    }
    // Relative error of the smallest entry is largest/254/smallest in int8; 2 % is what a factor may be off.
    if (node.op == Op::Mul && smallest * float(levels) < largest * 25.4f)
      return "its constant factors span too wide a range for one scale";
  }
  return constants == node.inputs.size() ? "all its inputs are constants" : "";
}

std::string check_resize(const Node& node) {
  const auto& attrs = attrs_as<schema::ResizeAttrsT>(node);
  if (attrs.antialias) return "anti-aliased Resize has no int8 form";
  if (attrs.coordinate_mode == schema::CoordinateMode::TfCropAndResize)
    return "Resize by tf_crop_and_resize has no int8 form";
  return "";
}

std::string check_pass_through(const Graph& graph, const Node& node) {
  if (node.output(1) != kNoTensor && node.op == Op::MaxPool) return "MaxPool with indices has no int8 form";
  if (node.op == Op::Pad && node.input(2) != kNoTensor && !passes::constant_scalar(graph, node.input(2)))
    return "its pad value is no constant";
  if (node.op == Op::Resize) return check_resize(node);
  return "";
}

std::string check_average(const Graph& graph, const Node& node) {
  if (!is_activation(graph, node.input(0))) return "its input is a constant";
  if (node.op != Op::ReduceMean) return "";
  const auto axes = constant_ints(graph, node.input(1));
  if (node.input(1) != kNoTensor && !axes) return "its axes are no constants";
  const bool no_axes = !axes || axes->empty();
  return no_axes && attrs_as<schema::ReduceAttrsT>(node).noop_with_empty_axes ? "a ReduceMean over no axes is a copy"
                                                                              : "";
}

}  // namespace

bool is_float_constant(const Graph& graph, TensorId id) {
  return id != kNoTensor && graph.tensor(id).is_constant() && graph.tensor(id).dtype == DType::Float32;
}

QuantRule rule_of(const Node& node) {
  if (node.op == Op::Resize) {
    const bool nearest = attrs_as<schema::ResizeAttrsT>(node).mode == schema::ResizeMode::Nearest;
    return nearest ? QuantRule::kPassThrough : QuantRule::kResize;
  }
  const OpDef* def = find_op(node.op);
  return def ? def->quant : QuantRule::kFloatOnly;
}

bool is_weight_product(const Graph& graph, const Node& node) {
  return rule_of(node) == QuantRule::kProduct && graph.tensor(node.inputs[1]).is_constant();
}

std::vector<size_t> data_inputs(const Graph& graph, const Node& node) {
  switch (rule_of(node)) {
    case QuantRule::kAddSub:
    case QuantRule::kMul:
      return {0, 1};
    case QuantRule::kProduct:
      if (node.op == Op::MatMul && !graph.tensor(node.inputs[1]).is_constant()) return {0, 1};
      return {0};
    case QuantRule::kPassThrough: {
      if (node.op != Op::Concat) return {0};
      std::vector<size_t> all(node.inputs.size());
      for (size_t i = 0; i < all.size(); ++i) all[i] = i;
      return all;
    }
    case QuantRule::kFloatOnly:
      return {};
    default:
      return {0};
  }
}

namespace {

/// `levels`: steps of a constant operand on each side of zero.
std::string why_not(const Graph& graph, const Node& node, int levels) {
  const TensorId out = node.output(0);
  if (out != kNoTensor && graph.tensor(out).dtype != DType::Float32) return "its result is not float";
  for (size_t i : data_inputs(graph, node)) {
    const TensorId id = node.inputs[i];
    if (!is_activation(graph, id) && !is_float_constant(graph, id))
      return "its data input is neither a float activation nor a constant";
  }
  switch (rule_of(node)) {
    case QuantRule::kProduct:
      return check_product(graph, node);
    case QuantRule::kAddSub:
    case QuantRule::kMul:
      return check_constant_operand(graph, node, levels);
    case QuantRule::kTable:
      if (!is_activation(graph, node.input(0))) return "its input is a constant";
      if (!is_table_worthy(node.op)) return "8-bit inputs do not resolve this function";
      for (size_t i = 1; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != kNoTensor && !passes::constant_scalar(graph, node.inputs[i]))
          return "its limits are no constants";
      }
      return "";
    case QuantRule::kPRelu:
      return is_float_constant(graph, node.input(1)) ? "" : "its slope is no constant";
    case QuantRule::kAverage:
      return check_average(graph, node);
    case QuantRule::kPassThrough:
      return node.op == Op::Concat || is_activation(graph, node.input(0)) ? check_pass_through(graph, node)
                                                                          : "its data is a constant";
    case QuantRule::kResize:
      return check_resize(node);
    case QuantRule::kFloatOnly:
      break;
  }
  return "no int8 form";
}

}  // namespace

std::string why_not_int8(const Graph& graph, const Node& node) { return why_not(graph, node, 127); }

bool can_write_int16(const Graph& graph, const Node& node) {
  switch (rule_of(node)) {
    case QuantRule::kProduct:
      return is_weight_product(graph, node);
    case QuantRule::kAddSub:
    case QuantRule::kMul:
    case QuantRule::kPassThrough:
      return true;
    default:
      return false;
  }
}

std::string why_not_int16(const Graph& graph, const Node& node) {
  const bool folds = node.op == Op::Relu || node.op == Op::Clip;
  if (!folds && !can_write_int16(graph, node)) return "no int16 form";
  return why_not(graph, node, 32767);
}

bool stores_int8(const Graph& graph, const Node& node) {
  constexpr size_t kLeast = 1024;
  if (node.op != Op::LayerNormalization) return false;
  bool any = false;
  for (const TensorId id : {node.input(1), node.input(2)}) {
    if (id == kNoTensor) continue;
    if (!is_float_constant(graph, id) || graph.tensor(id).shape.size() < 2) return false;
    const std::vector<float> values = *constant_floats(graph, id);
    if (values.size() < kLeast) return false;
    any = std::all_of(values.begin(), values.end(), [](float v) { return std::abs(v) < 1e30f; });
    if (!any) return false;
  }
  return any;
}

}  // namespace lq::quantization
