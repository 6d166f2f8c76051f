// One row per operator: arity, shape function, how it behaves under quantization, which layouts it takes.
// The rows live in one file per family (graph/ops_*.cc) and are joined in op_def.cc by explicit tables.
#pragma once
#include <cstdint>
#include <string>

#include "graph/graph.h"

namespace lq {

/// How an operator with quantized inputs computes, i.e. its row in docs/NUMERICS.md.
enum class QuantRule : uint8_t {
  kFloatOnly,        // stays float between Dequantize and Quantize
  kProduct,          // Conv, ConvTranspose, Gemm, MatMul: int32 accumulators, R; float output allowed
  kAddSub, kMul,
  kTable,            // one input, int8 -> int8 by a 256-entry table
  kPRelu,
  kAverage,          // AveragePool, GlobalAveragePool, ReduceMean
  kPassThrough,      // values move, parameters stay: out params == in params
  kResize,           // nearest passes through, linear and cubic: Q11 weights, R
};

/// Runtime layouts an operator accepts for its (non-constant, 3-D or 4-D) tensors.
enum class LayoutRule : uint8_t {
  kLinear,           // all linear
  kBlocked,          // data input and output must be NCHWc8 (Conv, pools)
  kSame,             // elementwise: either, all non-constant tensors of equal shape alike
};

class InferContext;
struct OpDef {
  Op op;
  uint8_t min_inputs, max_inputs;    // 255: any number
  uint8_t min_outputs, max_outputs;
  uint32_t planning_inputs;          // bit i: the value of input i must be known when a session is planned
  QuantRule quant;
  LayoutRule layout;
  schema::Attrs attrs;               // the attribute table it takes, Attrs::NONE for none
  Status (*infer)(InferContext& context);
  Status (*check_attrs)(const Node& node);  // meaning of attributes for untrusted files (sizes, signs, enums); may be nullptr
};

/// nullptr for an op that has no row (Undefined, unknown values of an untrusted file).
const OpDef* find_op(Op op);

/// What a shape function sees and sets. Unknown dims are kUnknownDim; unranked inputs answer ranked() == false.
/// A shape function must check everything it uses: shapes and attributes come from untrusted files. It must not overflow:
/// dims above kMaxDim are refused, and it fails with a reason ("kernel 5 does not fit input 3"), without the node's name.
class InferContext {
 public:
  static constexpr int64_t kMaxDim = int64_t(1) << 31;
  InferContext(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}
  const Node& node() const { return node_; }
  const Graph& graph() const { return graph_; }
  size_t input_count() const { return node_.inputs.size(); }
  bool has_input(size_t i) const { return node_.input(i) != kNoTensor; }
  bool ranked(size_t i) const { return graph_.tensor(node_.inputs[i]).ranked; }
  const Shape& shape(size_t i) const { return graph_.tensor(node_.inputs[i]).shape; }
  DType dtype(size_t i) const { return graph_.tensor(node_.inputs[i]).dtype; }
  /// Value of a constant integer input; nullopt if it isn't known (yet).
  std::optional<std::vector<int64_t>> ints(size_t i) const { return constant_ints(graph_, node_.input(i)); }
  std::optional<std::vector<float>> floats(size_t i) const { return constant_floats(graph_, node_.input(i)); }
  /// Sets output i. Without a call the output keeps what it had (unknown).
  void set_output(size_t i, DType dtype, Shape shape);
  void set_unranked(size_t i, DType dtype);

  struct Output { bool set = false, ranked = false; DType dtype = DType::Undefined; Shape shape; };
  std::vector<Output> outputs;

 private:
  const Graph& graph_;
  const Node& node_;
};

/// Numpy broadcasting of two shapes; unknown dims stay unknown unless the other side decides.
Result<Shape> broadcast(const Shape& a, const Shape& b);
/// Axis in [-rank, rank) -> [0, rank).
Result<int> normalize_axis(int64_t axis, size_t rank);

/// Resolved window geometry of Conv, ConvTranspose and the pools for a known input: kernel, strides, pads, dilations with
/// defaults and auto_pad applied. Used by shape functions, runtime and reference alike.
struct WindowGeometry {
  std::vector<int64_t> kernel, strides, pads_begin, pads_end, dilations, output;  // one entry a spatial axis
};
Result<WindowGeometry> conv_geometry(const schema::ConvAttrsT& attrs, const Shape& x, const Shape& w);
Result<WindowGeometry> conv_transpose_geometry(const schema::ConvAttrsT& attrs, const Shape& x, const Shape& w);
Result<WindowGeometry> pool_geometry(const schema::PoolAttrsT& attrs, const Shape& x);

/// Evaluates a node whose inputs are all constants; outputs become Bytes in linear order. Given by the runtime (its own
/// kernels), so that folding and running are the same code.
struct Evaluator {
  Status (*evaluate)(void* context, const ModelIr& model, const Graph& graph, const Node& node, std::vector<Bytes>& outputs) = nullptr;
  void* context = nullptr;
};

/// Runs every shape function in order, writing shapes and dtypes into the graph. With an evaluator it also folds: a node
/// with only constant inputs (Shape of a static tensor too) is evaluated and becomes a constant, within the limits of
/// graph/fold_budget.h; If with a known condition is replaced by its branch. Errors carry the node's label.
/// Branch graphs of an If that stays are inferred too.
Status infer_shapes(ModelIr& model, const Evaluator* evaluator);

}  // namespace lq
