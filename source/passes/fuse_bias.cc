// MatMul by a constant matrix and a constant added to each column are one Gemm.
#include "passes/passes.h"
#include "passes/product_weights.h"
#include "passes/rewrite.h"

namespace lq::passes {
namespace {

/// Reshape(x, [-1, K]) -> Gemm -> Reshape back, for activations of rank 3 and more. Only with at most one unknown
/// leading dimension, since the way back is a constant shape with one −1.
struct Reshapes {
  std::vector<int64_t> flat, back;
};

bool plan_reshapes(const Shape& x, const Shape& y, Reshapes& plan) {
  int unknown = 0;
  for (size_t i = 0; i + 1 < y.size(); ++i) unknown += y[i] < 0 ? 1 : 0;
  if (unknown > 1 || y.back() <= 0 || x.back() <= 0) return false;
  for (int64_t d : y) {
    if (d == 0) return false;  // an empty tensor makes −1 ambiguous
  }
  plan.flat = {-1, x.back()};
  plan.back.assign(y.begin(), y.end());
  return true;
}

TensorId add_value(Graph& graph, const std::string& name, Shape shape) {
  Tensor t;
  t.name = name;
  t.dtype = DType::Float32;
  t.ranked = true;
  t.shape = std::move(shape);
  return graph.add_tensor(std::move(t));
}

Node make_reshape(Graph& graph, const std::string& name, TensorId in, const std::vector<int64_t>& shape, TensorId out) {
  Node node;
  node.op = Op::Reshape;
  node.name = name;
  node.inputs = {in, graph.add_constant(name + "_shape", DType::Int64, {int64_t(shape.size())}, shape.data())};
  node.outputs = {out};
  node.attrs.Set(schema::ReshapeAttrsT{});
  return node;
}

/// Rewrites the MatMul at `n` whose reader `next` adds `bias`. False: shapes do not allow it.
bool fuse(Graph& graph, size_t n, size_t next, TensorId bias) {
  Node& matmul = graph.nodes[n];
  const Tensor& x = graph.tensor(matmul.inputs[0]);
  const Tensor& y = graph.tensor(matmul.outputs[0]);
  const int64_t columns = graph.tensor(matmul.inputs[1]).shape[1];
  const auto values = per_channel_values(graph, bias, y.shape.size(), 1, columns);
  if (!x.ranked || x.shape.size() < 2 || !values) return false;
  const std::vector<float> row(values->begin(), values->end());
  const TensorId target = graph.nodes[next].outputs[0];
  const std::string name = matmul.name.empty() ? y.name : matmul.name, bias_name = graph.tensor(bias).name;
  Reshapes reshapes;
  const bool flatten = x.shape.size() > 2;
  if (flatten && !plan_reshapes(x.shape, y.shape, reshapes)) return false;

  matmul.op = Op::Gemm;
  matmul.attrs.Set(schema::GemmAttrsT{});
  matmul.inputs.resize(3, kNoTensor);
  matmul.inputs[2] = graph.add_constant(bias_name, DType::Float32, {columns}, row.data());
  graph.nodes.erase(graph.nodes.begin() + int64_t(next));
  if (!flatten) {
    graph.nodes[n].outputs[0] = target;
    return true;
  }
  const TensorId flat_in = add_value(graph, name + "_rows", {kUnknownDim, reshapes.flat[1]});
  const TensorId flat_out = add_value(graph, name + "_rows_out", {kUnknownDim, columns});
  Node before = make_reshape(graph, name + "_flatten", graph.nodes[n].inputs[0], reshapes.flat, flat_in);
  Node after = make_reshape(graph, name + "_restore", flat_out, reshapes.back, target);
  graph.nodes[n].inputs[0] = flat_in;
  graph.nodes[n].outputs[0] = flat_out;
  graph.nodes.insert(graph.nodes.begin() + int64_t(n) + 1, std::move(after));
  graph.nodes.insert(graph.nodes.begin() + int64_t(n), std::move(before));
  return true;
}

bool fuse_one(Graph& graph) {
  const GraphIndex index(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& matmul = graph.nodes[n];
    if (matmul.op != Op::MatMul || !product_weights(graph, matmul, nullptr)) continue;
    const TensorId y = matmul.outputs[0];
    const int next = index.sole_consumer(y);
    if (next < 0 || graph.nodes[size_t(next)].op != Op::Add || !graph.tensor(y).ranked) continue;
    const Node& add = graph.nodes[size_t(next)];
    const TensorId bias = add.inputs[0] == y ? add.inputs[1] : add.inputs[0];
    if (bias != y && fuse(graph, n, size_t(next), bias)) return true;
  }
  return false;
}

}  // namespace

Status fuse_bias(ModelIr& model) {
  for (Graph& graph : model.graphs) {
    while (fuse_one(graph)) {
    }
    remove_dead(graph);
  }
  return {};
}

}  // namespace lq::passes
