#include "onnx/graph_builder.h"

#include <onnx/onnx_pb.h>

#include "graph/op_def.h"
#include "graph/ops_common.h"
#include "onnx/node_import.h"
#include "onnx/quantized_constants.h"

namespace lq {

GraphBuilder::GraphBuilder(ImportState& state, const onnx::GraphProto& proto, GraphBuilder* parent)
    : state_(state), proto_(proto), parent_(parent) {
  graph_.name = proto.name();
}

Status GraphBuilder::build() {
  LQ_RETURN_IF_ERROR(index_initializers());
  for (const auto& info : proto_.input()) LQ_RETURN_IF_ERROR(add_input(info));
  LQ_RETURN_IF_ERROR(index_uses());
  LQ_ASSIGN_OR_RETURN(const auto nodes, ordered_nodes(proto_, parent_ == nullptr));
  for (const onnx::NodeProto* node : nodes) {
    const Status status = convert(*node);
    if (!status.ok()) return status.with_context(onnx_label(*node));
  }
  std::set<std::string> seen;
  for (const auto& info : proto_.output()) LQ_RETURN_IF_ERROR(add_output(info, seen));
  return {};
}

Status GraphBuilder::index_initializers() {
  if (proto_.sparse_initializer_size() > 0) {
    return unsupported("initializer '" + proto_.sparse_initializer(0).values().name() +
                       "' is sparse; store it as a dense tensor");
  }
  for (int i = 0; i < proto_.initializer_size(); ++i) {
    if (!initializers_.emplace(proto_.initializer(i).name(), i).second) {
      return corrupt("two initializers are called '" + proto_.initializer(i).name() + "'");
    }
  }
  return {};
}

Status GraphBuilder::index_uses() {
  for (const auto& node : proto_.node()) {
    for (int i = 0; i < node.input_size(); ++i) uses_[node.input(i)].push_back({&node, i});
  }
  return {};
}

const std::vector<GraphBuilder::Use>& GraphBuilder::uses(const std::string& name) const {
  static const std::vector<Use> kNone;
  const auto found = uses_.find(name);
  return found == uses_.end() ? kNone : found->second;
}

Status GraphBuilder::add_input(const onnx::ValueInfoProto& info) {
  if (initializers_.count(info.name()) != 0) return {};  // IR version < 4 lists initializers as inputs: constants
  if (names_.count(info.name()) != 0) return corrupt("two inputs are called '" + info.name() + "'");
  LQ_ASSIGN_OR_RETURN(Tensor tensor, tensor_from_value_info(info));
  const auto fixed = state_.options.fixed_inputs.find(info.name());
  const bool is_fixed = parent_ == nullptr && fixed != state_.options.fixed_inputs.end();
  if (is_fixed) {
    LQ_ASSIGN_OR_RETURN(tensor, fixed_value(tensor, fixed->second));
  }
  const TensorId id = add_tensor(std::move(tensor));
  bind(info.name(), id);
  if (!is_fixed) graph_.inputs.push_back(id);
  return {};
}

TensorId GraphBuilder::add_tensor(Tensor tensor) {
  std::string name = tensor.name;
  for (int n = 1; !tensor_names_.insert(name).second; ++n) name = tensor.name + "_" + std::to_string(n);
  tensor.name = std::move(name);
  return graph_.add_tensor(std::move(tensor));
}

Result<TensorId> GraphBuilder::find(const std::string& name) {
  const auto known = names_.find(name);
  if (known != names_.end()) return known->second;
  const auto initializer = initializers_.find(name);
  if (initializer != initializers_.end()) {
    LQ_ASSIGN_OR_RETURN(Tensor tensor, tensor_from_proto(proto_.initializer(initializer->second), state_.files));
    const TensorId id = add_tensor(std::move(tensor));
    bind(name, id);
    return id;
  }
  return capture(name);
}

Result<TensorId> GraphBuilder::capture(const std::string& name) {
  if (names_.count(name) != 0) {
    for (const std::string& c : captures_) {
      if (c == name) return names_[name];
    }
  }
  if (parent_ == nullptr) return corrupt("input '" + name + "' is produced by no node, and is no input or initializer");
  LQ_ASSIGN_OR_RETURN(const TensorId outer, parent_->find(name));
  Tensor copy = parent_->graph().tensor(outer);  // a constant's bytes are shared, not copied
  const bool constant = copy.is_constant();
  copy.name = name;
  const TensorId id = add_tensor(std::move(copy));
  if (parent_->is_shifted(outer)) mark_shifted(id);
  if (!constant) captures_.push_back(name);
  bind(name, id);
  return id;
}

Status GraphBuilder::convert(const onnx::NodeProto& proto) {
  const ImportRow* row = find_import_row(proto.op_type(), state_.opset);
  if (row == nullptr)
    return internal_error("operator '" + proto.op_type() + "' has no row");  // importer.cc lists these first
  NodeImport node(*this, proto, *row);
  LQ_RETURN_IF_ERROR(node.resolve_inputs());
  const size_t first = graph_.nodes.size();
  LQ_RETURN_IF_ERROR(row->convert(node));
  LQ_RETURN_IF_ERROR(node.finish());
  for (int i = 0; i < proto.output_size(); ++i) {
    if (!proto.output(i).empty() && names_.count(proto.output(i)) == 0) {
      return unsupported("output " + std::to_string(i) + " ('" + proto.output(i) + "') is not supported");
    }
  }
  infer_from(first);
  return carry_quantization(*this, first);
}

void GraphBuilder::infer_from(size_t first) {
  for (size_t n = first; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    const OpDef* def = find_op(node.op);
    if (def == nullptr || def->infer == nullptr || node.op == Op::If) continue;
    if (!check_node(node, *def).ok()) continue;  // shape functions trust arity and attributes
    InferContext context(graph_, node);
    context.outputs.resize(node.outputs.size());
    if (!def->infer(context).ok()) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoTensor || !context.outputs[i].set || !check_shape(context.outputs[i].shape).ok())
        continue;
      Tensor& t = graph_.tensor(node.outputs[i]);
      t.dtype = context.outputs[i].dtype;
      t.ranked = context.outputs[i].ranked;
      t.shape = context.outputs[i].shape;
    }
  }
}

