#include "onnx/exporter.h"

#include <climits>

#include "base/file.h"
#include "graph/op_def.h"
#include "onnx/graph_exporter.h"
#include "onnx/tensor_proto.h"

namespace lq {
namespace {

/// Opset 17 unless an operator says something only 18 or 19 can, or a tensor is int16, which is quantized to since 21.
bool needs_opset_19(const Node& node) {
  switch (node.op) {
    case Op::Pad:
      return node.input(3) != kNoTensor || attrs_as<schema::PadAttrsT>(node).mode == schema::PadMode::Wrap;
    case Op::AveragePool:
      return !attrs_as<schema::PoolAttrsT>(node).dilations.empty();
    case Op::Resize: {
      const auto& a = attrs_as<schema::ResizeAttrsT>(node);
      return a.antialias || !a.axes.empty() || a.aspect_policy != schema::AspectPolicy::Stretch ||
             a.coordinate_mode == schema::CoordinateMode::HalfPixelSymmetric;
    }
    default:
      return false;
  }
}

/// The dtype ONNX has no whole-byte form for.
Status check_exportable(const ModelIr& model) {
  for (const Graph& g : model.graphs) {
    for (const Node& node : g.nodes) {
      if (node.op == Op::Custom || int(node.op) >= int(Op::Requantize)) {
        return unsupported(node_label(g, node) + ": has no ONNX form");
      }
    }
  }
  return {};
}

/// int8 values as uint8 ones, 128 higher.
Status shift_to_uint8(Tensor& t) {
  LQ_ASSIGN_OR_RETURN(Buffer shifted, Buffer::allocate(t.data.size(), "a constant as uint8"));
  for (size_t i = 0; i < t.data.size(); ++i) shifted.data()[i] = uint8_t(t.data.data()[i] ^ 0x80);
  t.data = Bytes::from(std::move(shifted));
  t.dtype = DType::UInt8;
  return {};
}

}  // namespace

std::string GraphExporter::fresh(const std::string& wish) {
  std::string name = wish.empty() ? "t" : wish;
  for (int n = 1; !state_.used_names.insert(name).second; ++n) name = wish + "_" + std::to_string(n);
  return name;
}

/// Public names first, so that they stay as they are; then everything else, made unique.
void GraphExporter::choose_names(const std::vector<std::string>* outer) {
  names_.assign(graph_.tensors.size(), std::string());
  if (outer != nullptr) {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) names_[size_t(graph_.inputs[i])] = (*outer)[i];
  }
  for (const auto* ids : {&graph_.inputs, &graph_.outputs}) {
    for (TensorId id : *ids) {
      if (id != kNoTensor && names_[size_t(id)].empty()) names_[size_t(id)] = fresh(graph_.tensor(id).name);
    }
  }
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].empty()) names_[i] = fresh(graph_.tensors[i].name);
  }
}

/// Activations are written as uint8 with int8 weights: what runtimes have integer kernels for everywhere (ONNX Runtime
/// on x86 runs int8 activations in float). Constants beside activations (Add, Concat) follow; what a product takes as
/// weights does not, nor what leaves the graph as int8.
void GraphExporter::choose_types() {
  as_uint8_.assign(graph_.tensors.size(), false);
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    const Tensor& t = graph_.tensors[i];
    as_uint8_[i] = t.quant && t.dtype == DType::Int8 && t.quant->granularity == schema::Granularity::PerTensor;
  }
  std::set<TensorId> weights;  // dequantized
  for (const Node& node : graph_.nodes) {
    const OpDef* def = find_op(node.op);
    if (def != nullptr && def->quant == QuantRule::kProduct) weights.insert(node.input(1));
  }
  for (const Node& node : graph_.nodes) {
    for (TensorId id : node.inputs) {
      if (id == kNoTensor) continue;
      const bool weight =
          node.op == Op::DequantizeLinear && graph_.tensor(id).is_constant() && weights.count(node.outputs[0]) > 0;
      if (node.op != Op::DequantizeLinear || weight) as_uint8_[size_t(id)] = false;
    }
  }
  for (const auto* ids : {&graph_.inputs, &graph_.outputs}) {
    for (TensorId id : *ids) {
      if (id != kNoTensor) as_uint8_[size_t(id)] = false;
    }
  }
}

void GraphExporter::describe(const Tensor& tensor, const std::string& name, onnx::ValueInfoProto& info) {
  info.set_name(name);
  auto* type = info.mutable_type()->mutable_tensor_type();
  type->set_elem_type(dtype_to_onnx(tensor.dtype));
  if (!tensor.ranked) return;
  auto* shape = type->mutable_shape();
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    auto* dim = shape->add_dim();
    if (tensor.shape[i] >= 0)
      dim->set_dim_value(tensor.shape[i]);
    else if (i < tensor.dim_names.size() && !tensor.dim_names[i].empty())
      dim->set_dim_param(tensor.dim_names[i]);
  }
}

