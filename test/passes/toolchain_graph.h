// A few lines to write small float graphs in tests.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace lq::test {

class GraphMaker {
 public:
  GraphMaker() { model.graphs.resize(1); }
  Graph& graph() { return model.graphs[0]; }

  TensorId value(const std::string& name, Shape shape = {}, DType dtype = DType::Float32) {
    Tensor t;
    t.name = name;
    t.dtype = dtype;
    t.ranked = !shape.empty();
    t.shape = std::move(shape);
    return graph().add_tensor(std::move(t));
  }
  TensorId input(const std::string& name, Shape shape) {
    const TensorId id = value(name, std::move(shape));
    graph().inputs.push_back(id);
    return id;
  }
  TensorId constant(const std::string& name, Shape shape, const std::vector<float>& values) {
    return graph().add_constant(name, DType::Float32, std::move(shape), values.data());
  }
  TensorId scalar(float v) { return constant("scalar" + std::to_string(graph().tensors.size()), {}, {v}); }
  TensorId ints(const std::vector<int64_t>& values) {
    return graph().add_constant("ints" + std::to_string(graph().tensors.size()), DType::Int64, {int64_t(values.size())},
                                values.data());
  }
  /// A node named `name` whose one output has the same name; shapes come from finish().
  TensorId node(Op op, const std::string& name, std::vector<TensorId> inputs) {
    Node n;
    n.op = op;
    n.name = name;
    n.inputs = std::move(inputs);
    n.outputs = {value(name)};
    graph().nodes.push_back(std::move(n));
    return graph().nodes.back().outputs[0];
  }
  template <typename AttrsT>
  TensorId node(Op op, const std::string& name, std::vector<TensorId> inputs, AttrsT attrs) {
    const TensorId out = node(op, name, std::move(inputs));
    graph().nodes.back().attrs.Set(std::move(attrs));
    return out;
  }
  void output(TensorId id) { graph().outputs.push_back(id); }
  void finish() {
    const Status status = infer_shapes(model, nullptr);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::vector<std::string> ops() {
    std::vector<std::string> names;
    for (const Node& n : graph().nodes) names.push_back(op_name(n.op));
    return names;
  }
  const Node* find(const std::string& name) {
    for (const Node& n : graph().nodes) {
      if (n.name == name) return &n;
    }
    return nullptr;
  }
  const Tensor* tensor(const std::string& name) {
    for (const Tensor& t : graph().tensors) {
      if (t.name == name) return &t;
    }
    return nullptr;
  }
  std::vector<float> floats(TensorId id) { return constant_floats(graph(), id).value_or(std::vector<float>{}); }

  ModelIr model;
};

}  // namespace lq::test
