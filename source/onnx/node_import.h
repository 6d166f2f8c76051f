// What a convert function sees of one ONNX node, and how it emits canonical nodes. Attribute errors are sticky: getters
// give their default after a failure and the driver reports status() once the function returns. An attribute nobody
// asked for is an error too: ignoring it could change what the model means.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "onnx/graph_builder.h"

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace lq {

class NodeImport {
 public:
  NodeImport(GraphBuilder& builder, const onnx::NodeProto& proto, const ImportRow& row);
  /// Finds the input tensors and checks their number against the row.
  Status resolve_inputs();
  /// The first attribute failure, or an attribute that was never read.
  Status finish();

  const ImportRow& row() const { return row_; }
  int opset() const { return builder_.state().opset; }
  GraphBuilder& builder() { return builder_; }
  Graph& graph() { return builder_.graph(); }
  const onnx::NodeProto& proto() const { return proto_; }

  const std::vector<TensorId>& inputs() const { return inputs_; }
  bool has_input(size_t i) const { return i < inputs_.size() && inputs_[i] != kNoTensor; }
  TensorId input(size_t i) const { return i < inputs_.size() ? inputs_[i] : kNoTensor; }
  const Tensor& input_tensor(size_t i) { return graph().tensor(inputs_[i]); }
  const std::string& proto_input(size_t i) const;  // its ONNX name
  size_t output_count() const;
  bool has_output(size_t i) const;  // named, i.e. wanted
  const std::string& output_name(size_t i) const;

  bool has_attr(const char* name) const;
  int64_t attr_int64(const char* name, int64_t fallback);
  int attr_int(const char* name, int fallback);
  bool attr_bool(const char* name, bool fallback) { return attr_int64(name, fallback ? 1 : 0) != 0; }
  float attr_float(const char* name, float fallback);
  std::string attr_string(const char* name, const char* fallback);
  std::vector<int64_t> attr_int64s(const char* name);
  std::vector<int> attr_ints(const char* name);
  std::vector<float> attr_floats(const char* name);
  std::vector<std::string> attr_strings(const char* name);
  /// Default-constructed (not a constant) when absent.
  Result<Tensor> attr_tensor(const char* name);
  const onnx::GraphProto* attr_graph(const char* name);
  /// The attribute is accepted whatever it says (training-only, or a hint).
  void ignore_attr(const char* name) { asked_.insert(name); }
  void fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  /// A node of this ONNX node's name whose outputs are the ONNX node's outputs (the first `outputs` of them).
  Node& emit(Op op, std::vector<TensorId> inputs, size_t outputs = SIZE_MAX);
  /// A node inside a decomposition; returns its only output, named after this node's first output and `what`.
  TensorId emit_inner(Op op, std::vector<TensorId> inputs, const char* what, Attrs attrs = {});
  /// Output i is another tensor: the ONNX node disappears.
  void alias(size_t i, TensorId id);

  TensorId constant_ints(const std::vector<int64_t>& values, const char* what);  // 1-D int64
  TensorId constant_float(float value, const char* what);                        // scalar float32
  TensorId constant(DType dtype, Shape shape, const void* data, const char* what);
  /// The same value as 1-D int64 (rank 0 and int32 constants are rewritten); other tensors stay.
  TensorId as_int_list(size_t i, const char* what);
  /// The same value as a scalar (one-element constants are reshaped); other tensors stay.
  TensorId as_scalar(size_t i);

 private:
  const onnx::AttributeProto* find(const char* name, int type);
  GraphBuilder& builder_;
  const onnx::NodeProto& proto_;
  const ImportRow& row_;
  std::vector<TensorId> inputs_;
  std::set<std::string> asked_;
  Status status_;
};

/// The auto_pad attribute of convolutions and pools.
Result<schema::AutoPad> auto_pad_of(NodeImport& node);

/// An attribute table as a union value, for emit_inner.
template <typename AttrsT>
Attrs make_attrs(AttrsT value) {
  Attrs attrs;
  attrs.Set(std::move(value));
  return attrs;
}

}  // namespace lq
