// One or more inputs, element by element.
#include <cfloat>

#include "onnx/node_import.h"

namespace lq {
namespace {

Status set_activation(NodeImport& node, float alpha, float beta, float gamma) {
  schema::ActivationAttrsT attrs;
  attrs.alpha = alpha;
  attrs.beta = beta;
  attrs.gamma = gamma;
  node.emit(node.row().op, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

Status convert_leaky_relu(NodeImport& n) { return set_activation(n, n.attr_float("alpha", 0.01f), 0, 0); }
Status convert_elu(NodeImport& n) { return set_activation(n, n.attr_float("alpha", 1.0f), 0, 0); }
Status convert_hard_sigmoid(NodeImport& n) {
  return set_activation(n, n.attr_float("alpha", 0.2f), n.attr_float("beta", 0.5f), 0);
}
Status convert_selu(NodeImport& n) {  // the defaults of ONNX, exact in binary32
  return set_activation(n, n.attr_float("alpha", 1.67326319217681884765625f), 0,
                        n.attr_float("gamma", 1.05070102214813232421875f));
}

/// Opset 6: bounds are attributes.
Status convert_clip_attributes(NodeImport& node) {
  TensorId low = kNoTensor, high = kNoTensor;
  const float min = node.attr_float("min", -FLT_MAX), max = node.attr_float("max", FLT_MAX);
  if (node.has_attr("min")) low = node.constant_float(min, "min");
  if (node.has_attr("max")) high = node.constant_float(max, "max");
  node.emit(Op::Clip, {node.input(0), low, high});
  return {};
}

Status convert_clip(NodeImport& node) {
  node.emit(Op::Clip, {node.input(0), node.as_scalar(1), node.as_scalar(2)});
  return {};
}

Status convert_gelu(NodeImport& node) {
  const std::string approximate = node.attr_string("approximate", "none");
  if (approximate != "none" && approximate != "tanh") return corrupt("approximate is '" + approximate + "'");
  schema::GeluAttrsT attrs;
  attrs.tanh_approximation = approximate == "tanh";
  node.emit(Op::Gelu, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

/// A cast to float16, bfloat16 or double is one to float32, as every such tensor of the model is (tensor_proto.h).
Status convert_cast(NodeImport& node) {
  node.ignore_attr("saturate");    // float8 only
  node.ignore_attr("round_mode");  // float8e8m0 only
  const int to = node.attr_int("to", 0);
  LQ_ASSIGN_OR_RETURN(const DType dtype, dtype_from_onnx(to));
  schema::CastAttrsT attrs;
  attrs.to = imported_dtype(dtype);
  if (node.input_tensor(0).dtype == attrs.to) {  // changes nothing: a weight behind a Cast stays a constant
    node.alias(0, node.input(0));
    return {};
  }
  node.emit(Op::Cast, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

Status convert_mod(NodeImport& node) {
  schema::ModAttrsT attrs;
  attrs.fmod = node.attr_bool("fmod", false);
  node.emit(Op::Mod, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

/// Sum and Mean of n tensors: a chain of Add in the order of the inputs, Mean then divides by n.
Status convert_sum(NodeImport& node) {
  const bool mean = std::string_view(node.row().op_type) == "Mean";
  const size_t n = node.inputs().size();
  for (TensorId id : node.inputs()) {
    if (id == kNoTensor) return corrupt("an input is missing");
  }
  if (n == 1) {
    node.alias(0, node.input(0));
    return {};
  }
  TensorId sum = node.input(0);
  for (size_t i = 1; i + 1 < n; ++i) sum = node.emit_inner(Op::Add, {sum, node.input(i)}, "sum");
  if (!mean) {
    node.emit(Op::Add, {sum, node.input(n - 1)});
    return {};
  }
  sum = node.emit_inner(Op::Add, {sum, node.input(n - 1)}, "sum");
  node.emit(Op::Div, {sum, node.constant_float(float(n), "count")});
  return {};
}

Status convert_min_max(NodeImport& node) {
  if (node.inputs().size() == 1)
    node.alias(0, node.input(0));
  else
    node.emit(node.row().op, node.inputs());
  return {};
}

Status convert_xor(NodeImport& node) {
  node.emit(Op::Not, {node.emit_inner(Op::Equal, node.inputs(), "equal")});
  return {};
}

/// x / (1 + |x|)
Status convert_softsign(NodeImport& node) {
  const TensorId magnitude = node.emit_inner(Op::Abs, {node.input(0)}, "abs");
  const TensorId one = node.constant_float(1.0f, "one");
  node.emit(Op::Div, {node.input(0), node.emit_inner(Op::Add, {magnitude, one}, "denominator")});
  return {};
}

constexpr ImportRow kRows[] = {
    {"Relu", 6, kLatestOpset, Op::Relu, 1, 1, convert_plain},
    {"LeakyRelu", 6, kLatestOpset, Op::LeakyRelu, 1, 1, convert_leaky_relu},
    {"Clip", 6, 10, Op::Clip, 1, 1, convert_clip_attributes},
    {"Clip", 11, kLatestOpset, Op::Clip, 1, 3, convert_clip},
    {"Elu", 6, kLatestOpset, Op::Elu, 1, 1, convert_elu},
    {"Selu", 6, kLatestOpset, Op::Selu, 1, 1, convert_selu},
    {"Sigmoid", 6, kLatestOpset, Op::Sigmoid, 1, 1, convert_plain},
    {"HardSigmoid", 6, kLatestOpset, Op::HardSigmoid, 1, 1, convert_hard_sigmoid},
    {"HardSwish", 14, kLatestOpset, Op::HardSwish, 1, 1, convert_plain},
    {"Tanh", 6, kLatestOpset, Op::Tanh, 1, 1, convert_plain},
    {"Gelu", 20, kLatestOpset, Op::Gelu, 1, 1, convert_gelu},
    {"Erf", 9, kLatestOpset, Op::Erf, 1, 1, convert_plain},
    {"Softplus", 1, kLatestOpset, Op::Softplus, 1, 1, convert_plain},
    {"Softsign", 1, kLatestOpset, Op::Undefined, 1, 1, convert_softsign},
    {"Sqrt", 6, kLatestOpset, Op::Sqrt, 1, 1, convert_plain},
    {"Exp", 6, kLatestOpset, Op::Exp, 1, 1, convert_plain},
    {"Log", 6, kLatestOpset, Op::Log, 1, 1, convert_plain},
    {"Neg", 6, kLatestOpset, Op::Neg, 1, 1, convert_plain},
    {"Abs", 6, kLatestOpset, Op::Abs, 1, 1, convert_plain},
    {"Reciprocal", 6, kLatestOpset, Op::Reciprocal, 1, 1, convert_plain},
    {"Floor", 6, kLatestOpset, Op::Floor, 1, 1, convert_plain},
    {"Ceil", 6, kLatestOpset, Op::Ceil, 1, 1, convert_plain},
    {"Round", 11, kLatestOpset, Op::Round, 1, 1, convert_plain},
    {"Sign", 9, kLatestOpset, Op::Sign, 1, 1, convert_plain},
    {"Sin", 7, kLatestOpset, Op::Sin, 1, 1, convert_plain},
    {"Cos", 7, kLatestOpset, Op::Cos, 1, 1, convert_plain},
    {"Not", 1, kLatestOpset, Op::Not, 1, 1, convert_plain},
    {"Cast", 6, kLatestOpset, Op::Cast, 1, 1, convert_cast},
    {"Add", 7, kLatestOpset, Op::Add, 2, 2, convert_plain},
    {"Sub", 7, kLatestOpset, Op::Sub, 2, 2, convert_plain},
    {"Mul", 7, kLatestOpset, Op::Mul, 2, 2, convert_plain},
    {"Div", 7, kLatestOpset, Op::Div, 2, 2, convert_plain},
    {"Pow", 7, kLatestOpset, Op::Pow, 2, 2, convert_plain},
    {"Mod", 10, kLatestOpset, Op::Mod, 2, 2, convert_mod},
    {"Min", 8, kLatestOpset, Op::Min, 1, 255, convert_min_max},
    {"Max", 8, kLatestOpset, Op::Max, 1, 255, convert_min_max},
    {"Sum", 8, kLatestOpset, Op::Undefined, 1, 255, convert_sum},
    {"Mean", 8, kLatestOpset, Op::Undefined, 1, 255, convert_sum},
    {"Equal", 7, kLatestOpset, Op::Equal, 2, 2, convert_plain},
    {"Less", 7, kLatestOpset, Op::Less, 2, 2, convert_plain},
    {"Greater", 7, kLatestOpset, Op::Greater, 2, 2, convert_plain},
    {"LessOrEqual", 12, kLatestOpset, Op::LessOrEqual, 2, 2, convert_plain},
    {"GreaterOrEqual", 12, kLatestOpset, Op::GreaterOrEqual, 2, 2, convert_plain},
    {"And", 7, kLatestOpset, Op::And, 2, 2, convert_plain},
    {"Or", 7, kLatestOpset, Op::Or, 2, 2, convert_plain},
    {"Xor", 7, kLatestOpset, Op::Undefined, 2, 2, convert_xor},
    {"Where", 9, kLatestOpset, Op::Where, 3, 3, convert_plain},
    {"PRelu", 7, kLatestOpset, Op::PRelu, 2, 2, convert_plain},
};

}  // namespace

std::span<const ImportRow> elementwise_rows() { return kRows; }

}  // namespace lq
