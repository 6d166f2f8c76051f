// Small graphs for tests, written in a line each.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace lq::test {

/// "prefix12".
inline std::string numbered(const char* prefix, size_t n) {
  std::string s = prefix;
  return s.append(std::to_string(n));
}

/// A graph of a model that grows by calls.
class Builder {
 public:
  explicit Builder(ModelIr& model, size_t graph = 0) : model_(model), index_(graph) {
    if (model.graphs.size() <= graph) model.graphs.resize(graph + 1);
  }
  Graph& graph() { return model_.graphs[index_]; }

  TensorId tensor(std::string name, DType dtype = DType::Undefined) {
    Tensor t;
    t.name = std::move(name);
    t.dtype = dtype;
    return graph().add_tensor(std::move(t));
  }
  TensorId input(std::string name, Shape shape, DType dtype = DType::Float32) {
    const TensorId id = tensor(std::move(name), dtype);
    graph().tensor(id).ranked = true;
    graph().tensor(id).shape = std::move(shape);
    graph().inputs.push_back(id);
    return id;
  }
  template <typename T>
  TensorId constant(DType dtype, Shape shape, const std::vector<T>& values) {
    return graph().add_constant(numbered("c", graph().tensors.size()), dtype, std::move(shape), values.data());
  }
  TensorId ints(const std::vector<int64_t>& values) { return constant(DType::Int64, {int64_t(values.size())}, values); }
  TensorId scalar(int64_t value) { return constant<int64_t>(DType::Int64, {}, {value}); }
  TensorId floats(const std::vector<float>& values) {
    return constant(DType::Float32, {int64_t(values.size())}, values);
  }

  Node& node(Op op, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
    Node n;
    n.op = op;
    n.inputs = std::move(inputs);
    n.outputs = std::move(outputs);
    graph().nodes.push_back(std::move(n));
    return graph().nodes.back();
  }
  /// Adds a node with one output.
  TensorId call(Op op, std::vector<TensorId> inputs) {
    const TensorId out = tensor(numbered("t", graph().tensors.size()));
    node(op, std::move(inputs), {out});
    return out;
  }
  template <typename AttrsT>
  TensorId call(Op op, std::vector<TensorId> inputs, AttrsT attrs) {
    const TensorId out = call(op, std::move(inputs));
    graph().nodes.back().attrs.Set(std::move(attrs));
    return out;
  }

 private:
  ModelIr& model_;
  size_t index_;
};

}  // namespace lq::test