void GraphBuilder::free_name(const std::string& name) {
  for (Tensor& t : graph_.tensors) {
    if (t.name != name) continue;
    std::string other = name + "/inner";
    for (int n = 1; !tensor_names_.insert(other).second; ++n) other = name + "/inner_" + std::to_string(n);
    t.name = other;
  }
  tensor_names_.erase(name);
}

/// ONNX sees uint8 where we hold int8: quantize to uint8 anew, from the float before the QuantizeLinear or from the
/// exact dequantized value.
TensorId GraphBuilder::public_uint8(TensorId shifted, const std::string& name) {
  TensorId source = kNoTensor;
  for (const Node& node : graph_.nodes) {
    if (node.op == Op::QuantizeLinear && node.outputs[0] == shifted) source = node.inputs[0];
  }
  const QuantParams params = *graph_.tensor(shifted).quant;
  if (source == kNoTensor) {
    Tensor real;
    real.name = name + "/real";
    source = add_tensor(std::move(real));
    Node dequantize;
    dequantize.op = Op::DequantizeLinear;
    dequantize.inputs = {shifted};
    dequantize.outputs = {source};
    graph_.nodes.push_back(std::move(dequantize));
  }
  free_name(name);
  Tensor out;
  out.name = name;
  out.dtype = DType::UInt8;
  out.quant = unshifted_params(params);
  const TensorId id = add_tensor(std::move(out));
  Node quantize;
  quantize.op = Op::QuantizeLinear;
  quantize.inputs = {source};
  quantize.outputs = {id};
  graph_.nodes.push_back(std::move(quantize));
  return id;
}

Status GraphBuilder::add_output(const onnx::ValueInfoProto& info, std::set<std::string>& seen) {
  const std::string& name = info.name();
  if (!seen.insert(name).second) return corrupt("output '" + name + "' is listed twice");
  auto found = find(name);
  if (!found.ok()) return corrupt("output '" + name + "' is produced by no node");
  TensorId id = *found;
  const size_t first = graph_.nodes.size();
  if (is_shifted(id)) {
    id = public_uint8(id, name);
  } else {
    bool is_input = is_graph_output(graph_, id) || graph_.tensor(id).is_constant() || graph_.tensor(id).name != name;
    for (TensorId input : graph_.inputs) is_input |= input == id;
    for (const std::string& captured : captures_) is_input |= names_[captured] == id;
    if (is_input) {
      Tensor copy = graph_.tensor(id);
      copy.data = Bytes();
      copy.name = name;
      // A public input keeps its name too: then two tensors of equal value share it.
      bool public_input = false;
      for (TensorId input : graph_.inputs) public_input |= graph_.tensor(input).name == name;
      if (!public_input) free_name(name);
      Node identity;
      identity.op = Op::Identity;
      identity.inputs = {id};
      id = public_input ? graph_.add_tensor(std::move(copy)) : add_tensor(std::move(copy));
      identity.outputs = {id};
      graph_.nodes.push_back(std::move(identity));
    }
  }
  infer_from(first);
  graph_.outputs.push_back(id);
  return {};
}

}  // namespace lq
