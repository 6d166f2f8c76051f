// Small ONNX models, made in the test.
#pragma once
#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "onnx/importer.h"

namespace lq::test {

class ModelMaker {
 public:
  explicit ModelMaker(int opset) {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("g");
  }
  static void describe(onnx::ValueInfoProto& v, const std::string& name, const std::vector<int64_t>& dims, int type) {
    v.set_name(name);
    auto* t = v.mutable_type()->mutable_tensor_type();
    t->set_elem_type(type);
    t->mutable_shape();
    for (int64_t d : dims) t->mutable_shape()->add_dim()->set_dim_value(d);
  }
  void input(const std::string& name, const std::vector<int64_t>& dims, int type = onnx::TensorProto::FLOAT) {
    describe(*proto.mutable_graph()->add_input(), name, dims, type);
  }
  void output(const std::string& name, int type = onnx::TensorProto::FLOAT) {
    auto* v = proto.mutable_graph()->add_output();
    v->set_name(name);
    v->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  }
  onnx::TensorProto& initializer(const std::string& name, const std::vector<int64_t>& dims, int type) {
    onnx::TensorProto& t = *proto.mutable_graph()->add_initializer();
    t.set_name(name);
    t.set_data_type(type);
    for (int64_t d : dims) t.add_dims(d);
    return t;
  }
  void floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
    auto& t = initializer(name, dims, onnx::TensorProto::FLOAT);
    for (float v : values) t.add_float_data(v);
  }
  void ints(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
    auto& t = initializer(name, dims, onnx::TensorProto::INT64);
    for (int64_t v : values) t.add_int64_data(v);
  }
  /// int8, uint8, int32, bool …: the types that live in int32_data.
  void bytes(const std::string& name, const std::vector<int64_t>& dims, int type, const std::vector<int>& values) {
    auto& t = initializer(name, dims, type);
    for (int v : values) t.add_int32_data(v);
  }
  static onnx::NodeProto& add(onnx::GraphProto& g, const std::string& op, const std::vector<std::string>& in,
                              const std::vector<std::string>& out, const std::string& name = "") {
    onnx::NodeProto& n = *g.add_node();
    n.set_op_type(op);
    n.set_name(name);
    for (const auto& s : in) n.add_input(s);
    for (const auto& s : out) n.add_output(s);
    return n;
  }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& in, const std::vector<std::string>& out,
                        const std::string& name = "") {
    return add(*proto.mutable_graph(), op, in, out, name);
  }
  std::string serialized() const { return proto.SerializeAsString(); }
  Result<ModelIr> import(const ImportOptions& options = {}, const std::string& base_dir = "") const {
    const std::string bytes = serialized();
    return import_onnx_bytes(bytes.data(), bytes.size(), "test.onnx", base_dir, options);
  }
  onnx::ModelProto proto;
};

inline onnx::AttributeProto& attribute(onnx::NodeProto& n, const char* name, onnx::AttributeProto::AttributeType type) {
  auto& a = *n.add_attribute();
  a.set_name(name);
  a.set_type(type);
  return a;
}
inline void set_int(onnx::NodeProto& n, const char* name, int64_t v) {
  attribute(n, name, onnx::AttributeProto::INT).set_i(v);
}
inline void set_float(onnx::NodeProto& n, const char* name, float v) {
  attribute(n, name, onnx::AttributeProto::FLOAT).set_f(v);
}
inline void set_string(onnx::NodeProto& n, const char* name, const std::string& v) {
  attribute(n, name, onnx::AttributeProto::STRING).set_s(v);
}
inline void set_ints(onnx::NodeProto& n, const char* name, const std::vector<int64_t>& v) {
  auto& a = attribute(n, name, onnx::AttributeProto::INTS);
  for (int64_t i : v) a.add_ints(i);
}
inline void set_floats(onnx::NodeProto& n, const char* name, const std::vector<float>& v) {
  auto& a = attribute(n, name, onnx::AttributeProto::FLOATS);
  for (float f : v) a.add_floats(f);
}

/// The operators of a graph in order.
inline std::vector<Op> ops_of(const Graph& g) {
  std::vector<Op> ops;
  for (const Node& n : g.nodes) ops.push_back(n.op);
  return ops;
}

}  // namespace lq::test
