#include "graph/op_forms.h"

#include <algorithm>

#include "graph/built_ops.h"

namespace lq {
namespace {

bool is_product(Op op) { return op == Op::Conv || op == Op::ConvTranspose || op == Op::Gemm || op == Op::MatMul; }
bool is_int8(const Tensor& t) { return t.dtype == DType::Int8 && t.quant.has_value(); }
bool is_int16(const Tensor& t) { return t.dtype == DType::Int16 && t.quant.has_value(); }
bool all_equal(const std::vector<int32_t>& v, int32_t value) {
  return std::all_of(v.begin(), v.end(), [value](int32_t x) { return x == value; });
}

unsigned product_forms(const Graph& graph, const Node& node) {
  const Tensor &x = graph.tensor(node.inputs[0]), &w = graph.tensor(node.inputs[1]);
  const bool int8 = is_int8(x), short_x = is_int16(x), integer = int8 || short_x;
  const bool plain = w.is_constant() && w.quant && w.quant->qmin >= -127 && all_equal(w.quant->zero_point, 0);
  const bool wide = integer && (!plain || short_x || is_int16(graph.tensor(node.outputs[0])));
  unsigned forms = (integer ? kFormInt8 : kFormFloat) | (wide ? kFormInt16 : 0u);
  if (node.op != Op::Conv || w.shape.size() < 3) return forms;
  const auto& attrs = attrs_as<schema::ConvAttrsT>(node);
  const Shape& s = w.shape;
  const bool square = s.size() == 4 && s[2] == s[3] && all_equal(attrs.dilations, 1);
  if (s[1] == 1 && s[0] == attrs.groups) {
    if (!integer) return kFormDepthwiseFloat;
    unsigned window = kFormDepthwiseWindows;
    if (square && s[2] == 3 && !wide) window = 0;
    if (square && s[2] == 5 && !wide) window = kFormDepthwise5x5;
    return kFormDepthwiseInt8 | window;
  }
  if (int8 && square && s[2] == 3 && attrs.groups == 1 && all_equal(attrs.strides, 1)) forms |= kFormWinograd;
  return forms;
}

}  // namespace

unsigned op_forms(const Graph& graph, const Node& node) {
  if (is_product(node.op)) return product_forms(graph, node);
  unsigned forms = 0;
  const auto add = [&](TensorId id, bool constants) {
    if (id == kNoTensor) return;
    const Tensor& t = graph.tensor(id);
    if (t.is_constant() && !constants) return;
    if (is_int8(t)) forms |= kFormInt8;
    if (is_int16(t)) forms |= kFormInt16;
    if (t.dtype == DType::Float32) forms |= kFormFloat;
  };
  for (TensorId id : node.inputs) add(id, false);
  for (TensorId id : node.outputs) add(id, true);
  return forms != 0 ? forms : unsigned(kFormOther);
}

std::string op_forms_item(Op op, unsigned forms) {
  std::string names;
  for (const OpFormName& f : kOpFormNames) {
    if ((forms & f.form) != 0 || (forms == 0 && f.form == 0))
      names += (names.empty() ? ":" : "+") + std::string(f.name);
  }
  return op_name(op) + names;
}

Status not_built(const Node& node) {
  return internal_error(std::string("this build of libquant lacks a form of ") + op_name(node.op));
}

Status check_built(const Graph& graph, const Node& node) {
  if (kEveryOpBuilt) return {};
  const unsigned missing = op_forms(graph, node) & ~built_forms(node.op);
  if (missing == 0) return {};
  const std::string item = op_forms_item(node.op, missing);
  return unsupported(node_label(graph, node) + " needs " + item +
                     ", which this build of libquant leaves out; build it with " + item + " in LIBQUANT_OPS");
}

}  // namespace lq