onnx::NodeProto& GraphExporter::add(const Node& node, const char* op_type, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs) {
  onnx::NodeProto& proto = *out_.add_node();
  proto.set_op_type(op_type);
  proto.set_name(fresh(node.name.empty() ? std::string(op_type) + "/" + outputs[0] : node.name));
  for (const std::string& name : inputs) proto.add_input(name);
  for (const std::string& name : outputs) proto.add_output(name);
  return proto;
}

onnx::NodeProto& GraphExporter::add_plain(const Node& node, const char* op_type) {
  std::vector<std::string> inputs, outputs;
  for (TensorId id : node.inputs) inputs.push_back(name_of(id));
  for (TensorId id : node.outputs) outputs.push_back(name_of(id));
  return add(node, op_type, inputs, outputs);
}

std::string GraphExporter::float_constant(const std::string& wish, const std::vector<float>& values, bool scalar) {
  onnx::TensorProto& t = *out_.add_initializer();
  t.set_name(fresh(wish));
  t.set_data_type(onnx::TensorProto::FLOAT);
  if (!scalar) t.add_dims(int64_t(values.size()));
  t.set_raw_data(values.data(), values.size() * sizeof(float));
  return t.name();
}

Status GraphExporter::add_initializer(const Tensor& tensor, const std::string& name) {
  onnx::TensorProto& t = *out_.add_initializer();
  LQ_RETURN_IF_ERROR(tensor_to_proto(tensor, t));
  t.set_name(name);
  return {};
}

Status GraphExporter::write_branches(const Node& node) {
  std::vector<std::string> captured, outputs;
  for (size_t i = 1; i < node.inputs.size(); ++i) captured.push_back(name_of(node.inputs[i]));
  for (TensorId id : node.outputs) outputs.push_back(name_of(id));
  onnx::NodeProto& proto = add(node, "If", {name_of(node.inputs[0])}, outputs);
  for (size_t b = 0; b < 2; ++b) {
    auto& attribute = *proto.add_attribute();
    attribute.set_name(b == 0 ? "then_branch" : "else_branch");
    attribute.set_type(onnx::AttributeProto::GRAPH);
    GraphExporter branch(state_, state_.model.graphs[size_t(node.subgraphs[b])], *attribute.mutable_g());
    LQ_RETURN_IF_ERROR(branch.run(&captured));
  }
  return {};
}

Status GraphExporter::run(const std::vector<std::string>* outer) {
  choose_names(outer);
  choose_types();
  out_.set_name(graph_.name.empty() ? "graph" : graph_.name);
  if (outer == nullptr) {
    for (TensorId id : graph_.inputs) describe(graph_.tensor(id), name_of(id), *out_.add_input());
  }
  for (const Node& node : graph_.nodes) {
    const Status status = write_node(*this, node);
    if (!status.ok()) return status.with_context(node_label(graph_, node));
  }
  // Constants that nodes still name; those that became scales, zero points or attributes are gone.
  std::set<std::string> read;
  for (const auto& node : out_.node()) read.insert(node.input().begin(), node.input().end());
  std::set<TensorId> captured;
  for (const Node& node : graph_.nodes) {
    if (node.op == Op::If) captured.insert(node.inputs.begin() + 1, node.inputs.end());
  }
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    if (!graph_.tensors[i].is_constant()) continue;
    if (read.count(names_[i]) == 0 && captured.count(TensorId(i)) == 0) continue;
    Tensor constant = graph_.tensors[i];
    if (as_uint8_[i]) LQ_RETURN_IF_ERROR(shift_to_uint8(constant));
    LQ_RETURN_IF_ERROR(add_initializer(constant, names_[i]));
  }
  for (TensorId id : graph_.outputs) describe(graph_.tensor(id), name_of(id), *out_.add_output());
  return {};
}

Result<std::string> export_onnx_bytes(const ModelIr& model) {
  LQ_RETURN_IF_ERROR(check_exportable(model));
  size_t bytes = 0;
  bool newer = false, wide = false;
  for (const Graph& g : model.graphs) {
    for (const Tensor& t : g.tensors) bytes += t.data.size(), wide |= t.quant && t.dtype == DType::Int16;
    for (const Node& node : g.nodes) newer |= needs_opset_19(node);
  }
  if (bytes > size_t(INT_MAX) / 8 * 7) return unsupported("the constants are over 2 GB, more than one ONNX file holds");
  ExportState state{model, wide ? 21 : newer ? 19 : 17, {}};
  onnx::ModelProto proto;
  proto.set_ir_version(wide ? 10 : newer ? 9 : 8);
  proto.set_producer_name("libquant");
  proto.add_opset_import()->set_version(state.opset);
  GraphExporter exporter(state, model.main(), *proto.mutable_graph());
  LQ_RETURN_IF_ERROR(exporter.run(nullptr));
  std::string out;
  if (!proto.SerializeToString(&out)) return internal_error("protobuf cannot serialize the model");
  return out;
}

Status export_onnx(const ModelIr& model, const std::string& path) {
  const auto bytes = export_onnx_bytes(model);
  if (!bytes.ok()) return bytes.status().with_context(path);
  return write_file_atomically(path, {{bytes->data(), bytes->size()}});
}

}  // namespace lq
