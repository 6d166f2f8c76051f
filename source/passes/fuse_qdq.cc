// Explicit Q/DQ graph -> integer operators, by the rows of docs/NUMERICS.md. This pass and the reference interpreter
// are the two readers of that table: a pattern that is not in it stays float, literally.
#include <algorithm>
#include <string>

#include "graph/op_def.h"
#include "numerics/quantize.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/runtime_match.h"

namespace lq::passes {
namespace {

/// What follows an operator: [Relu | constant Clip ->] QuantizeLinear, each the only reader of its input.
struct Tail {
  int clamp = -1, quantize = -1;  // nodes; clamp −1: none
  TensorId output = kNoTensor;    // the quantized tensor Quantize writes
  QuantParams params;             // of the output, narrowed by the clamp
  bool zero_point_inside = true;  // of the narrowed bounds
};

/// ReduceMean over no axes at all is a copy, not an average.
bool reduces_nothing(const Graph& graph, const Node& node) {
  if (node.op != Op::ReduceMean || !attrs_as<schema::ReduceAttrsT>(node).noop_with_empty_axes) return false;
  const std::optional<std::vector<int64_t>> axes = constant_ints(graph, node.input(1));
  return node.input(1) == kNoTensor || !axes || axes->empty();
}

class QdqFuser {
 public:
  explicit QdqFuser(Graph& graph) : graph_(graph), index_(graph), state_(graph.nodes.size(), State::kToDo) {
    for (const Tensor& t : graph.tensors) params_.push_back(t.quant);
  }
  void run();

 private:
  enum class State : uint8_t { kToDo, kDone, kDropped };

  TensorId source(TensorId id) const;
  using Accepts = bool (*)(const Tensor&);
  TensorId source(TensorId id, Accepts accepts) const;
  std::optional<Tail> match_tail(TensorId output, bool with_clamp, Accepts accepts) const;
  void finish(int index, const Tail& tail);
  void narrow(Tail& tail, const ValueRange& bounds) const;

  bool fuse_node(int index, QuantRule rule);
  bool fuse_product(int index);
  bool fuse_activation_product(int index);
  bool fuse_integer(int index, size_t data_inputs, bool with_clamp, Accepts accepts = is_int8_per_tensor);
  bool fuse_pass_through(int index);
  bool fuse_requantize(int index);

