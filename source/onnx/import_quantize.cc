// QuantizeLinear and DequantizeLinear. ONNX gives scale and zero point as inputs of the node; here they belong to the
// quantized tensor. uint8 becomes int8 by −128 (values and zero point): GraphBuilder remembers such tensors as
// "shifted".
#include <cstring>

#include "graph/op_def.h"
#include "numerics/quantize.h"
#include "onnx/node_import.h"
#include "onnx/quantized_constants.h"

namespace lq {
namespace {

/// Zero points as int32, whatever their type.
std::vector<int32_t> zero_points(const Tensor& t) {
  std::vector<int32_t> values;
  const size_t size = dtype_size(t.dtype);
  for (size_t i = 0; i < t.data.size() / size; ++i) {
    const uint8_t* p = t.data.data() + i * size;
    int32_t v = 0;
    if (t.dtype == DType::UInt8)
      v = *p;
    else if (t.dtype == DType::Int8)
      v = int8_t(*p);
    else if (t.dtype == DType::Int16)
      v = int16_t(uint16_t(p[0] | p[1] << 8));
    else
      std::memcpy(&v, p, 4);
    values.push_back(v);
  }
  return values;
}

/// What the scale and zero point inputs say, in ONNX's domain. `quantized` is the type of the quantized side when there
/// is no zero point; `rank` the rank of the data, −1 unknown.
Result<QuantParams> read_params(NodeImport& node, DType quantized, int rank) {
  if (node.attr_int64("block_size", 0) != 0) return unsupported("blocked quantization (block_size) is not supported");
  int axis = node.attr_int("axis", 1);
  const auto scales = constant_floats(node.graph(), node.input(1));
  if (!scales) return corrupt("the scale must be float");
  std::vector<int32_t> zeros = {0};
  if (node.has_input(2)) {
    const Tensor& z = node.input_tensor(2);
    quantized = z.dtype;
  }
  if (quantized != DType::Int8 && quantized != DType::UInt8 && quantized != DType::Int16 && quantized != DType::Int32) {
    return unsupported(std::string("quantization to ") + dtype_name(quantized) + " is not supported");
  }
  if (node.has_input(2)) zeros = zero_points(node.input_tensor(2));
  for (float s : *scales) {
    if (!is_valid_scale(s)) return corrupt("the scale " + std::to_string(s) + " is not positive, finite and normal");
  }
  if (scales->empty() || (zeros.size() != scales->size() && zeros.size() != 1)) {
    return corrupt(std::to_string(scales->size()) + " scales, but " + std::to_string(zeros.size()) + " zero points");
  }
  QuantParams params = per_tensor_params(quantized, (*scales)[0], zeros[0]);
  if (scales->size() == 1) return params;
  if (rank == 1) axis = 0;  // the default axis 1 cannot be meant for a bias
  if (rank >= 0) {
    LQ_ASSIGN_OR_RETURN(axis, normalize_axis(axis, size_t(rank)));
  } else if (axis < 0)
    return unsupported("a negative axis needs an input of known rank");
  params.granularity = schema::Granularity::PerChannel;
  params.axis = axis;
  params.scale = *scales;
  zeros.resize(scales->size(), zeros[0]);
  params.zero_point = zeros;
  return params;
}

int rank_of(const Tensor& t) { return t.ranked ? int(t.shape.size()) : -1; }

bool is_dynamic(NodeImport& node) {
  return !node.input_tensor(1).is_constant() || (node.has_input(2) && !node.input_tensor(2).is_constant());
}

Status check_dynamic(NodeImport& node) {
  const Tensor& scale = node.input_tensor(1);
  if (!scale.ranked || element_count(scale.shape) != 1)
    return unsupported("a scale computed at run time must be one number");
  node.ignore_attr("axis");
  if (node.attr_int64("block_size", 0) != 0) return unsupported("blocked quantization (block_size) is not supported");
  return {};
}

Attrs cast_to(DType type) {
  schema::CastAttrsT attrs;
  attrs.to = type;
  return make_attrs(std::move(attrs));
}

/// A scale known at run time only: literally round(x / s) + zp, saturated, as numbers without quantization parameters.
Status quantize_dynamically(NodeImport& node, DType type) {
  LQ_RETURN_IF_ERROR(check_dynamic(node));
  if (node.has_input(2)) type = node.input_tensor(2).dtype;
  if (type != DType::UInt8 && type != DType::Int8)
    return unsupported(std::string("quantization to ") + dtype_name(type) + " is not supported");
  TensorId y =
      node.emit_inner(Op::Round, {node.emit_inner(Op::Div, {node.input(0), node.input(1)}, "scaled")}, "rounded");
  if (node.has_input(2)) {
    const TensorId zero = node.emit_inner(Op::Cast, {node.input(2)}, "zero_point", cast_to(DType::Float32));
    y = node.emit_inner(Op::Add, {y, zero}, "moved");
  }
  const bool u = type == DType::UInt8;
  const TensorId low = node.constant_float(u ? 0.0f : -128.0f, "low"),
                 high = node.constant_float(u ? 255.0f : 127.0f, "high");
  node.emit(Op::Cast, {node.emit_inner(Op::Clip, {y, low, high}, "clipped")}).attrs = cast_to(type);
  return {};
}

/// (x − zp)·s in float: exact up to the product, since both are small integers or (int32) without a zero point.
Status dequantize_dynamically(NodeImport& node) {
  LQ_RETURN_IF_ERROR(check_dynamic(node));
  if (node.input_tensor(0).quant)
    return unsupported("a scale computed at run time, for a tensor quantized with a constant one");
  TensorId x = node.emit_inner(Op::Cast, {node.input(0)}, "float", cast_to(DType::Float32));
  if (node.has_input(2)) {
    const TensorId zero = node.emit_inner(Op::Cast, {node.input(2)}, "zero_point", cast_to(DType::Float32));
    x = node.emit_inner(Op::Sub, {x, zero}, "centred");
  }
  node.emit(Op::Mul, {x, node.input(1)});
  return {};
}

Status convert_quantize(NodeImport& node) {
  node.ignore_attr("saturate");   // float8 only
  node.ignore_attr("precision");  // of the division: ours is float32
  DType type = DType::UInt8;
  if (const int given = node.attr_int("output_dtype", 0); given != 0) {
    LQ_ASSIGN_OR_RETURN(type, dtype_from_onnx(given));
  }
  if (is_dynamic(node)) return quantize_dynamically(node, type);
  const Tensor& x = node.input_tensor(0);
  if (x.dtype != DType::Float32 && x.dtype != DType::Undefined) return unsupported("its input must be float");
  LQ_ASSIGN_OR_RETURN(QuantParams params, read_params(node, type, rank_of(x)));
  if (params.dtype == DType::Int32) return unsupported("quantization to int32 is not supported");
  const bool shift = params.dtype == DType::UInt8;
  const TensorId id = node.emit(Op::QuantizeLinear, {node.input(0)}).outputs[0];
  Tensor& q = node.graph().tensor(id);
  q.quant = shift ? shifted_params(params) : params;
  q.dtype = q.quant->dtype;
  if (shift) node.builder().mark_shifted(id);
  return {};
}

/// The convolution or matrix product whose weight the dequantized value is, or nullptr: those need zero point 0 and no
/// −128.
const onnx::NodeProto* weight_reader(NodeImport& node) {
  for (const GraphBuilder::Use& use : node.builder().uses(node.output_name(0))) {
    const ImportRow* row = find_import_row(op_type_of(*use.node), node.opset());
    if (row == nullptr || use.input != 1) continue;
    if (row->op == Op::Conv || row->op == Op::ConvTranspose || row->op == Op::Gemm || row->op == Op::MatMul)
      return use.node;
  }
  return nullptr;
}

/// ONNX gives a grouped ConvTranspose one scale a slice of axis 1, shared by the groups; here every output channel has
/// one.
void repeat_for_groups(const onnx::NodeProto& reader, const Tensor& weight, QuantParams& params) {
  const int64_t groups = op_type_of(reader) == "ConvTranspose" ? int_attribute_of(reader, "group", 1) : 1;
  if (groups <= 1 || params.granularity != schema::Granularity::PerChannel || params.axis != 1) return;
  if (groups > weight.shape[0]) return;  // refused when shapes are inferred
  const QuantParams once = params;
  for (int64_t g = 1; g < groups; ++g) {
    params.scale.insert(params.scale.end(), once.scale.begin(), once.scale.end());
    params.zero_point.insert(params.zero_point.end(), once.zero_point.begin(), once.zero_point.end());
  }
}

Status dequantize_constant(NodeImport& node, QuantParams params) {
  Tensor t = node.input_tensor(0);
  if (params.granularity == schema::Granularity::PerChannel &&
      (size_t(params.axis) >= t.shape.size() || t.shape[size_t(params.axis)] != int64_t(params.scale.size()))) {
    return corrupt(std::to_string(params.scale.size()) + " scales do not fit axis " + std::to_string(params.axis) +
                   " of " + shape_string(t.shape));
  }
  if (t.dtype != params.dtype) {
    return corrupt(std::string("the data is ") + dtype_name(t.dtype) + ", the zero point " + dtype_name(params.dtype));
  }
  if (params.dtype == DType::Int32) {
    for (int32_t z : params.zero_point) {
      if (z != 0) return unsupported("an int32 tensor needs zero point 0");
    }
  }
  if (params.dtype == DType::UInt8) {
    LQ_ASSIGN_OR_RETURN(t.data, shifted_bytes(t.data));
    t.dtype = DType::Int8;
    params = shifted_params(params);
  }
  const onnx::NodeProto* reader = t.dtype == DType::Int8 ? weight_reader(node) : nullptr;
  if (reader != nullptr) repeat_for_groups(*reader, t, params);
  t.quant = std::move(params);
  if (reader != nullptr) {
    LQ_ASSIGN_OR_RETURN(const bool exact, make_symmetric(t));
    if (!exact) {
      node.builder().state().options.logger.log(
          LogLevel::kWarning,
          onnx_label(node.proto()) +
              ": weights with a zero point or -128 that have no exact symmetric int8 form run in float");
      LQ_ASSIGN_OR_RETURN(t, dequantized(t));
      t.name = node.output_name(0);
      node.alias(0, node.builder().add_tensor(std::move(t)));
      return {};
    }
  }
  const TensorId id = node.builder().add_tensor(std::move(t));
  node.emit(Op::DequantizeLinear, {id});
  return {};
}

bool only_dequantized(NodeImport& node, const std::string& name) {
  for (const GraphBuilder::Use& use : node.builder().uses(name)) {
    if (op_type_of(*use.node) != "DequantizeLinear" || use.input != 0) return false;
  }
  return true;
}

/// A public uint8 input: dequantize, quantize to int8 (exact), so that what follows sees int8 like any other
/// activation.
TensorId int8_twin(NodeImport& node, TensorId uint8, const QuantParams& params, const std::string& name) {
  node.graph().tensor(uint8).quant = params;
  const TensorId real = node.emit_inner(Op::DequantizeLinear, {uint8}, "uint8_real");
  const TensorId twin = node.emit_inner(Op::QuantizeLinear, {real}, "int8");
  Tensor& t = node.graph().tensor(twin);
  t.quant = shifted_params(params);
  t.dtype = DType::Int8;
  node.builder().mark_shifted(twin);
  node.builder().bind(name, twin);
  return twin;
}

Status convert_dequantize(NodeImport& node) {
  node.ignore_attr("output_dtype");  // a float type, and all of them are float32 here
  if (is_dynamic(node)) return dequantize_dynamically(node);
  const Tensor& x = node.input_tensor(0);
  const bool shifted = node.builder().is_shifted(node.input(0));
  const DType onnx_type = shifted ? DType::UInt8 : x.dtype;
  LQ_ASSIGN_OR_RETURN(QuantParams params, read_params(node, onnx_type, rank_of(x)));
  if (x.is_constant() && !shifted) return dequantize_constant(node, std::move(params));
  if (onnx_type != DType::Undefined && onnx_type != params.dtype) {
    return corrupt(std::string("the input is ") + dtype_name(onnx_type) + ", the zero point " +
                   dtype_name(params.dtype));
  }
  TensorId id = node.input(0);
  if (params.dtype == DType::UInt8 && !shifted && params.granularity == schema::Granularity::PerTensor && !x.quant &&
      only_dequantized(node, node.proto_input(0))) {
    id = int8_twin(node, id, params, node.proto_input(0));
  } else {
    if (shifted) params = shifted_params(params);
    Tensor& t = node.graph().tensor(id);
    if (t.quant && !same_params(*t.quant, params)) {
      return unsupported("scale or zero point differ from those '" + t.name + "' was quantized with");
    }
    t.quant = std::move(params);
    t.dtype = t.quant->dtype;
  }
  node.emit(Op::DequantizeLinear, {id});
  return {};
}

constexpr uint32_t kScaleAndZeroPoint = 1u << 1 | 1u << 2;
constexpr ImportRow kRows[] = {
    {"QuantizeLinear", 10, kLatestOpset, Op::QuantizeLinear, 2, 3, convert_quantize, kScaleAndZeroPoint},
    {"DequantizeLinear", 10, kLatestOpset, Op::DequantizeLinear, 2, 3, convert_dequantize, kScaleAndZeroPoint},
};

/// Operators whose outputs are values of their data inputs.
bool moves_values(Op op) {
  switch (op) {
    case Op::MaxPool:
    case Op::GlobalMaxPool:
    case Op::ReduceMax:
    case Op::ReduceMin:
    case Op::Concat:
    case Op::Split:
    case Op::Slice:
    case Op::Gather:
    case Op::Reshape:
    case Op::Flatten:
    case Op::Squeeze:
    case Op::Unsqueeze:
    case Op::Transpose:
    case Op::Expand:
    case Op::Tile:
    case Op::DepthToSpace:
    case Op::SpaceToDepth:
    case Op::Identity:
      return true;
    default:
      return false;
  }
}
/// Operators whose output does not depend on scale and zero point.
bool ignores_scale(Op op) { return op == Op::Shape || op == Op::Size || op == Op::ArgMax || op == Op::ArgMin; }

Node plain_node(Op op, TensorId from, TensorId to) {
  Node node;
  node.op = op;
  node.inputs = {from};
  node.outputs = {to};
  return node;
}

/// Parameters all quantized inputs share.
Result<QuantParams> common_params(const Graph& graph, const Node& node) {
  const QuantParams* params = nullptr;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool data = i == 0 || node.op == Op::Concat;
    if (node.inputs[i] == kNoTensor || !data) continue;
    const Tensor& t = graph.tensor(node.inputs[i]);
    if (!t.quant || (params != nullptr && !same_params(*params, *t.quant))) {
      return unsupported("joins quantized tensors of different scales; dequantize them first");
    }
    params = &*t.quant;
  }
  if (params->granularity != schema::Granularity::PerTensor) return unsupported("moves a tensor quantized per channel");
  return *params;
}

}  // namespace

