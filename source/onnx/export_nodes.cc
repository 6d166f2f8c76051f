// Canonical nodes -> ONNX nodes: one to one, but for the few whose form differs.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "onnx/graph_exporter.h"
#include "onnx/quantized_constants.h"
#include "onnx/tensor_proto.h"

namespace lq {
namespace {

/// Scale and zero point initializers of a quantized tensor; the zero point gives ONNX the quantized type.
Status quant_inputs(GraphExporter& e, TensorId id, std::vector<std::string>& inputs) {
  const Tensor& t = e.graph().tensor(id);
  const QuantParams& q = *t.quant;
  const bool per_channel = q.granularity == schema::Granularity::PerChannel;
  inputs.push_back(e.float_constant(e.name_of(id) + "_scale", q.scale, !per_channel));
  Tensor zero;
  zero.dtype = e.is_written_as_uint8(id) ? DType::UInt8 : t.dtype;
  zero.ranked = true;
  if (per_channel) zero.shape = {int64_t(q.scale.size())};
  const size_t size = dtype_size(t.dtype);
  LQ_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(q.scale.size() * size, "zero points"));
  for (size_t c = 0; c < q.scale.size(); ++c) {
    const int32_t z = zero_point_at(q, c) + (zero.dtype == t.dtype ? 0 : 128);
    std::memcpy(buffer.data() + c * size, &z, size);  // little-endian: the low bytes
  }
  zero.data = Bytes::from(std::move(buffer));
  const std::string name = e.fresh(e.name_of(id) + "_zero_point");
  LQ_RETURN_IF_ERROR(e.add_initializer(zero, name));
  inputs.push_back(name);
  return {};
}

void put_axis(const QuantParams& q, onnx::NodeProto& p) {
  if (q.granularity == schema::Granularity::PerChannel) put(p, "axis", int64_t(q.axis));
}

/// True if `id` comes from a Relu whose 0 is the lowest quantized value, and the highest is the type's own.
bool keeps_to_limits(const Graph& graph, TensorId id, const QuantParams& q) {
  if (q.granularity != schema::Granularity::PerTensor || q.qmin != zero_point_at(q, 0)) return false;
  if (q.qmax != per_tensor_params(q.dtype, 1.0f, 0).qmax) return false;
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& n) { return n.op == Op::Relu && n.outputs[0] == id; });
}

/// ONNX saturates to the whole type: a narrower [qmin, qmax] needs a Clip on the real values first. (q − zp)·s is
/// rounded once to float and divides back to the integer exactly enough for the rounding that follows. Not where the
/// value keeps to it anyway: runtimes look for Relu right before QuantizeLinear.
Status write_quantize(GraphExporter& e, const Node& node) {
  const QuantParams& q = *e.graph().tensor(node.outputs[0]).quant;
  const QuantParams whole = per_tensor_params(q.dtype, 1.0f, 0);
  std::vector<std::string> inputs = {e.name_of(node.inputs[0])};
  if ((q.qmin != whole.qmin || q.qmax != whole.qmax) && !keeps_to_limits(e.graph(), node.inputs[0], q)) {
    if (q.granularity != schema::Granularity::PerTensor)
      return unsupported("a narrowed range per channel has no ONNX form");
    const double s = q.scale[0];
    const int32_t z = zero_point_at(q, 0);
    const std::string base = e.name_of(node.outputs[0]);
    const std::string low = e.float_constant(base + "_low", {float((q.qmin - z) * s)}, true);
    const std::string high = e.float_constant(base + "_high", {float((q.qmax - z) * s)}, true);
    const std::string clipped = e.fresh(base + "_clipped");
    e.add(node, "Clip", {inputs[0], low, high}, {clipped});
    inputs[0] = clipped;
  }
  LQ_RETURN_IF_ERROR(quant_inputs(e, node.outputs[0], inputs));
  put_axis(q, e.add(node, "QuantizeLinear", inputs, {e.name_of(node.outputs[0])}));
  return {};
}

Status write_dequantize(GraphExporter& e, const Node& node) {
  const TensorId id = node.inputs[0];
  const Tensor& t = e.graph().tensor(id);
  const QuantParams& q = *t.quant;
  if (t.is_constant() && q.granularity == schema::Granularity::PerChannel &&
      (size_t(q.axis) >= t.shape.size() || t.shape[size_t(q.axis)] != int64_t(q.scale.size()))) {
    LQ_ASSIGN_OR_RETURN(Tensor real, dequantized(t));  // grouped ConvTranspose
    return e.add_initializer(real, e.name_of(node.outputs[0]));
  }
  std::vector<std::string> inputs = {e.name_of(id)};
  LQ_RETURN_IF_ERROR(quant_inputs(e, id, inputs));
  put_axis(q, e.add(node, "DequantizeLinear", inputs, {e.name_of(node.outputs[0])}));
  return {};
}

Status write_silu(GraphExporter& e, const Node& node) {
  const std::string x = e.name_of(node.inputs[0]), y = e.name_of(node.outputs[0]);
  const std::string gate = e.fresh(y + "_sigmoid");
  e.add(node, "Sigmoid", {x}, {gate});
  e.add(node, "Mul", {x, gate}, {y});
  return {};
}

