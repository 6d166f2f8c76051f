// y = scale[c]·product + shift[c] with constant scale and shift is the same product with other weights and bias.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "passes/passes.h"
#include "passes/product_weights.h"
#include "passes/rewrite.h"

namespace lq::passes {
namespace {

struct Affine {
  std::vector<double> scale, shift;  // one a channel
};

/// BatchNormalization's inference form: scale = gamma/sqrt(var + eps), shift = beta − mean·scale. In double: a variance
/// of 1e-10 with eps 0 still gives a finite scale, and gamma 0 gives exactly 0.
std::optional<Affine> batch_norm(const Graph& graph, const Node& node, int64_t channels) {
  std::vector<float> p[4];
  for (size_t i = 0; i < 4; ++i) {
    const auto values = constant_floats(graph, node.input(i + 1));
    if (!values || int64_t(values->size()) != channels) return std::nullopt;
    p[i] = *values;
  }
  const double epsilon = double(attrs_as<schema::NormAttrsT>(node).epsilon);
  Affine affine;
  for (size_t c = 0; c < size_t(channels); ++c) {
    const double scale = double(p[0][c]) / std::sqrt(double(p[3][c]) + epsilon);
    affine.scale.push_back(scale);
    affine.shift.push_back(double(p[1][c]) - double(p[2][c]) * scale);
    if (!std::isfinite(affine.scale.back()) || !std::isfinite(affine.shift.back())) return std::nullopt;
  }
  return affine;
}

/// Mul, Add, Sub, Div by a per-channel constant; `data` is the product's output among the node's two inputs.
std::optional<Affine> elementwise(const Graph& graph, const Node& node, TensorId data, size_t rank,
                                  const ProductWeights& view) {
  const bool data_first = node.input(0) == data;
  const TensorId constant = data_first ? node.input(1) : node.input(0);
  if (constant == data || constant == kNoTensor) return std::nullopt;
  const auto values = per_channel_values(graph, constant, rank, view.channel_from_right, view.channels);
  if (!values) return std::nullopt;
  Affine affine{std::vector<double>(values->size(), 1.0), std::vector<double>(values->size(), 0.0)};
  for (size_t c = 0; c < values->size(); ++c) {
    const double v = (*values)[c];
    switch (node.op) {
      case Op::Mul:
        affine.scale[c] = v;
        break;
      case Op::Div:
        if (!data_first || v == 0) return std::nullopt;
        affine.scale[c] = 1 / v;
        break;
      case Op::Add:
        affine.shift[c] = v;
        break;
      case Op::Sub:
        affine.shift[c] = data_first ? -v : v;
        affine.scale[c] = data_first ? 1 : -1;
        break;
      default:
        return std::nullopt;
    }
    if (!std::isfinite(v)) return std::nullopt;
  }
  return affine;
}

std::optional<Affine> affine_of(const Graph& graph, const Node& node, TensorId data, size_t rank,
                                const ProductWeights& view) {
  if (node.op != Op::BatchNormalization) return elementwise(graph, node, data, rank, view);
  // Its channel axis is 1, which is the product's channel axis for convolutions and for a matrix of rank 2.
  if (node.input(0) != data || rank < 2 || view.channel_from_right != rank - 1) return std::nullopt;
  return batch_norm(graph, node, view.channels);
}

/// New weights and bias for `product`, which takes over `follower`'s output. False: left alone.
bool apply(Graph& graph, Node& product, const Node& follower, const ProductWeights& view, const Affine& affine) {
  const bool needs_bias = std::any_of(affine.shift.begin(), affine.shift.end(), [](double v) { return v != 0; });
  const Tensor& x = graph.tensor(product.inputs[0]);
  // MatMul has no bias input; Gemm has one, but takes matrices only.
  const bool becomes_gemm = product.op == Op::MatMul && needs_bias;
  if (becomes_gemm && !(x.ranked && x.shape.size() == 2)) return false;

  const std::string name = graph.tensor(view.weight).name;
  const Shape shape = graph.tensor(view.weight).shape;
  std::vector<float> weights = *constant_floats(graph, view.weight);
  const std::vector<int32_t> channel = view.channel_of_element(shape);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = float(double(weights[i]) * affine.scale[size_t(channel[i])]);
  std::vector<double> bias = bias_values(graph, product, view);
  std::vector<float> folded(bias.size());
  for (size_t c = 0; c < bias.size(); ++c) folded[c] = float(bias[c] * affine.scale[c] + affine.shift[c]);
  const auto finite = [](float v) { return std::isfinite(v); };
  if (!std::all_of(weights.begin(), weights.end(), finite) || !std::all_of(folded.begin(), folded.end(), finite))
    return false;

  product.inputs[1] = graph.add_constant(name, DType::Float32, shape, weights.data());
  if (needs_bias || view.bias != kNoTensor) {
    const std::string bias_name = view.bias != kNoTensor ? graph.tensor(view.bias).name : name + "_bias";
    product.inputs.resize(3, kNoTensor);
    product.inputs[2] = graph.add_constant(bias_name, DType::Float32, {view.channels}, folded.data());
  }
  if (becomes_gemm) {
    product.op = Op::Gemm;
    product.attrs.Set(schema::GemmAttrsT{});
  }
  product.outputs[0] = follower.outputs[0];
  return true;
}

/// One fold somewhere in the graph; false when there is nothing left.
bool fold_one(Graph& graph, const GraphIndex& index) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& product = graph.nodes[n];
    if (product.op != Op::Conv && product.op != Op::ConvTranspose && product.op != Op::Gemm && product.op != Op::MatMul)
      continue;
    const int next = index.sole_consumer(product.output(0));
    if (next < 0) continue;
    const Node& follower = graph.nodes[size_t(next)];
    const std::optional<ProductWeights> view = product_weights(graph, product, nullptr);
    const Tensor& y = graph.tensor(product.outputs[0]);
    const bool is_conv = product.op == Op::Conv || product.op == Op::ConvTranspose;
    if (!view || (!is_conv && !y.ranked)) continue;
    const size_t rank = is_conv ? graph.tensor(view->weight).shape.size() : y.shape.size();
    const std::optional<Affine> affine = affine_of(graph, follower, product.outputs[0], rank, *view);
    if (!affine || !normalize_gemm(graph, product).ok()) continue;
    const std::optional<ProductWeights> normalized = product_weights(graph, product, nullptr);
    Node taken = follower;  // `follower` must not write its output any more once the product does
    if (!apply(graph, product, taken, *normalized, *affine)) continue;
    graph.nodes.erase(graph.nodes.begin() + next);
    return true;
  }
  return false;
}

}  // namespace

Status fold_batch_norm(ModelIr& model) {
  for (Graph& graph : model.graphs) {
    while (fold_one(graph, GraphIndex(graph))) {
    }
    remove_dead(graph);
  }
  return {};
}

}  // namespace lq::passes
