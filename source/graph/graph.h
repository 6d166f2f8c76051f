// The one intermediate representation, for the toolchain and the runtime alike.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/memory.h"
#include "base/status.h"
#include "numerics/quant_params.h"

namespace lq {

using schema::Op;
using Attrs = schema::AttrsUnion;
using TensorId = int32_t;
inline constexpr TensorId kNoTensor = -1;  // an absent optional input or output
inline constexpr int64_t kUnknownDim = -1;
using Shape = std::vector<int64_t>;

/// Elements of a fully known shape (1 for rank 0); −1 if a dimension is unknown or the product overflows int64.
int64_t element_count(const Shape& shape);
bool is_static(const Shape& shape);
std::string shape_string(const Shape& shape);  // "[1,3,?,?]"

struct ValueRange { float min = 0, max = 0; };

/// A value: a graph input, a constant (data present) or a node's output.
struct Tensor {
  std::string name;
  DType dtype = DType::Undefined;
  bool ranked = false;                  // false: not even the rank is known yet; shape is then empty
  Shape shape;
  std::vector<std::string> dim_names;   // "" or a symbol such as "N"; empty when none was given
  Bytes data;                           // constant in canonical (linear) order, little-endian
  std::optional<QuantParams> quant;     // present iff the tensor holds quantized values
  std::optional<ValueRange> range;      // calibrated range, real values
  int blocked_axis = -1;                // runtime only. -1: linear; 1: NCHWc8, [N, ceil(C/8), spatial..., 8]
  bool is_constant() const { return data.present(); }
};

struct Node {
  Op op = Op::Undefined;
  std::string name;                     // may be empty or repeated; messages use node_label()
  std::vector<TensorId> inputs;         // kNoTensor for an absent optional one
  std::vector<TensorId> outputs;
  Attrs attrs;
  std::vector<int> subgraphs;           // If: {then, else}, indices into ModelIr::graphs
  std::optional<ValueRange> fused_clamp; // runtime only: a Relu/Clip folded into a float operator's epilogue
  TensorId input(size_t i) const { return i < inputs.size() ? inputs[i] : kNoTensor; }
  TensorId output(size_t i) const { return i < outputs.size() ? outputs[i] : kNoTensor; }
};

/// Nodes in topological order; every tensor has one producer, is a graph input, or is a constant.
struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::vector<TensorId> inputs, outputs;
  std::string unusable;                 // a branch that cannot run with the shapes at hand: why. An error only if it is reached

  TensorId add_tensor(Tensor tensor);
  TensorId add_constant(std::string name, DType dtype, Shape shape, const void* data);  // copies; aborts only on out-of-memory
  Tensor& tensor(TensorId id) { return tensors[size_t(id)]; }
  const Tensor& tensor(TensorId id) const { return tensors[size_t(id)]; }
};

/// A whole model: graph 0 is the main one, the others are If branches. Meta data as the file stores it.
struct ModelIr {
  std::vector<Graph> graphs;
  std::string producer, options;
  uint32_t semantics_version = 1;
  schema::ArithmeticMode arithmetic = schema::ArithmeticMode::FloatRequantize;
  std::vector<schema::InputInfoT> inputs;      // preprocessing of named inputs
  std::optional<schema::GoldenT> golden;
  std::vector<schema::MetadataT> metadata;
  Graph& main() { return graphs[0]; }
  const Graph& main() const { return graphs[0]; }
};

/// "Conv 'features.0'" or, for a nameless node, "Conv #12 (-> 'x')".
std::string node_label(const Graph& graph, const Node& node);
const char* op_name(Op op);

/// Attribute access: the table if the node holds that kind, otherwise a default-constructed one.
template <typename AttrsT>
const AttrsT& attrs_as(const Node& node) {
  static const AttrsT kDefault{};
  if (node.attrs.type != schema::AttrsUnionTraits<AttrsT>::enum_value || node.attrs.value == nullptr) return kDefault;
  return *static_cast<const AttrsT*>(node.attrs.value);
}
template <typename AttrsT>
AttrsT& mutable_attrs(Node& node) {
  if (node.attrs.type != schema::AttrsUnionTraits<AttrsT>::enum_value || node.attrs.value == nullptr) node.attrs.Set(AttrsT{});
  return *static_cast<AttrsT*>(node.attrs.value);
}

/// Values of a constant integer tensor (int64 or int32) as int64.
std::optional<std::vector<int64_t>> constant_ints(const Graph& graph, TensorId id);
/// Values of a constant float32 tensor.
std::optional<std::vector<float>> constant_floats(const Graph& graph, TensorId id);

/// For each tensor, the nodes that read it (indices into graph.nodes, once per use). Graph outputs are not counted.
std::vector<std::vector<int>> consumers_of(const Graph& graph);
/// For each tensor, the node that writes it, or −1.
std::vector<int> producers_of(const Graph& graph);
bool is_graph_output(const Graph& graph, TensorId id);
/// Sorts the nodes topologically (stable); fails on a cycle or an input nobody produces.
Status sort_topologically(Graph& graph);
/// Drops nodes without any used output and tensors no node, input or output mentions; renumbers.
void remove_dead(Graph& graph);

/// Human-readable listing, one node a line.
std::string to_string(const Graph& graph);

/// Structure of a whole model: ids in range, one producer each, topological order, constants' sizes = shape × dtype,
/// arity and attributes legal for the operator, quantization parameters valid. First violation as kCorrupt.
Status verify(const ModelIr& model);
/// The bounds of verify() on integer products once more, for a verified model whose branches of If have since met what
/// they capture: int8 weights handed in, or a branch in the place of its If, form products no file shows. Graphs marked
/// unusable are left out.
Status verify_products(const ModelIr& model);

}  // namespace lq
