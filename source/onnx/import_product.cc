// Convolution, matrix products and the recurrent cells.
#include "onnx/node_import.h"

namespace lq {

Result<schema::AutoPad> auto_pad_of(NodeImport& node) {
  const std::string v = node.attr_string("auto_pad", "NOTSET");
  if (v == "NOTSET" || v.empty()) return schema::AutoPad::NotSet;
  if (v == "SAME_UPPER") return schema::AutoPad::SameUpper;
  if (v == "SAME_LOWER") return schema::AutoPad::SameLower;
  if (v == "VALID") return schema::AutoPad::Valid;
  return corrupt("auto_pad is '" + v + "'");
}

namespace {

Status convert_conv(NodeImport& node) {
  schema::ConvAttrsT attrs;
  attrs.kernel_shape = node.attr_ints("kernel_shape");
  attrs.strides = node.attr_ints("strides");
  attrs.pads = node.attr_ints("pads");
  attrs.dilations = node.attr_ints("dilations");
  attrs.groups = node.attr_int("group", 1);
  LQ_ASSIGN_OR_RETURN(attrs.auto_pad, auto_pad_of(node));
  if (node.row().op == Op::ConvTranspose) {
    attrs.output_padding = node.attr_ints("output_padding");
    attrs.output_shape = node.attr_ints("output_shape");
  }
  node.emit(node.row().op, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

Status convert_gemm(NodeImport& node) {
  schema::GemmAttrsT attrs;
  attrs.alpha = node.attr_float("alpha", 1.0f);
  attrs.beta = node.attr_float("beta", 1.0f);
  attrs.trans_a = node.attr_bool("transA", false);
  attrs.trans_b = node.attr_bool("transB", false);
  node.emit(Op::Gemm, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

Status convert_einsum(NodeImport& node) {
  schema::EinsumAttrsT attrs;
  attrs.equation = node.attr_string("equation", "");
  node.emit(Op::Einsum, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

Status convert_rnn(NodeImport& node) {
  schema::RnnAttrsT attrs;
  attrs.hidden_size = node.attr_int("hidden_size", 0);
  const std::string direction = node.attr_string("direction", "forward");
  if (direction == "forward")
    attrs.direction = schema::RnnDirection::Forward;
  else if (direction == "reverse")
    attrs.direction = schema::RnnDirection::Reverse;
  else if (direction == "bidirectional")
    attrs.direction = schema::RnnDirection::Bidirectional;
  else
    return corrupt("direction is '" + direction + "'");
  attrs.batch_first = node.attr_bool("layout", false);
  attrs.clip = node.attr_float("clip", 0.0f);
  attrs.activations = node.attr_strings("activations");
  attrs.activation_alpha = node.attr_floats("activation_alpha");
  attrs.activation_beta = node.attr_floats("activation_beta");
  if (node.row().op == Op::GRU) attrs.linear_before_reset = node.attr_bool("linear_before_reset", false);
  if (node.row().op == Op::LSTM) attrs.input_forget = node.attr_bool("input_forget", false);
  node.emit(node.row().op, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

constexpr ImportRow kRows[] = {
    {"Conv", 1, kLatestOpset, Op::Conv, 2, 3, convert_conv},
    {"ConvTranspose", 1, kLatestOpset, Op::ConvTranspose, 2, 3, convert_conv},
    {"Gemm", 7, kLatestOpset, Op::Gemm, 2, 3, convert_gemm},
    {"MatMul", 1, kLatestOpset, Op::MatMul, 2, 2, convert_plain},
    {"Einsum", 12, kLatestOpset, Op::Einsum, 1, 255, convert_einsum},
    {"LSTM", 7, kLatestOpset, Op::LSTM, 3, 8, convert_rnn},
    {"GRU", 7, kLatestOpset, Op::GRU, 3, 6, convert_rnn},
};

}  // namespace

std::span<const ImportRow> product_rows() { return kRows; }

}  // namespace lq
