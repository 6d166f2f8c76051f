// Builds one lq::Graph from one onnx::GraphProto: name scopes, initializers on demand, captures of If branches,
// outputs.
#pragma once
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/import_rows.h"
#include "onnx/importer.h"
#include "onnx/tensor_proto.h"

namespace onnx {
class GraphProto;
class NodeProto;
class ValueInfoProto;
}  // namespace onnx

namespace lq {

/// What all graphs of one import share.
struct ImportState {
  const ImportOptions& options;
  int opset;
  ExternalFiles files;
  ModelIr model;
};

class GraphBuilder {
 public:
  /// `parent`: the scope an If branch sees, or nullptr for the main graph.
  GraphBuilder(ImportState& state, const onnx::GraphProto& proto, GraphBuilder* parent);

  /// Converts everything; afterwards graph() is complete but for the captured inputs of a branch (see captures()).
  Status build();

  ImportState& state() { return state_; }
  Graph& graph() { return graph_; }
  const onnx::GraphProto& proto() const { return proto_; }

  /// The tensor a name means here: local, a copy of an outer constant, or a new captured input of this branch.
  Result<TensorId> find(const std::string& name);
  /// Makes `name` mean `id` from here on.
  void bind(const std::string& name, TensorId id) { names_[name] = id; }
  /// A new tensor; the name gets a suffix if the graph has one of that name already.
  TensorId add_tensor(Tensor tensor);

  /// Values captured from outer scopes, in order of first use; each is a tensor of this graph that is not yet an input.
  const std::vector<std::string>& captures() const { return captures_; }
  /// The captured tensor of that name, made now if this branch doesn't read it.
  Result<TensorId> capture(const std::string& name);

  /// Tensors that are uint8 in ONNX but int8 (shifted by −128) here.
  bool is_shifted(TensorId id) const { return shifted_.count(id) != 0; }
  void mark_shifted(TensorId id) { shifted_.insert(id); }
  /// How often a name is read in this graph's own nodes, by (node, input) pairs.
  struct Use {
    const onnx::NodeProto* node;
    int input;
  };
  const std::vector<Use>& uses(const std::string& name) const;

  /// Shapes of the outputs of nodes [first, …), as far as they follow without folding. Failures wait for infer_shapes.
  void infer_from(size_t first);

 private:
  Status add_input(const onnx::ValueInfoProto& info);
  Status index_initializers();
  Status index_uses();
  Status convert(const onnx::NodeProto& node);
  Status add_output(const onnx::ValueInfoProto& info, std::set<std::string>& seen);
  TensorId public_uint8(TensorId shifted, const std::string& name);
  void free_name(const std::string& name);

  ImportState& state_;
  const onnx::GraphProto& proto_;
  GraphBuilder* parent_;
  Graph graph_;
  std::unordered_map<std::string, TensorId> names_;
  std::unordered_map<std::string, int> initializers_;  // index into proto_.initializer(), not converted yet
  std::unordered_map<std::string, std::vector<Use>> uses_;
  std::set<std::string> tensor_names_;
  std::vector<std::string> captures_;
  std::set<TensorId> shifted_;
};

/// Nodes of `proto` in an order in which every input exists; names of outer scopes count as given. Fails on a cycle, a
/// name produced twice, or — in the main graph — a name nobody produces.
Result<std::vector<const onnx::NodeProto*>> ordered_nodes(const onnx::GraphProto& proto, bool is_main);

/// dtype, shape and dim_names of a declared value. A dimension of 0 means unknown (silero's inputs), as does a negative
/// one.
Result<Tensor> tensor_from_value_info(const onnx::ValueInfoProto& info);

/// "Conv 'features.0'" or "Conv (-> 'x')".
std::string onnx_label(const onnx::NodeProto& node);
const std::string& op_type_of(const onnx::NodeProto& node);
int64_t int_attribute_of(const onnx::NodeProto& node, const char* name, int64_t fallback);
/// Operators that only move values (Reshape, MaxPool, …) and read a quantized tensor: their outputs get its parameters.
/// Any other operator that reads an int8 tensor which is uint8 in ONNX would compute on shifted values: kUnsupported.
Status carry_quantization(GraphBuilder& builder, size_t first_node);

/// The tensor an option's text or tensor means for this input.
Result<Tensor> fixed_value(const Tensor& input, const FixedInput& value);

}  // namespace lq
