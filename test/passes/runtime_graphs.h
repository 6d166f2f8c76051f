// A small language for hand-made graphs: tensors by dtype and shape, nodes by operator.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace lq::testing {

class GraphBuilder {
 public:
  GraphBuilder() { model.graphs.emplace_back(); }
  Graph& graph() { return model.main(); }

  TensorId tensor(const std::string& name, DType dtype, Shape shape) {
    Tensor t;
    t.name = name;
    t.dtype = dtype;
    t.ranked = true;
    t.shape = std::move(shape);
    return graph().add_tensor(std::move(t));
  }
  TensorId input(const std::string& name, Shape shape, DType dtype = DType::Float32) {
    const TensorId id = tensor(name, dtype, std::move(shape));
    graph().inputs.push_back(id);
    return id;
  }
  void output(TensorId id) { graph().outputs.push_back(id); }

  TensorId floats(const std::string& name, Shape shape, const std::vector<float>& values) {
    return graph().add_constant(name, DType::Float32, std::move(shape), values.data());
  }
  TensorId ints(const std::string& name, const std::vector<int64_t>& values) {
    return graph().add_constant(name, DType::Int64, {int64_t(values.size())}, values.data());
  }

  /// Appends a node with one output of the given type and shape.
  TensorId node(Op op, std::vector<TensorId> inputs, Shape shape, DType dtype = DType::Float32) {
    const TensorId out =
        tensor(std::string(op_name(op)).append(std::to_string(graph().tensors.size())), dtype, std::move(shape));
    Node n;
    n.op = op;
    n.name = std::string("n").append(std::to_string(graph().nodes.size()));
    n.inputs = std::move(inputs);
    n.outputs = {out};
    graph().nodes.push_back(std::move(n));
    return out;
  }
  template <typename AttrsT>
  AttrsT& attrs() {
    return mutable_attrs<AttrsT>(graph().nodes.back());
  }

  TensorId quantize(TensorId x, QuantParams params) {
    const DType dtype = params.dtype;
    const TensorId q = node(Op::QuantizeLinear, {x}, graph().tensor(x).shape, dtype);
    graph().tensor(q).quant = std::move(params);
    return q;
  }
  TensorId dequantize(TensorId q) { return node(Op::DequantizeLinear, {q}, graph().tensor(q).shape); }
  /// Quantize with per-tensor int8 parameters, then Dequantize: what the toolchain puts around an activation.
  TensorId through_int8(TensorId x, float scale, int zero_point) {
    return dequantize(quantize(x, per_tensor_params(DType::Int8, scale, zero_point)));
  }
  /// A constant int8 weight with per-channel scales along `axis`, dequantized.
  TensorId weights(const std::string& name, Shape shape, const std::vector<int8_t>& values, std::vector<float> scales,
                   int axis) {
    const TensorId w = graph().add_constant(name, DType::Int8, std::move(shape), values.data());
    graph().tensor(w).quant = per_channel_weights(std::move(scales), axis);
    return dequantize(w);
  }
  TensorId bias(const std::string& name, const std::vector<int32_t>& values, std::vector<float> scales) {
    const TensorId b = graph().add_constant(name, DType::Int32, {int64_t(values.size())}, values.data());
    QuantParams p = per_tensor_params(DType::Int32, scales[0], 0);
    p.granularity = schema::Granularity::PerChannel;
    p.axis = 0;
    p.zero_point.clear();  // all 0
    p.scale = std::move(scales);
    graph().tensor(b).quant = p;
    return dequantize(b);
  }

  ModelIr model;
};

/// The operators of a graph in order.
inline std::vector<Op> ops_of(const Graph& graph) {
  std::vector<Op> ops;
  for (const Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}
/// The first node of an operator, nullptr if there is none.
inline const Node* find_node(const Graph& graph, Op op) {
  for (const Node& node : graph.nodes) {
    if (node.op == op) return &node;
  }
  return nullptr;
}

}  // namespace lq::testing