  Graph& graph_;
  const GraphIndex
      index_;  // of the graph as it was: what it says of float tensors stays true while nodes are rewritten
  std::vector<State> state_;                        // by node
  std::vector<std::optional<QuantParams>> params_;  // by tensor, before any narrowing: what the file says decides
};

/// The quantized tensor a float one was dequantized from.
TensorId QdqFuser::source(TensorId id) const {
  const int producer = index_.producer(id);
  if (producer < 0 || graph_.nodes[size_t(producer)].op != Op::DequantizeLinear) return kNoTensor;
  return graph_.nodes[size_t(producer)].input(0);
}

/// The same if a rule takes it, else none.
TensorId QdqFuser::source(TensorId id, Accepts accepts) const {
  const TensorId q = source(id);
  return q != kNoTensor && graph_.tensor(id).dtype == DType::Float32 && accepts(graph_.tensor(q)) ? q : kNoTensor;
}

void QdqFuser::narrow(Tail& tail, const ValueRange& bounds) const {
  QuantParams& p = tail.params;
  const float scale = scale_at(p, 0);
  const int32_t zero_point = zero_point_at(p, 0), qmin = p.qmin, qmax = p.qmax;
  p.qmin = std::max(qmin, quantize(bounds.min, scale, zero_point, qmin, qmax));
  p.qmax = std::min(qmax, quantize(bounds.max, scale, zero_point, qmin, qmax));
  tail.zero_point_inside = p.qmin <= zero_point && zero_point <= p.qmax;
}

std::optional<Tail> QdqFuser::match_tail(TensorId output, bool with_clamp, Accepts accepts) const {
  Tail tail;
  std::optional<ValueRange> bounds;
  int reader = index_.sole_consumer(output);
  if (reader >= 0 && with_clamp) {
    const Node& node = graph_.nodes[size_t(reader)];
    bounds = constant_clamp(graph_, node);
    if (bounds) {
      if (node.input(0) != output) return std::nullopt;
      tail.clamp = reader;
      reader = index_.sole_consumer(node.outputs[0]);
    }
  }
  if (reader < 0 || graph_.nodes[size_t(reader)].op != Op::QuantizeLinear) return std::nullopt;
  tail.quantize = reader;
  tail.output = graph_.nodes[size_t(reader)].outputs[0];
  if (!accepts(graph_.tensor(tail.output))) return std::nullopt;
  tail.params = *params_[size_t(tail.output)];
  if (bounds) narrow(tail, *bounds);
  return tail;
}

/// Lets node `index` write the tail's tensor and drops the tail. Bounds that leave the zero point out (Clip(1, 6))
/// would put something else than it into the padding lanes of a blocked tensor, so there the Clip stays, as an int8
/// table: the same bits, since Quantize is monotone and exact on its own values. What writes int16 clears those lanes.
void QdqFuser::finish(int index, const Tail& tail) {
  state_[size_t(tail.quantize)] = State::kDropped;
  if (tail.zero_point_inside || tail.params.dtype == DType::Int16) {
    graph_.nodes[size_t(index)].outputs[0] = tail.output;
    graph_.tensor(tail.output).quant = tail.params;
    if (tail.clamp >= 0) state_[size_t(tail.clamp)] = State::kDropped;
    return;
  }
  Tensor unclamped = graph_.tensor(tail.output);
  unclamped.name += "/unclamped";
  const TensorId id = graph_.add_tensor(std::move(unclamped));
  graph_.nodes[size_t(index)].outputs[0] = id;
  Node& clamp = graph_.nodes[size_t(tail.clamp)];
  clamp.inputs[0] = id;
  clamp.outputs[0] = tail.output;
  state_[size_t(tail.clamp)] = State::kDone;
}

/// Conv, ConvTranspose, Gemm, MatMul by constant: integer whatever follows; the output stays float without a tail.
bool QdqFuser::fuse_product(int index) {
  Node& node = graph_.nodes[size_t(index)];
  const TensorId x = source(node.input(0), is_activation), w = source(node.input(1));
  if (x == kNoTensor || w == kNoTensor) return false;
  const Tensor& weights = graph_.tensor(w);
  const Shape& shape = weights.shape;
  if (shape.size() < 2) return false;
  int axis = 0;
  int64_t channels = shape[0];
  if (node.op == Op::ConvTranspose) {
    axis = 1;  // [C, M/g, kernel]: scale of output channel g·(M/g) + j
    channels = shape[1] * attrs_as<schema::ConvAttrsT>(node).groups;
  } else if (node.op == Op::Gemm) {
    const auto& attrs = attrs_as<schema::GemmAttrsT>(node);
    if (attrs.alpha != 1.0f || attrs.beta != 1.0f || attrs.trans_a) return false;
    axis = attrs.trans_b ? 0 : 1;
    channels = shape[size_t(axis)];
  } else if (node.op == Op::MatMul) {
    if (graph_.tensor(x).shape.size() < 2) return false;  // a vector stays float
    axis = int(shape.size()) - 1;
    channels = shape.back();
  }
  if (!is_int8_weights(weights, axis, channels)) return false;
  TensorId bias = kNoTensor;
  if (node.input(2) != kNoTensor) {
    bias = source(node.input(2));
    if (bias == kNoTensor || !is_int32_bias(graph_.tensor(bias), channels, *params_[size_t(x)], *weights.quant))
      return false;
  }
  node.inputs[0] = x;
  node.inputs[1] = w;
  if (bias != kNoTensor) node.inputs[2] = bias;
  const std::optional<Tail> tail = match_tail(node.outputs[0], true, is_activation);
  if (tail) finish(index, *tail);
  return true;
}

/// MatMul of two activations.
bool QdqFuser::fuse_activation_product(int index) {
  const Node& node = graph_.nodes[size_t(index)];
  for (size_t i = 0; i < 2; ++i) {
    const TensorId q = source(node.input(i));
    if (q == kNoTensor || graph_.tensor(q).shape.size() < 2 || (i == 1 && graph_.tensor(q).is_constant())) return false;
  }
  return fuse_integer(index, 2, true);
}

/// An integer rule over the first `data_inputs` inputs: each from Dequantize of a type it takes, and a tail.
bool QdqFuser::fuse_integer(int index, size_t data_inputs, bool with_clamp, Accepts accepts) {
  Node& node = graph_.nodes[size_t(index)];
  std::vector<TensorId> sources;
  for (size_t i = 0; i < data_inputs; ++i) {
    sources.push_back(source(node.input(i), accepts));
    if (sources.back() == kNoTensor) return false;
  }
  const std::optional<Tail> tail = match_tail(node.outputs[0], with_clamp, accepts);
  if (!tail) return false;
  std::copy(sources.begin(), sources.end(), node.inputs.begin());
  finish(index, *tail);
  return true;
}

/// Operators that move values: quantized through iff the parameters of every data input and of every output are equal.
bool QdqFuser::fuse_pass_through(int index) {
  Node& node = graph_.nodes[size_t(index)];
  if (node.op == Op::MaxPool && node.output(1) != kNoTensor) return false;
  if (node.op == Op::Pad && node.input(2) != kNoTensor && !constant_scalar(graph_, node.input(2))) return false;
  const size_t data_inputs = node.op == Op::Concat ? node.inputs.size() : 1;
  std::vector<TensorId> sources;
  for (size_t i = 0; i < data_inputs; ++i) {
    sources.push_back(source(node.input(i), is_activation));
    if (sources.back() == kNoTensor) return false;
  }
  const QuantParams& params = *params_[size_t(sources[0])];
  const auto equal = [&](TensorId id) { return is_same_quantization(params, *params_[size_t(id)]); };
  if (!std::all_of(sources.begin(), sources.end(), equal)) return false;
  std::vector<Tail> tails;
  for (TensorId id : node.outputs) {
    const std::optional<Tail> tail = id == kNoTensor ? std::nullopt : match_tail(id, false, is_activation);
    if (!tail || !equal(tail->output)) return false;
    tails.push_back(*tail);
  }
  std::copy(sources.begin(), sources.end(), node.inputs.begin());
  for (size_t i = 0; i < tails.size(); ++i) {
    node.outputs[i] = tails[i].output;
    state_[size_t(tails[i].quantize)] = State::kDropped;
  }
  return true;
}

/// Dequantize -> Quantize: a change of scale or type (also int8 <-> uint8 at public inputs and outputs), or nothing at
/// all.
bool QdqFuser::fuse_requantize(int index) {
  Node& node = graph_.nodes[size_t(index)];
  const TensorId q = source(node.input(0)), output = node.outputs[0];
  if (q == kNoTensor || graph_.tensor(node.input(0)).dtype != DType::Float32) return false;
  const auto accepts = [](const Tensor& t) { return is_8bit_per_tensor(t) || is_activation(t); };
  if (!accepts(graph_.tensor(q)) || !accepts(graph_.tensor(output))) return false;
  node.op = is_same_quantization(*params_[size_t(q)], *params_[size_t(output)]) ? Op::Identity : Op::Requantize;
  node.inputs[0] = q;
  return true;
}

bool QdqFuser::fuse_node(int index, QuantRule rule) {
  const Node& node = graph_.nodes[size_t(index)];
  switch (rule) {
    case QuantRule::kProduct:
      return fuse_product(index) || (node.op == Op::MatMul && fuse_activation_product(index));
    case QuantRule::kAddSub:
    case QuantRule::kMul:
      return fuse_integer(index, 2, true, is_activation);
    case QuantRule::kTable: {
      const bool fixed_bounds = node.op != Op::Clip || constant_clamp(graph_, node);
      return fixed_bounds && fuse_integer(index, 1, false);
    }
    case QuantRule::kPRelu:
      return constant_floats(graph_, node.input(1)).has_value() && fuse_integer(index, 1, true);
    case QuantRule::kAverage:
      return !reduces_nothing(graph_, node) && fuse_integer(index, 1, true);
    case QuantRule::kPassThrough:
      return fuse_pass_through(index);
    case QuantRule::kResize:
      if (attrs_as<schema::ResizeAttrsT>(node).mode == schema::ResizeMode::Nearest) return fuse_pass_through(index);
      return fuse_integer(index, 1, true);
    case QuantRule::kFloatOnly:
      return node.op == Op::QuantizeLinear && fuse_requantize(index);
  }
  return false;
}

void QdqFuser::run() {
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const OpDef* def = find_op(graph_.nodes[i].op);
    if (state_[i] == State::kToDo && def != nullptr) fuse_node(int(i), def->quant);
  }
  std::vector<Node> kept;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (state_[i] != State::kDropped) kept.push_back(std::move(graph_.nodes[i]));
  }
  graph_.nodes = std::move(kept);
  remove_dead(graph_);
}

}  // namespace

Status fuse_qdq(ModelIr& model) {
  for (Graph& graph : model.graphs) QdqFuser(graph).run();
  return {};
}

}  // namespace lq::passes
