// One lq::Graph -> one onnx::GraphProto; export_nodes.cc writes the nodes, export_attributes.cc their attributes.
#pragma once
#include <onnx/onnx_pb.h>

#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lq {

struct ExportState {
  const ModelIr& model;
  int opset;
  std::set<std::string> used_names;  // over all graphs: branches see outer names
};

class GraphExporter {
 public:
  GraphExporter(ExportState& state, const Graph& graph, onnx::GraphProto& out)
      : state_(state), graph_(graph), out_(out) {}
  /// `outer`: for a branch, the names of the If's captured values; empty for the main graph.
  Status run(const std::vector<std::string>* outer);

  int opset() const { return state_.opset; }
  const Graph& graph() const { return graph_; }
  /// "" for an absent tensor.
  std::string name_of(TensorId id) const { return id == kNoTensor ? std::string() : names_[size_t(id)]; }
  /// A node with the given inputs and outputs, named after `node`.
  onnx::NodeProto& add(const Node& node, const char* op_type, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs);
  /// The node as it stands: all inputs, all outputs.
  onnx::NodeProto& add_plain(const Node& node, const char* op_type);
  /// True for an int8 tensor that is written as uint8, zero point and values 128 higher.
  bool is_written_as_uint8(TensorId id) const { return as_uint8_[size_t(id)]; }
  /// A new name that nothing else has.
  std::string fresh(const std::string& wish);
  std::string float_constant(const std::string& wish, const std::vector<float>& values, bool scalar);
  Status add_initializer(const Tensor& tensor, const std::string& name);
  Status write_branches(const Node& node);

 private:
  void choose_names(const std::vector<std::string>* outer);
  void choose_types();
  void describe(const Tensor& tensor, const std::string& name, onnx::ValueInfoProto& info);
  ExportState& state_;
  const Graph& graph_;
  onnx::GraphProto& out_;
  std::vector<std::string> names_;
  std::vector<bool> as_uint8_;
};

/// Attributes of the canonical operator as ONNX spells them.
Status write_attributes(const Node& node, int opset, onnx::NodeProto& proto);
/// Any node: decompositions and changed forms included.
Status write_node(GraphExporter& exporter, const Node& node);

void put(onnx::NodeProto& node, const char* name, int64_t value);
void put(onnx::NodeProto& node, const char* name, float value);
void put(onnx::NodeProto& node, const char* name, const char* value);
void put_list(onnx::NodeProto& node, const char* name, const std::vector<int64_t>& values);
void put_list(onnx::NodeProto& node, const char* name, const std::vector<int>& values);  // nothing when empty

}  // namespace lq