/// x/2 · (1 + erf(x/√2)), or with tanh(√(2/π)·(x + 0.044715·x³)).
Status write_gelu(GraphExporter& e, const Node& node) {
  const std::string x = e.name_of(node.inputs[0]), y = e.name_of(node.outputs[0]);
  auto binary = [&](const char* op, const std::string& a, const std::string& b, const char* what) {
    const std::string out = e.fresh(y + what);
    e.add(node, op, {a, b}, {out});
    return out;
  };
  auto constant = [&](float v, const char* what) { return e.float_constant(y + what, {v}, true); };
  const std::string one = constant(1.0f, "_one"), half = constant(0.5f, "_half");
  const std::string inner = e.fresh(y + "_inner");
  if (attrs_as<schema::GeluAttrsT>(node).tanh_approximation) {
    const std::string square = binary("Mul", x, x, "_x2"), cube = binary("Mul", square, x, "_x3");
    const std::string term = binary("Mul", cube, constant(0.044715f, "_c3"), "_cubic");
    const std::string sum = binary("Add", x, term, "_sum");
    e.add(node, "Tanh", {binary("Mul", sum, constant(0.7978845608028654f, "_c1"), "_scaled")}, {inner});
  } else {
    e.add(node, "Erf", {binary("Mul", x, constant(0.7071067811865476f, "_c1"), "_scaled")}, {inner});
  }
  const std::string gate = binary("Add", inner, one, "_gate");
  e.add(node, "Mul", {binary("Mul", x, half, "_halved"), gate}, {y});
  return {};
}

/// Before opset 18 only ReduceSum took its axes as an input.
Status write_reduce(GraphExporter& e, const Node& node) {
  const char* type = op_name(node.op);
  if (e.opset() >= 18 || node.op == Op::ReduceSum || node.input(1) == kNoTensor) {
    return write_attributes(node, e.opset(), e.add_plain(node, type));
  }
  const auto axes = constant_ints(e.graph(), node.inputs[1]);
  if (!axes) return unsupported("axes that are no constant cannot be written at opset 17");
  const bool copies = axes->empty() && attrs_as<schema::ReduceAttrsT>(node).noop_with_empty_axes;
  onnx::NodeProto& p =
      e.add(node, copies ? "Identity" : type, {e.name_of(node.inputs[0])}, {e.name_of(node.outputs[0])});
  if (copies) return {};
  if (!axes->empty()) put_list(p, "axes", *axes);
  return write_attributes(node, e.opset(), p);
}

Status write_resize(GraphExporter& e, const Node& node) {
  const auto& roi_values = attrs_as<schema::ResizeAttrsT>(node).roi;
  const std::string roi =
      roi_values.empty() ? "" : e.float_constant(e.name_of(node.outputs[0]) + "_roi", roi_values, false);
  std::vector<std::string> inputs = {e.name_of(node.inputs[0]), roi, e.name_of(node.input(1))};
  if (node.input(2) != kNoTensor) inputs.push_back(e.name_of(node.input(2)));
  return write_attributes(node, e.opset(), e.add(node, "Resize", inputs, {e.name_of(node.outputs[0])}));
}

Status write_split(GraphExporter& e, const Node& node) {
  onnx::NodeProto& p = e.add_plain(node, "Split");
  if (e.opset() >= 18 && node.input(1) == kNoTensor) put(p, "num_outputs", int64_t(node.outputs.size()));
  return write_attributes(node, e.opset(), p);
}

Status write_constant_of_shape(GraphExporter& e, const Node& node) {
  const Tensor& value = e.graph().tensor(node.inputs[1]);
  if (!value.is_constant()) return unsupported("its value is no constant");
  onnx::NodeProto& p = e.add(node, "ConstantOfShape", {e.name_of(node.inputs[0])}, {e.name_of(node.outputs[0])});
  auto& a = *p.add_attribute();
  a.set_name("value");
  a.set_type(onnx::AttributeProto::TENSOR);
  return tensor_to_proto(value, *a.mutable_t());
}

}  // namespace

Status write_node(GraphExporter& e, const Node& node) {
  switch (node.op) {
    case Op::QuantizeLinear:
      return write_quantize(e, node);
    case Op::DequantizeLinear:
      return write_dequantize(e, node);
    case Op::Silu:
      return write_silu(e, node);
    case Op::Gelu:
      return write_gelu(e, node);
    case Op::Resize:
      return write_resize(e, node);
    case Op::Split:
      return write_split(e, node);
    case Op::ConstantOfShape:
      return write_constant_of_shape(e, node);
    case Op::If:
      return e.write_branches(node);
    case Op::ReduceMean:
    case Op::ReduceSum:
    case Op::ReduceMax:
    case Op::ReduceMin:
    case Op::ReduceProd:
    case Op::ReduceL2:
      return write_reduce(e, node);
    default:
      return write_attributes(node, e.opset(), e.add_plain(node, op_name(node.op)));
  }
}

}  // namespace lq
