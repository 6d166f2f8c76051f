#include "reference/reference.h"

#include <cmath>

#include "graph/session_shapes.h"
#include "numerics/quantize.h"
#include "reference/values.h"
#include "runtime/prepare_graph.h"
#include "runtime/session.h"

namespace lq::reference {
namespace {

/// Parameters of channel index along params.axis for a flat index.
size_t channel_of(const QuantParams& p, const Shape& shape, int64_t index) {
  if (p.granularity != schema::Granularity::PerChannel) return 0;
  int64_t inner = 1;
  for (size_t a = size_t(p.axis) + 1; a < shape.size(); ++a) inner *= shape[a];
  return size_t((index / inner) % shape[size_t(p.axis)]);
}

Status dequantize_node(Execution& e, const Node& node) {
  const Tensor q = e.tensor(node.inputs[0]);
  if (!q.quant) return internal_error("DequantizeLinear of a tensor without parameters");
  float* y = e.make<float>(node.outputs[0], DType::Float32, q.shape);
  for (int64_t i = 0; i < element_count(q.shape); ++i) {
    int32_t v = 0;
    switch (q.dtype) {
      case DType::Int8: v = q.data.as<int8_t>()[i]; break;
      case DType::UInt8: v = q.data.as<uint8_t>()[i]; break;
      case DType::Int16: v = q.data.as<int16_t>()[i]; break;
      case DType::Int32: v = q.data.as<int32_t>()[i]; break;
      default: return unsupported("DequantizeLinear of " + std::string(dtype_name(q.dtype)));
    }
    const size_t c = q.quant->scale.size() == 1 ? 0 : channel_of(*q.quant, q.shape, i);
    y[i] = dequantize(v, scale_at(*q.quant, c), zero_point_at(*q.quant, c));
  }
  return {};
}

Status quantize_node(Execution& e, const Node& node) {
  const Tensor x = e.tensor(node.inputs[0]);
  const TensorId id = node.outputs[0];
  const QuantParams p = *e.tensor(id).quant;
  auto value = [&](int64_t i) {
    const size_t c = channel_of(p, x.shape, i);
    return quantize(x.data.as<float>()[i], scale_at(p, c), zero_point_at(p, c), p.qmin, p.qmax);
  };
  const int64_t n = element_count(x.shape);
  if (p.dtype == DType::Int8) {
    int8_t* y = e.make<int8_t>(id, DType::Int8, x.shape);
    for (int64_t i = 0; i < n; ++i) y[i] = int8_t(value(i));
  } else if (p.dtype == DType::UInt8) {
    uint8_t* y = e.make<uint8_t>(id, DType::UInt8, x.shape);
    for (int64_t i = 0; i < n; ++i) y[i] = uint8_t(value(i));
  } else if (p.dtype == DType::Int16) {
    int16_t* y = e.make<int16_t>(id, DType::Int16, x.shape);
    for (int64_t i = 0; i < n; ++i) y[i] = int16_t(value(i));
  } else {
    return unsupported("QuantizeLinear to " + std::string(dtype_name(p.dtype)));
  }
  return {};
}

Status run_graph(Execution& e);

Status if_node(Execution& e, const Node& node) {
  const bool condition = *e.data<uint8_t>(node.inputs[0]) != 0;
  const std::string& unusable = e.model.graphs[size_t(node.subgraphs[condition ? 0 : 1])].unusable;
  if (!unusable.empty()) return invalid_argument("the condition chose a branch that cannot run: " + unusable);
  Execution branch(e.model, size_t(node.subgraphs[condition ? 0 : 1]));
  for (size_t i = 0; i < branch.graph.inputs.size(); ++i) {
    const Tensor& from = e.tensor(node.inputs[i + 1]);
    Tensor& to = branch.graph.tensor(branch.graph.inputs[i]);
    to.data = from.data, to.shape = from.shape, to.dtype = from.dtype, to.ranked = true;
  }
  LQ_RETURN_IF_ERROR(run_graph(branch));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoTensor) continue;
    const Tensor& from = branch.tensor(branch.graph.outputs[i]);
    Tensor& to = e.graph.tensor(node.outputs[i]);
    to.data = from.data, to.shape = from.shape, to.dtype = from.dtype, to.ranked = true;
  }
  return {};
}

/// Operators without an integer form here, and data movement: the runtime's scalar operator on linear tensors. Their values
/// are checked against ONNX's own vectors (test/onnx).
Status evaluate_node(Execution& e, const Node& node) {
  const OpDef* def = find_op(node.op);
  if (def == nullptr) return unsupported("no such operator");
  InferContext context(e.graph, node);
  context.outputs.resize(node.outputs.size());
  LQ_RETURN_IF_ERROR(def->infer(context));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoTensor || !context.outputs[i].set) continue;
    Tensor& t = e.graph.tensor(node.outputs[i]);
    t.shape = context.outputs[i].shape, t.dtype = context.outputs[i].dtype, t.ranked = true;
  }
  const Evaluator evaluator = runtime_evaluator();
  std::vector<Bytes> outputs(node.outputs.size());
  LQ_RETURN_IF_ERROR(evaluator.evaluate(evaluator.context, e.model, e.graph, node, outputs));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNoTensor) e.graph.tensor(node.outputs[i]).data = outputs[i];
  }
  return {};
}

Status run_node(Execution& e, const Node& node) {
  if (node.op == Op::DequantizeLinear) return dequantize_node(e, node);
  if (node.op == Op::If) return if_node(e, node);
  LQ_ASSIGN_OR_RETURN(bool applied, apply_integer_rule(e, node));
  if (applied) return {};
  LQ_ASSIGN_OR_RETURN(applied, apply_float_rule(e, node));
  if (applied) return {};
  return node.op == Op::QuantizeLinear ? quantize_node(e, node) : evaluate_node(e, node);
}

