// Normalizations and softmax.
#include "onnx/node_import.h"

namespace lq {
namespace {

Attrs epsilon_attrs(float epsilon, int axis = -1) {
  schema::NormAttrsT attrs;
  attrs.epsilon = epsilon;
  attrs.axis = axis;
  return make_attrs(std::move(attrs));
}

Status convert_batch_norm(NodeImport& node) {
  const float epsilon = node.attr_float("epsilon", 1e-5f);
  node.ignore_attr("momentum");  // moves the running statistics, training only
  if (node.opset() < 9 && node.attr_int64("spatial", 1) != 1)
    return unsupported("spatial=0 (per-activation statistics) is not supported");
  if (node.opset() >= 14 && node.attr_int64("training_mode", 0) != 0) {
    return unsupported("training_mode=1 is not supported; export the model in inference mode");
  }
  for (size_t i = 1; i < node.output_count(); ++i) {
    if (node.has_output(i))
      return unsupported("statistics outputs are training only; export the model in inference mode");
  }
  node.emit(Op::BatchNormalization, node.inputs(), 1).attrs = epsilon_attrs(epsilon);
  return {};
}

Status convert_instance_norm(NodeImport& node) {
  node.emit(Op::InstanceNormalization, node.inputs()).attrs = epsilon_attrs(node.attr_float("epsilon", 1e-5f));
  return {};
}

/// The canonical operator has the normalized output only; Mean and InvStdDev, where wanted, are computed beside it.
Status convert_layer_norm(NodeImport& node) {
  const float epsilon = node.attr_float("epsilon", 1e-5f);
  const int axis = node.attr_int("axis", -1);
  if (node.attr_int64("stash_type", 1) != 1) return unsupported("stash_type other than float is not supported");
  node.emit(Op::LayerNormalization, node.inputs(), 1).attrs = epsilon_attrs(epsilon, axis);
  if (!node.has_output(1) && !node.has_output(2)) return {};

  const Tensor& x = node.input_tensor(0);
  if (!x.ranked) return unsupported("Mean and InvStdDev outputs need an input of known rank");
  std::vector<int64_t> reduced;
  const int rank = int(x.shape.size());
  for (int i = axis < 0 ? axis + rank : axis; i < rank; ++i) reduced.push_back(i);
  const TensorId axes = node.constant_ints(reduced, "axes");
  const TensorId mean = node.emit_inner(Op::ReduceMean, {node.input(0), axes}, "mean");
  const TensorId difference = node.emit_inner(Op::Sub, {node.input(0), mean}, "difference");
  const TensorId square = node.emit_inner(Op::Mul, {difference, difference}, "square");
  const TensorId variance = node.emit_inner(Op::ReduceMean, {square, axes}, "variance");
  const TensorId shifted =
      node.emit_inner(Op::Add, {variance, node.constant_float(epsilon, "epsilon")}, "variance_epsilon");
  const TensorId deviation = node.emit_inner(Op::Sqrt, {shifted}, "deviation");
  node.alias(1, mean);
  if (node.has_output(2)) node.alias(2, node.emit_inner(Op::Reciprocal, {deviation}, "inverse_deviation"));
  return {};
}

Status convert_softmax(NodeImport& node) {
  schema::AxisAttrsT attrs;
  attrs.axis = node.attr_int("axis", -1);
  node.emit(node.row().op, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

/// Before opset 13 the input was flattened to 2-D at `axis` and the softmax ran over the second dimension. That is the
/// plain operator where everything after `axis` has size 1; otherwise Flatten, Softmax, Reshape to the input's shape.
Status convert_softmax_flattened(NodeImport& node) {
  const int axis = node.attr_int("axis", 1);
  const Tensor& x = node.input_tensor(0);
  bool plain = axis == -1;
  if (x.ranked) {
    const int rank = int(x.shape.size()), first = axis < 0 ? axis + rank : axis;
    if (first < 0 || first > rank)
      return corrupt("axis " + std::to_string(axis) + " does not exist in " + shape_string(x.shape));
    plain = first < rank;
    for (int i = first + 1; i < rank; ++i) plain &= x.shape[size_t(i)] == 1;
  }
  const Shape known = x.ranked && is_static(x.shape) ? x.shape : Shape();
  schema::AxisAttrsT attrs;
  attrs.axis = plain ? axis : -1;
  if (plain) {
    node.emit(node.row().op, node.inputs()).attrs.Set(std::move(attrs));
    return {};
  }
  schema::AxisAttrsT flatten;
  flatten.axis = axis;
  const TensorId flat = node.emit_inner(Op::Flatten, node.inputs(), "flat", make_attrs(std::move(flatten)));
  const TensorId soft = node.emit_inner(node.row().op, {flat}, "soft", make_attrs(std::move(attrs)));
  const TensorId shape = known.empty()
                             ? node.emit_inner(Op::Shape, node.inputs(), "shape", make_attrs(schema::ShapeAttrsT{}))
                             : node.constant_ints(known, "shape");
  node.emit(Op::Reshape, {soft, shape}).attrs.Set(schema::ReshapeAttrsT{});
  return {};
}

constexpr ImportRow kRows[] = {
    {"BatchNormalization", 7, kLatestOpset, Op::BatchNormalization, 5, 5, convert_batch_norm},
    {"InstanceNormalization", 6, kLatestOpset, Op::InstanceNormalization, 3, 3, convert_instance_norm},
    {"LayerNormalization", 17, kLatestOpset, Op::LayerNormalization, 2, 3, convert_layer_norm},
    {"Softmax", 1, 12, Op::Softmax, 1, 1, convert_softmax_flattened},
    {"Softmax", 13, kLatestOpset, Op::Softmax, 1, 1, convert_softmax},
    {"LogSoftmax", 1, 12, Op::LogSoftmax, 1, 1, convert_softmax_flattened},
    {"LogSoftmax", 13, kLatestOpset, Op::LogSoftmax, 1, 1, convert_softmax},
};

}  // namespace

std::span<const ImportRow> norm_rows() { return kRows; }

}  // namespace lq
