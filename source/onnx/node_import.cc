#include "onnx/node_import.h"

#include <onnx/onnx_pb.h>

#include <climits>

namespace lq {

using onnx::AttributeProto;

NodeImport::NodeImport(GraphBuilder& builder, const onnx::NodeProto& proto, const ImportRow& row)
    : builder_(builder), proto_(proto), row_(row) {}

Status NodeImport::resolve_inputs() {
  for (const std::string& name : proto_.input()) {
    TensorId id = kNoTensor;
    if (!name.empty()) {
      LQ_ASSIGN_OR_RETURN(id, builder_.find(name));
    }
    inputs_.push_back(id);
  }
  while (!inputs_.empty() && inputs_.back() == kNoTensor) inputs_.pop_back();
  const size_t count = inputs_.size();
  if (count < row_.min_inputs || (row_.max_inputs != 255 && count > row_.max_inputs)) {
    return corrupt("has " + std::to_string(count) + " inputs, needs " + std::to_string(row_.min_inputs) +
                   (row_.max_inputs == row_.min_inputs ? ""
                    : row_.max_inputs == 255           ? " or more"
                                                       : " to " + std::to_string(row_.max_inputs)));
  }
  for (size_t i = 0; i < row_.min_inputs; ++i) {
    if (inputs_[i] == kNoTensor) return corrupt("input " + std::to_string(i) + " is missing");
  }
  return {};
}

Status NodeImport::finish() {
  LQ_RETURN_IF_ERROR(status_);
  for (const AttributeProto& a : proto_.attribute()) {
    if (asked_.count(a.name()) == 0) {
      return unsupported("attribute '" + a.name() + "' is not known at opset " + std::to_string(opset()));
    }
  }
  return {};
}

const std::string& NodeImport::proto_input(size_t i) const { return proto_.input(int(i)); }
size_t NodeImport::output_count() const { return size_t(proto_.output_size()); }
bool NodeImport::has_output(size_t i) const { return i < output_count() && !proto_.output(int(i)).empty(); }
const std::string& NodeImport::output_name(size_t i) const {
  static const std::string kNone;
  return i < output_count() ? proto_.output(int(i)) : kNone;
}

// --- attributes

bool NodeImport::has_attr(const char* name) const {
  for (const AttributeProto& a : proto_.attribute()) {
    if (a.name() == name) return true;
  }
  return false;
}

const AttributeProto* NodeImport::find(const char* name, int type) {
  asked_.insert(name);
  for (const AttributeProto& a : proto_.attribute()) {
    if (a.name() != name) continue;
    if (!a.ref_attr_name().empty()) {
      fail(unsupported(std::string("attribute '") + name + "' refers to an attribute of a local function"));
      return nullptr;
    }
    if (a.type() != type) {
      fail(corrupt(std::string("attribute '") + name + "' has type " + AttributeProto::AttributeType_Name(a.type()) +
                   ", needs " + AttributeProto::AttributeType_Name(AttributeProto::AttributeType(type))));
      return nullptr;
    }
    return &a;
  }
  return nullptr;
}

int64_t NodeImport::attr_int64(const char* name, int64_t fallback) {
  const AttributeProto* a = find(name, AttributeProto::INT);
  return a ? a->i() : fallback;
}

int NodeImport::attr_int(const char* name, int fallback) {
  const int64_t v = attr_int64(name, fallback);
  if (v < INT_MIN || v > INT_MAX) {
    fail(corrupt(std::string("attribute '") + name + "' is out of range: " + std::to_string(v)));
    return fallback;
  }
  return int(v);
}

float NodeImport::attr_float(const char* name, float fallback) {
  const AttributeProto* a = find(name, AttributeProto::FLOAT);
  return a ? a->f() : fallback;
}

std::string NodeImport::attr_string(const char* name, const char* fallback) {
  const AttributeProto* a = find(name, AttributeProto::STRING);
  return a ? a->s() : fallback;
}

std::vector<int64_t> NodeImport::attr_int64s(const char* name) {
  const AttributeProto* a = find(name, AttributeProto::INTS);
  return a ? std::vector<int64_t>(a->ints().begin(), a->ints().end()) : std::vector<int64_t>();
}

std::vector<int> NodeImport::attr_ints(const char* name) {
  std::vector<int> values;
  for (int64_t v : attr_int64s(name)) {
    if (v < INT_MIN || v > INT_MAX) {
      fail(corrupt(std::string("attribute '") + name + "' is out of range: " + std::to_string(v)));
      return {};
    }
    values.push_back(int(v));
  }
  return values;
}

std::vector<float> NodeImport::attr_floats(const char* name) {
  const AttributeProto* a = find(name, AttributeProto::FLOATS);
  return a ? std::vector<float>(a->floats().begin(), a->floats().end()) : std::vector<float>();
}

std::vector<std::string> NodeImport::attr_strings(const char* name) {
  const AttributeProto* a = find(name, AttributeProto::STRINGS);
  return a ? std::vector<std::string>(a->strings().begin(), a->strings().end()) : std::vector<std::string>();
}

Result<Tensor> NodeImport::attr_tensor(const char* name) {
  const AttributeProto* a = find(name, AttributeProto::TENSOR);
  if (!a) return Tensor{};
  return tensor_from_proto(a->t(), builder_.state().files);
}

const onnx::GraphProto* NodeImport::attr_graph(const char* name) {
  const AttributeProto* a = find(name, AttributeProto::GRAPH);
  return a ? &a->g() : nullptr;
}

// --- nodes and tensors

Node& NodeImport::emit(Op op, std::vector<TensorId> inputs, size_t outputs) {
  Node node;
  node.op = op;
  node.name = proto_.name();
  while (!inputs.empty() && inputs.back() == kNoTensor) inputs.pop_back();
  node.inputs = std::move(inputs);
  for (size_t i = 0; i < std::min(outputs, output_count()); ++i) {
    TensorId id = kNoTensor;
    if (has_output(i)) {
      Tensor t;
      t.name = output_name(i);
      id = builder_.add_tensor(std::move(t));
      builder_.bind(output_name(i), id);
    }
    node.outputs.push_back(id);
  }
  while (!node.outputs.empty() && node.outputs.back() == kNoTensor) node.outputs.pop_back();
  graph().nodes.push_back(std::move(node));
  return graph().nodes.back();
}

TensorId NodeImport::emit_inner(Op op, std::vector<TensorId> inputs, const char* what, Attrs attrs) {
  Tensor t;
  t.name = output_name(0) + "/" + what;
  Node node;
  node.op = op;
  node.name = proto_.name().empty() ? std::string() : proto_.name() + "/" + what;
  while (!inputs.empty() && inputs.back() == kNoTensor) inputs.pop_back();
  node.inputs = std::move(inputs);
  const TensorId id = builder_.add_tensor(std::move(t));
  node.outputs = {id};
  node.attrs = std::move(attrs);
  graph().nodes.push_back(std::move(node));
  return id;
}

void NodeImport::alias(size_t i, TensorId id) {
  if (has_output(i)) builder_.bind(output_name(i), id);
}

TensorId NodeImport::constant(DType dtype, Shape shape, const void* data, const char* what) {
  Tensor t;
  t.name = output_name(0) + "/" + what;
  t.dtype = dtype;
  t.ranked = true;
  const int64_t count = element_count(shape);
  t.shape = std::move(shape);
  auto bytes = Bytes::copy_of(data, size_t(count) * dtype_size(dtype));
  if (bytes.ok())
    t.data = std::move(*bytes);
  else
    fail(bytes.status());
  return builder_.add_tensor(std::move(t));
}

TensorId NodeImport::constant_ints(const std::vector<int64_t>& values, const char* what) {
  return constant(DType::Int64, {int64_t(values.size())}, values.data(), what);
}

TensorId NodeImport::constant_float(float value, const char* what) {
  return constant(DType::Float32, {}, &value, what);
}

TensorId NodeImport::as_int_list(size_t i, const char* what) {
  const auto values = lq::constant_ints(graph(), input(i));
  if (!values) return input(i);
  const Tensor& t = input_tensor(i);
  if (t.dtype == DType::Int64 && t.shape.size() == 1) return input(i);
  return constant_ints(*values, what);
}

TensorId NodeImport::as_scalar(size_t i) {
  if (!has_input(i)) return kNoTensor;
  const Tensor& t = input_tensor(i);
  if (!t.is_constant() || t.shape.empty() || element_count(t.shape) != 1) return input(i);
  Tensor scalar = t;
  scalar.name += "/scalar";
  scalar.shape.clear();
  scalar.dim_names.clear();
  return builder_.add_tensor(std::move(scalar));
}

}  // namespace lq