Status run_graph(Execution& e) {
  const std::vector<Node> nodes = e.graph.nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (e.done[i]) continue;
    Status status = run_node(e, nodes[i]);
    if (!status.ok()) return status.with_context("reference: " + node_label(e.graph, nodes[i]));
  }
  return {};
}

}  // namespace

Execution::Execution(const ModelIr& model, size_t index) : model(model), graph(model.graphs[index]) {
  producers = producers_of(graph);
  consumers = consumers_of(graph);
  for (const Tensor& t : graph.tensors) constant.push_back(t.is_constant());
  done.assign(graph.nodes.size(), false);
}

std::optional<Operand> Execution::operand(const Node& node, size_t i) const {
  const TensorId id = node.input(i);
  if (id == kNoTensor || producers[size_t(id)] < 0) return std::nullopt;
  const Node& dq = graph.nodes[size_t(producers[size_t(id)])];
  if (dq.op != Op::DequantizeLinear) return std::nullopt;
  const Tensor& q = tensor(dq.inputs[0]);
  if (!q.quant) return std::nullopt;
  const bool one = q.quant->granularity == schema::Granularity::PerTensor, per_tensor = q.dtype == DType::Int8 && one;
  const int32_t zero_point = zero_point_at(*q.quant, 0);
  const bool wide = q.dtype == DType::Int16 && one && zero_point == 0;
  return Operand{dq.inputs[0], *q.quant, per_tensor, per_tensor || wide, scale_at(*q.quant, 0), zero_point};
}

std::optional<float> Execution::constant_scalar(TensorId id) const {
  if (!constant[size_t(id)]) return std::nullopt;
  const auto values = constant_floats(graph, id);
  return values && values->size() == 1 ? std::optional<float>((*values)[0]) : std::nullopt;
}

std::optional<ValueRange> Execution::clamp_bounds(const Node& node) const {
  if (node.op == Op::Relu) return ValueRange{0, HUGE_VALF};
  if (node.op != Op::Clip) return std::nullopt;
  ValueRange bounds{-HUGE_VALF, HUGE_VALF};
  for (size_t i : {1, 2}) {
    if (node.input(i) == kNoTensor) continue;
    const auto v = constant_scalar(node.inputs[i]);
    if (!v) return std::nullopt;
    (i == 1 ? bounds.min : bounds.max) = *v;
  }
  return bounds.min <= bounds.max ? std::optional<ValueRange>(bounds) : std::nullopt;
}

std::optional<Target> Execution::target(const Node& node, bool or_int16) const {
  Target t{};
  std::optional<ValueRange> bounds;
  TensorId id = node.outputs[0];
  for (int step = 0; step < 2; ++step) {
    if (is_graph_output(graph, id) || consumers[size_t(id)].size() != 1) return std::nullopt;
    const int reader = consumers[size_t(id)][0];
    const Node& next = graph.nodes[size_t(reader)];
    if (next.op == Op::QuantizeLinear) {
      const QuantParams& p = *tensor(next.outputs[0]).quant;
      const bool wide = or_int16 && p.dtype == DType::Int16 && zero_point_at(p, 0) == 0;
      if ((p.dtype != DType::Int8 && !wide) || p.granularity != schema::Granularity::PerTensor) return std::nullopt;
      t.dtype = p.dtype;
      t.quantize_node = reader;
      t.tensor = next.outputs[0];
      t.scale = p.scale[0], t.zero_point = zero_point_at(p, 0), t.qmin = p.qmin, t.qmax = p.qmax;
      if (bounds) {
        t.qmin = std::max(t.qmin, quantize(bounds->min, t.scale, t.zero_point, p.qmin, p.qmax));
        t.qmax = std::min(t.qmax, quantize(bounds->max, t.scale, t.zero_point, p.qmin, p.qmax));
      }
      return t;
    }
    if (step == 1 || next.inputs[0] != id) return std::nullopt;
    bounds = clamp_bounds(next);
    if (!bounds) return std::nullopt;
    t.between.push_back(reader);
    id = next.outputs[0];
  }
  return std::nullopt;
}

Result<std::vector<Value>> interpret(const ModelIr& model, const std::vector<Value>& inputs) {
  // "Constant" and "reader" in docs/NUMERICS.md are meant after folding: Shape of a static tensor is no reader any more, and
  // an If with a known condition is its branch.
  ModelIr folded = model;
  const Evaluator evaluator = runtime_evaluator();
  if (inputs.size() != model.main().inputs.size()) return invalid_argument("reference: wrong number of inputs");
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor& t = folded.main().tensor(folded.main().inputs[i]);
    t.shape = inputs[i].shape, t.ranked = true;
  }
  sink_constants(folded);
  do {
    LQ_RETURN_IF_ERROR(infer_session_shapes(folded, evaluator));
  } while (sink_constants(folded));
  for (Graph& graph : folded.graphs) remove_dead(graph);

  Execution e(folded, 0);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor& t = e.graph.tensor(e.graph.inputs[i]);
    t.data = inputs[i].data, t.dtype = inputs[i].dtype;
  }
  LQ_RETURN_IF_ERROR(run_graph(e));
  std::vector<Value> outputs;
  for (TensorId id : e.graph.outputs) outputs.push_back({e.tensor(id).dtype, e.tensor(id).shape, e.tensor(id).data});
  return outputs;
}

}  // namespace lq::reference
