#include "passes/product_weights.h"

#include <algorithm>

#include "passes/rewrite.h"

namespace lq::passes {
namespace {

std::optional<ProductWeights> refuse(std::string* reason, const char* why) {
  if (reason) *reason = why;
  return std::nullopt;
}

bool is_float_constant(const Graph& graph, TensorId id) {
  return id != kNoTensor && graph.tensor(id).is_constant() && graph.tensor(id).dtype == DType::Float32;
}

std::optional<ProductWeights> convolution(const Graph& graph, const Node& node, std::string* reason) {
  ProductWeights view;
  view.weight = node.input(1);
  view.bias = node.input(2);
  const Shape& shape = graph.tensor(view.weight).shape;
  if (shape.size() < 3) return refuse(reason, "weights of rank below 3");
  const int64_t groups = attrs_as<schema::ConvAttrsT>(node).groups;
  view.channel_from_right = shape.size() - 1;
  view.channels = shape[0];
  if (node.op == Op::ConvTranspose) {
    if (groups < 1 || shape[0] % groups != 0) return refuse(reason, "groups do not divide the input channels");
    view.axis = 1;
    view.groups = groups;
    view.channels = shape[1] * groups;
  }
  if (view.bias == kNoTensor) return view;
  if (!is_float_constant(graph, view.bias)) return refuse(reason, "bias is no constant");
  if (element_count(graph.tensor(view.bias).shape) != view.channels) return refuse(reason, "bias of unexpected length");
  return view;
}

std::optional<ProductWeights> matrix_product(const Graph& graph, const Node& node, std::string* reason) {
  ProductWeights view;
  view.weight = node.input(1);
  const Shape& shape = graph.tensor(view.weight).shape;
  if (shape.size() != 2) return refuse(reason, "constant matrix of rank other than 2");
  bool trans_b = false;
  if (node.op == Op::Gemm) {
    const auto& attrs = attrs_as<schema::GemmAttrsT>(node);
    trans_b = attrs.trans_b;
    if (attrs.trans_a) return refuse(reason, "transposed activations (transA)");
    view.bias = node.input(2);
  }
  view.axis = trans_b ? 0 : 1;
  view.channels = shape[size_t(view.axis)];
  if (view.bias == kNoTensor) return view;
  if (!is_float_constant(graph, view.bias)) return refuse(reason, "bias is no constant");
  if (!per_channel_values(graph, view.bias, 2, 1, view.channels)) return refuse(reason, "bias varies over rows");
  return view;
}

}  // namespace

std::vector<int32_t> ProductWeights::channel_of_element(const Shape& shape) const {
  std::vector<int32_t> channel(size_t(element_count(shape)));
  int64_t inner = 1;
  for (size_t i = size_t(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t along = shape[size_t(axis)];
  const int64_t outer_per_group = axis == 1 && groups > 1 ? shape[0] / groups : int64_t(channel.size()) + 1;
  const int64_t slices = inner > 0 ? int64_t(channel.size()) / inner : 0;
  for (int64_t slice = 0; slice < slices; ++slice) {
    const int64_t group = slice / along / outer_per_group;
    std::fill_n(channel.begin() + slice * inner, inner, int32_t(group * along + slice % along));
  }
  return channel;
}

std::optional<ProductWeights> product_weights(const Graph& graph, const Node& node, std::string* reason) {
  if (!is_float_constant(graph, node.input(1))) return refuse(reason, "weights are no float constant");
  if (element_count(graph.tensor(node.input(1)).shape) <= 0) return refuse(reason, "empty weights");
  switch (node.op) {
    case Op::Conv:
    case Op::ConvTranspose:
      return convolution(graph, node, reason);
    case Op::Gemm:
    case Op::MatMul:
      return matrix_product(graph, node, reason);
    default:
      return refuse(reason, "no product operator");
  }
}

std::vector<double> bias_values(const Graph& graph, const Node& node, const ProductWeights& view) {
  std::vector<double> bias(size_t(view.channels), 0.0);
  if (view.bias == kNoTensor) return bias;
  const std::vector<float> values = *constant_floats(graph, view.bias);
  const double beta = node.op == Op::Gemm ? double(attrs_as<schema::GemmAttrsT>(node).beta) : 1.0;
  for (size_t c = 0; c < bias.size(); ++c) bias[c] = beta * double(values.size() == 1 ? values[0] : values[c]);
  return bias;
}

Status normalize_gemm(Graph& graph, Node& node) {
  if (node.op != Op::Gemm) return {};
  const std::optional<ProductWeights> view = product_weights(graph, node, nullptr);
  if (!view) return {};
  const schema::GemmAttrsT attrs = attrs_as<schema::GemmAttrsT>(node);
  if (view->bias != kNoTensor && (attrs.beta != 1 || graph.tensor(view->bias).shape != Shape{view->channels})) {
    const std::vector<double> bias = bias_values(graph, node, *view);
    const std::vector<float> values(bias.begin(), bias.end());
    node.inputs[2] = graph.add_constant(graph.tensor(view->bias).name, DType::Float32, {view->channels}, values.data());
  }
  if (attrs.alpha != 1) {
    std::vector<float> values = *constant_floats(graph, view->weight);
    for (float& v : values) v = float(double(v) * double(attrs.alpha));
    const Tensor& old = graph.tensor(view->weight);
    const std::string name = old.name;
    const Shape shape = old.shape;
    node.inputs[1] = graph.add_constant(name, DType::Float32, shape, values.data());
  }
  auto& mutable_gemm = mutable_attrs<schema::GemmAttrsT>(node);
  mutable_gemm.alpha = mutable_gemm.beta = 1;
  return {};
}

}  // namespace lq::passes