std::span<const ImportRow> quantize_rows() { return kRows; }

Status carry_quantization(GraphBuilder& builder, size_t first_node) {
  Graph& graph = builder.graph();
  std::vector<Node> added(std::make_move_iterator(graph.nodes.begin() + long(first_node)),
                          std::make_move_iterator(graph.nodes.end()));
  graph.nodes.resize(first_node);
  for (Node& node : added) {
    bool any = false, shifted = false;
    for (TensorId id : node.inputs) {
      any |= id != kNoTensor && graph.tensor(id).quant.has_value();
      shifted |= builder.is_shifted(id);
    }
    if (!any || node.op == Op::If || node.op == Op::DequantizeLinear) {
      graph.nodes.push_back(std::move(node));
      continue;
    }
    const bool moves = moves_values(node.op);
    if (!moves && !ignores_scale(node.op))
      return unsupported("computes on a quantized tensor; only operators that move values may");
    LQ_ASSIGN_OR_RETURN(const QuantParams params, common_params(graph, node));
    auto twin = [&](TensorId id) {
      Tensor real;
      real.name = graph.tensor(id).name + "/real";
      real.dtype = DType::Float32;
      real.ranked = graph.tensor(id).ranked;
      real.shape = graph.tensor(id).shape;
      return builder.add_tensor(std::move(real));
    };
    for (size_t i = 0; i < (node.op == Op::Concat ? node.inputs.size() : 1); ++i) {
      const TensorId real = twin(node.inputs[i]);
      graph.nodes.push_back(plain_node(Op::DequantizeLinear, node.inputs[i], real));
      node.inputs[i] = real;
    }
    std::vector<Node> back;
    for (size_t i = 0; moves && i < (node.op == Op::Split ? node.outputs.size() : 1); ++i) {
      const TensorId id = node.output(i);
      if (id == kNoTensor) continue;
      node.outputs[i] = twin(id);
      graph.tensor(id).quant = params;
      graph.tensor(id).dtype = params.dtype;
      if (shifted) builder.mark_shifted(id);
      back.push_back(plain_node(Op::QuantizeLinear, node.outputs[i], id));
    }
    graph.nodes.push_back(std::move(node));
    graph.nodes.insert(graph.nodes.end(), std::make_move_iterator(back.begin()), std::make_move_iterator(back.end()));
  }
  return {};
}

}  // namespace lq
