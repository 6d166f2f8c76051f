// Operators that move values without computing: what older opsets gave as attributes becomes constant inputs.
#include "graph/op_def.h"
#include "onnx/node_import.h"

namespace lq {
namespace {

Attrs axis_attrs(int axis) {
  schema::AxisAttrsT attrs;
  attrs.axis = axis;
  return make_attrs(std::move(attrs));
}

Status convert_concat(NodeImport& node) {
  if (!node.has_attr("axis") && node.opset() >= 4) return corrupt("attribute 'axis' is missing");
  for (TensorId id : node.inputs()) {
    if (id == kNoTensor) return corrupt("an input is missing");
  }
  node.emit(Op::Concat, node.inputs()).attrs = axis_attrs(node.attr_int("axis", 1));
  return {};
}

/// Opset 18's num_outputs: chunks of ceil(d / n), the last one smaller. An even split needs no sizes.
Result<TensorId> uneven_split_sizes(NodeImport& node, int axis) {
  const Tensor& x = node.input_tensor(0);
  const int64_t n = int64_t(node.output_count());
  if (!x.ranked) return kNoTensor;
  LQ_ASSIGN_OR_RETURN(const int a, normalize_axis(axis, x.shape.size()));
  const int64_t d = x.shape[size_t(a)];
  if (d == kUnknownDim || n == 0 || d % n == 0) return kNoTensor;
  const int64_t chunk = (d + n - 1) / n, last = d - chunk * (n - 1);
  if (last < 0) return corrupt("cannot split " + std::to_string(d) + " into " + std::to_string(n) + " chunks");
  std::vector<int64_t> sizes(size_t(n), chunk);
  sizes.back() = last;
  return node.constant_ints(sizes, "sizes");
}

Status convert_split(NodeImport& node) {
  const int axis = node.attr_int("axis", 0);
  TensorId sizes = kNoTensor;
  if (node.opset() < 13) {
    if (node.has_attr("split")) sizes = node.constant_ints(node.attr_int64s("split"), "sizes");
  } else if (node.has_input(1)) {
    sizes = node.as_int_list(1, "sizes");
  } else if (node.has_attr("num_outputs")) {
    if (node.attr_int64("num_outputs", 0) != int64_t(node.output_count()))
      return corrupt("num_outputs differs from its outputs");
    LQ_ASSIGN_OR_RETURN(sizes, uneven_split_sizes(node, axis));
  }
  node.emit(Op::Split, {node.input(0), sizes}).attrs = axis_attrs(axis);
  return {};
}

Status convert_slice_attributes(NodeImport& node) {
  const TensorId starts = node.constant_ints(node.attr_int64s("starts"), "starts");
  const TensorId ends = node.constant_ints(node.attr_int64s("ends"), "ends");
  TensorId axes = kNoTensor;
  if (node.has_attr("axes")) axes = node.constant_ints(node.attr_int64s("axes"), "axes");
  node.emit(Op::Slice, {node.input(0), starts, ends, axes});
  return {};
}

Status convert_slice(NodeImport& node) {
  node.emit(Op::Slice, {node.input(0), node.as_int_list(1, "starts"), node.as_int_list(2, "ends"),
                        node.as_int_list(3, "axes"), node.as_int_list(4, "steps")});
  return {};
}

Status convert_gather(NodeImport& node) {
  node.emit(Op::Gather, node.inputs()).attrs = axis_attrs(node.attr_int("axis", 0));
  return {};
}

Status convert_pad(NodeImport& node) {
  schema::PadAttrsT attrs;
  const std::string mode = node.attr_string("mode", "constant");
  if (mode == "constant")
    attrs.mode = schema::PadMode::Constant;
  else if (mode == "reflect")
    attrs.mode = schema::PadMode::Reflect;
  else if (mode == "edge")
    attrs.mode = schema::PadMode::Edge;
  else if (mode == "wrap" && node.opset() >= 19)
    attrs.mode = schema::PadMode::Wrap;
  else
    return corrupt("mode is '" + mode + "'");
  std::vector<TensorId> inputs = {node.input(0)};
  if (node.opset() < 11) {
    inputs.push_back(node.constant_ints(node.attr_int64s("pads"), "pads"));
    inputs.push_back(node.constant_float(node.attr_float("value", 0.0f), "value"));
  } else {
    if (!node.has_input(1)) return corrupt("input 1 (pads) is missing");
    inputs.insert(inputs.end(), {node.as_int_list(1, "pads"), node.as_scalar(2), node.as_int_list(3, "axes")});
  }
  node.emit(Op::Pad, std::move(inputs)).attrs.Set(std::move(attrs));
  return {};
}

Status convert_reshape(NodeImport& node) {
  schema::ReshapeAttrsT attrs;
  attrs.allow_zero = node.attr_bool("allowzero", false);
  node.emit(Op::Reshape, {node.input(0), node.as_int_list(1, "shape")}).attrs.Set(std::move(attrs));
  return {};
}

Status convert_flatten(NodeImport& node) {
  node.emit(Op::Flatten, node.inputs()).attrs = axis_attrs(node.attr_int("axis", 1));
  return {};
}

/// Squeeze and Unsqueeze.
Status convert_squeeze(NodeImport& node) {
  TensorId axes = kNoTensor;
  if (node.opset() >= 13)
    axes = node.as_int_list(1, "axes");
  else if (node.has_attr("axes"))
    axes = node.constant_ints(node.attr_int64s("axes"), "axes");
  if (axes == kNoTensor && node.row().op == Op::Unsqueeze) return corrupt("axes are missing");
  node.emit(node.row().op, {node.input(0), axes});
  return {};
}

Status convert_transpose(NodeImport& node) {
  schema::TransposeAttrsT attrs;
  attrs.perm = node.attr_ints("perm");
  node.emit(Op::Transpose, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

/// Expand (shape) and Tile (repeats).
Status convert_with_list(NodeImport& node) {
  node.emit(node.row().op, {node.input(0), node.as_int_list(1, "list")});
  return {};
}

constexpr ImportRow kRows[] = {
    {"Concat", 1, kLatestOpset, Op::Concat, 1, 255, convert_concat},
    {"Split", 2, 12, Op::Split, 1, 1, convert_split},
    {"Split", 13, kLatestOpset, Op::Split, 1, 2, convert_split},
    {"Slice", 1, 9, Op::Slice, 1, 1, convert_slice_attributes},
    {"Slice", 10, kLatestOpset, Op::Slice, 3, 5, convert_slice},
    {"Gather", 1, kLatestOpset, Op::Gather, 2, 2, convert_gather},
    {"Pad", 2, 10, Op::Pad, 1, 1, convert_pad},
    {"Pad", 11, kLatestOpset, Op::Pad, 2, 4, convert_pad},
    {"Reshape", 5, kLatestOpset, Op::Reshape, 2, 2, convert_reshape},
    {"Flatten", 1, kLatestOpset, Op::Flatten, 1, 1, convert_flatten},
    {"Squeeze", 1, 12, Op::Squeeze, 1, 1, convert_squeeze},
    {"Squeeze", 13, kLatestOpset, Op::Squeeze, 1, 2, convert_squeeze},
    {"Unsqueeze", 1, 12, Op::Unsqueeze, 1, 1, convert_squeeze},
    {"Unsqueeze", 13, kLatestOpset, Op::Unsqueeze, 2, 2, convert_squeeze},
    {"Transpose", 1, kLatestOpset, Op::Transpose, 1, 1, convert_transpose},
    {"Expand", 8, kLatestOpset, Op::Expand, 2, 2, convert_with_list},
    {"Tile", 6, kLatestOpset, Op::Tile, 2, 2, convert_with_list},
};

}  // namespace

std::span<const ImportRow> move_rows() { return kRows; }

}  // namespace lq
