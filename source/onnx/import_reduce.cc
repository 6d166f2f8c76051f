// Pooling, reductions, ArgMax/ArgMin, TopK.
#include "onnx/node_import.h"

namespace lq {
namespace {

Status convert_pool(NodeImport& node) {
  schema::PoolAttrsT attrs;
  attrs.kernel_shape = node.attr_ints("kernel_shape");
  attrs.strides = node.attr_ints("strides");
  attrs.pads = node.attr_ints("pads");
  attrs.dilations = node.attr_ints("dilations");
  attrs.ceil_mode = node.attr_bool("ceil_mode", false);
  LQ_ASSIGN_OR_RETURN(attrs.auto_pad, auto_pad_of(node));
  if (node.row().op == Op::AveragePool) attrs.count_include_pad = node.attr_bool("count_include_pad", false);
  if (node.row().op == Op::MaxPool) attrs.storage_order = node.attr_int("storage_order", 0);
  node.emit(node.row().op, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

/// Axes as an attribute (older opsets) or as an input, in either case an input here.
TensorId reduce_axes(NodeImport& node) {
  if (node.has_input(1)) return node.as_int_list(1, "axes");
  if (!node.has_attr("axes")) return kNoTensor;
  return node.constant_ints(node.attr_int64s("axes"), "axes");
}

schema::ReduceAttrsT reduce_attrs(NodeImport& node) {
  schema::ReduceAttrsT attrs;
  attrs.keepdims = node.attr_bool("keepdims", true);
  attrs.noop_with_empty_axes = node.attr_bool("noop_with_empty_axes", false);
  return attrs;
}

Status convert_reduce(NodeImport& node) {
  const TensorId axes = reduce_axes(node);
  schema::ReduceAttrsT attrs = reduce_attrs(node);
  node.emit(node.row().op, {node.input(0), axes}).attrs.Set(std::move(attrs));
  return {};
}

/// ReduceL1 = sum |x|, ReduceSumSquare = sum x·x, ReduceLogSum = log sum x.
Status convert_reduce_composed(NodeImport& node) {
  const std::string_view type = node.row().op_type;
  const TensorId axes = reduce_axes(node);
  schema::ReduceAttrsT attrs = reduce_attrs(node);
  TensorId x = node.input(0);
  if (type == "ReduceL1") x = node.emit_inner(Op::Abs, {x}, "abs");
  if (type == "ReduceSumSquare") x = node.emit_inner(Op::Mul, {x, x}, "square");
  if (type == "ReduceLogSum") {
    node.emit(Op::Log, {node.emit_inner(Op::ReduceSum, {x, axes}, "sum", make_attrs(std::move(attrs)))});
  } else {
    node.emit(Op::ReduceSum, {x, axes}).attrs.Set(std::move(attrs));
  }
  return {};
}

Status convert_arg(NodeImport& node) {
  schema::ArgMaxAttrsT attrs;
  attrs.axis = node.attr_int("axis", 0);
  attrs.keepdims = node.attr_bool("keepdims", true);
  attrs.select_last_index = node.attr_bool("select_last_index", false);
  node.emit(node.row().op, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

Status convert_top_k(NodeImport& node) {
  schema::TopKAttrsT attrs;
  attrs.axis = node.attr_int("axis", -1);
  attrs.largest = node.attr_bool("largest", true);
  attrs.sorted = node.attr_bool("sorted", true);
  TensorId k;
  if (node.opset() < 10) {
    if (!node.has_attr("k")) return corrupt("attribute 'k' is missing");
    k = node.constant_ints({node.attr_int64("k", 1)}, "k");
  } else {
    if (!node.has_input(1)) return corrupt("input 1 (k) is missing");
    k = node.as_int_list(1, "k");
  }
  node.emit(Op::TopK, {node.input(0), k}).attrs.Set(std::move(attrs));
  return {};
}

constexpr ImportRow kRows[] = {
    {"MaxPool", 1, kLatestOpset, Op::MaxPool, 1, 1, convert_pool},
    {"AveragePool", 7, kLatestOpset, Op::AveragePool, 1, 1, convert_pool},
    {"GlobalAveragePool", 1, kLatestOpset, Op::GlobalAveragePool, 1, 1, convert_plain},
    {"GlobalMaxPool", 1, kLatestOpset, Op::GlobalMaxPool, 1, 1, convert_plain},
    {"ReduceMean", 1, kLatestOpset, Op::ReduceMean, 1, 2, convert_reduce},
    {"ReduceSum", 1, kLatestOpset, Op::ReduceSum, 1, 2, convert_reduce},
    {"ReduceMax", 1, kLatestOpset, Op::ReduceMax, 1, 2, convert_reduce},
    {"ReduceMin", 1, kLatestOpset, Op::ReduceMin, 1, 2, convert_reduce},
    {"ReduceProd", 1, kLatestOpset, Op::ReduceProd, 1, 2, convert_reduce},
    {"ReduceL2", 1, kLatestOpset, Op::ReduceL2, 1, 2, convert_reduce},
    {"ReduceL1", 1, kLatestOpset, Op::ReduceSum, 1, 2, convert_reduce_composed},
    {"ReduceSumSquare", 1, kLatestOpset, Op::ReduceSum, 1, 2, convert_reduce_composed},
    {"ReduceLogSum", 1, kLatestOpset, Op::ReduceSum, 1, 2, convert_reduce_composed},
    {"ArgMax", 1, kLatestOpset, Op::ArgMax, 1, 1, convert_arg},
    {"ArgMin", 1, kLatestOpset, Op::ArgMin, 1, 1, convert_arg},
    {"TopK", 1, kLatestOpset, Op::TopK, 1, 2, convert_top_k},
};

}  // namespace

std::span<const ImportRow> reduce_rows() { return kRows; }

}  // namespace lq
