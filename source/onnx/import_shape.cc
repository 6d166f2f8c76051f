// Constants, shape arithmetic, and operators that vanish.
#include <cstring>

#include "onnx/node_import.h"

namespace lq {
namespace {

Status convert_constant(NodeImport& node) {
  Tensor tensor;
  if (node.has_attr("value")) {
    LQ_ASSIGN_OR_RETURN(tensor, node.attr_tensor("value"));
    tensor.name = node.output_name(0);
    node.alias(0, node.builder().add_tensor(std::move(tensor)));
  } else if (node.has_attr("value_float")) {
    const float v = node.attr_float("value_float", 0);
    node.alias(0, node.constant(DType::Float32, {}, &v, "value"));
  } else if (node.has_attr("value_floats")) {
    const auto v = node.attr_floats("value_floats");
    node.alias(0, node.constant(DType::Float32, {int64_t(v.size())}, v.data(), "value"));
  } else if (node.has_attr("value_int")) {
    const int64_t v = node.attr_int64("value_int", 0);
    node.alias(0, node.constant(DType::Int64, {}, &v, "value"));
  } else if (node.has_attr("value_ints")) {
    node.alias(0, node.constant_ints(node.attr_int64s("value_ints"), "value"));
  } else {
    return unsupported("only value, value_float(s) and value_int(s) are supported (no sparse or string constants)");
  }
  return {};
}

Status convert_constant_of_shape(NodeImport& node) {
  LQ_ASSIGN_OR_RETURN(Tensor value, node.attr_tensor("value"));
  TensorId id;
  if (value.is_constant()) {
    if (element_count(value.shape) != 1) return corrupt("value must have one element");
    value.name = node.output_name(0) + "/value";
    value.shape = {1};
    id = node.builder().add_tensor(std::move(value));
  } else {
    const float zero = 0.0f;
    id = node.constant(DType::Float32, {1}, &zero, "value");
  }
  node.emit(Op::ConstantOfShape, {node.as_int_list(0, "shape"), id});
  return {};
}

Status convert_shape(NodeImport& node) {
  schema::ShapeAttrsT attrs;
  attrs.start = node.attr_int("start", 0);
  attrs.end = node.attr_int("end", attrs.end);
  node.emit(Op::Shape, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

Status convert_range(NodeImport& node) {
  node.emit(Op::Range, {node.as_scalar(0), node.as_scalar(1), node.as_scalar(2)});
  return {};
}

Status convert_identity(NodeImport& node) {
  node.alias(0, node.input(0));
  return {};
}

/// Whether the training_mode input of Dropout asks for training: unknown counts as yes.
bool wants_training(NodeImport& node) {
  if (!node.has_input(2)) return false;
  const Tensor& t = node.input_tensor(2);
  if (!t.is_constant() || t.data.size() != 1) return true;
  return t.data.data()[0] != 0;
}

/// In inference mode the output is the input and the mask is all true.
Status convert_dropout(NodeImport& node) {
  node.ignore_attr("ratio");  // training only
  node.ignore_attr("seed");
  bool identity = !wants_training(node);
  if (!identity && node.has_input(1)) {
    const auto ratio = constant_floats(node.graph(), node.input(1));
    identity = ratio && ratio->size() == 1 && (*ratio)[0] == 0.0f;  // drops nothing, scales by 1
  }
  if (!identity) return unsupported("training mode is not supported; export the model in inference mode");
  node.alias(0, node.input(0));
  if (!node.has_output(1)) return {};
  const TensorId shape = node.emit_inner(Op::Shape, {node.input(0)}, "shape", make_attrs(schema::ShapeAttrsT{}));
  const bool yes = true;
  const float one = 1.0f;  // before opset 10 the mask had the input's type
  const TensorId value = node.opset() < 10 ? node.constant(DType::Float32, {1}, &one, "true")
                                           : node.constant(DType::Bool, {1}, &yes, "true");
  node.alias(1, node.emit_inner(Op::ConstantOfShape, {shape, value}, "mask"));
  return {};
}

constexpr ImportRow kRows[] = {
    {"Constant", 1, kLatestOpset, Op::Undefined, 0, 0, convert_constant},
    {"ConstantOfShape", 9, kLatestOpset, Op::ConstantOfShape, 1, 1, convert_constant_of_shape},
    {"Shape", 1, kLatestOpset, Op::Shape, 1, 1, convert_shape},
    {"Size", 1, kLatestOpset, Op::Size, 1, 1, convert_plain},
    {"Range", 11, kLatestOpset, Op::Range, 3, 3, convert_range},
    {"Identity", 1, kLatestOpset, Op::Identity, 1, 1, convert_identity},
    {"Dropout", 7, 11, Op::Undefined, 1, 1, convert_dropout},
    {"Dropout", 12, kLatestOpset, Op::Undefined, 1, 3, convert_dropout, 1u << 1 | 1u << 2},
};

}  // namespace

std::span<const ImportRow> shape_rows() { return kRows; }

}  // namespace lq
