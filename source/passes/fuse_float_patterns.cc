// Spellings of activations and of LayerNormalization that exporters write as small graphs become the one operator
// they mean. A spelled-out activation would be quantized at each of its steps; the operator is one table.
#include <cmath>
#include <optional>
#include <vector>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace lq::passes {
namespace {

/// A product seen as constant · factor · factor …, collected through Mul, and Div by a constant.
struct Factors {
  double constant = 1;
  std::vector<TensorId> tensors;
};

class Matcher {
 public:
  Matcher(const Graph& graph, const GraphIndex& index) : graph_(graph), index_(index) {}

  const Node* producer(TensorId id, Op op) const {
    const int n = index_.producer(id);
    return n >= 0 && graph_.nodes[size_t(n)].op == op ? &graph_.nodes[size_t(n)] : nullptr;
  }

  void collect(TensorId id, Factors& factors, int depth = 0) const {
    if (const auto value = constant_scalar(graph_, id)) {
      factors.constant *= double(*value);
      return;
    }
    const bool follow = depth == 0 || (index_.sole_consumer(id) >= 0 && depth < 4);
    const Node* mul = follow ? producer(id, Op::Mul) : nullptr;
    if (mul) {
      for (TensorId input : mul->inputs) collect(input, factors, depth + 1);
      return;
    }
    const Node* div = follow ? producer(id, Op::Div) : nullptr;
    const auto divisor = div ? constant_scalar(graph_, div->inputs[1]) : std::nullopt;
    if (divisor && *divisor != 0) {
      collect(div->inputs[0], factors, depth + 1);
      factors.constant /= double(*divisor);
      return;
    }
    factors.tensors.push_back(id);
  }

  /// `id` = other + value: returns other.
  TensorId plus_constant(TensorId id, double value) const {
    const Node* add = producer(id, Op::Add);
    for (size_t i = 0; add && i < 2; ++i) {
      const auto c = constant_scalar(graph_, add->inputs[i]);
      if (c && nearly(double(*c), value)) return add->inputs[1 - i];
    }
    return kNoTensor;
  }

  /// `id` = Clip(x + 3, 0, 6): returns x.
  TensorId relu6_of_x_plus_3(TensorId id) const {
    const Node* clip = producer(id, Op::Clip);
    if (!clip) return kNoTensor;
    const auto low = constant_scalar(graph_, clip->input(1)), high = constant_scalar(graph_, clip->input(2));
    return low && high && *low == 0 && *high == 6 ? plus_constant(clip->inputs[0], 3) : kNoTensor;
  }

  bool is_sixth_hard_sigmoid(TensorId id, TensorId x) const {
    const Node* node = producer(id, Op::HardSigmoid);
    if (!node || node->inputs[0] != x) return false;
    const auto& attrs = attrs_as<schema::ActivationAttrsT>(*node);
    return nearly(double(attrs.alpha), 1.0 / 6) && nearly(double(attrs.beta), 0.5);
  }

  /// `id` = 1 + Erf(x / √2).
  bool is_gelu_erf(TensorId id, TensorId x) const {
    const Node* erf = producer(plus_constant(id, 1), Op::Erf);
    if (!erf) return false;
    Factors inner;
    collect(erf->inputs[0], inner);
    return inner.tensors.size() == 1 && inner.tensors[0] == x && nearly(inner.constant, std::sqrt(0.5));
  }

  /// `id` = 1 + Tanh(√(2/π)·(x + 0.044715·x³)).
  bool is_gelu_tanh(TensorId id, TensorId x) const {
    const Node* tanh = producer(plus_constant(id, 1), Op::Tanh);
    if (!tanh) return false;
    Factors inner;
    collect(tanh->inputs[0], inner);
    const double kSqrt2OverPi = 0.79788456080286535588;
    if (inner.tensors.size() != 1 || std::abs(inner.constant - kSqrt2OverPi) > 1e-4) return false;
    const Node* sum = producer(inner.tensors[0], Op::Add);
    for (size_t i = 0; sum && i < 2; ++i) {
      if (sum->inputs[i] == x && is_cubic(sum->inputs[1 - i], x)) return true;
    }
    return false;
  }

 private:
  bool is_cubic(TensorId id, TensorId x) const {
    Factors cubic;
    collect(id, cubic);
    if (!nearly(cubic.constant, 0.044715)) return false;
    if (cubic.tensors.size() == 3) return cubic.tensors[0] == x && cubic.tensors[1] == x && cubic.tensors[2] == x;
    const Node* pow = cubic.tensors.size() == 1 ? producer(cubic.tensors[0], Op::Pow) : nullptr;
    const auto exponent = pow ? constant_scalar(graph_, pow->inputs[1]) : std::nullopt;
    return exponent && *exponent == 3 && pow->inputs[0] == x;
  }

  const Graph& graph_;
  const GraphIndex& index_;
};

void become(Node& node, Op op, TensorId x) {
  node.op = op;
  node.inputs = {x};
  node.attrs.Reset();
}

/// x · gate: Silu, HardSwish or Gelu, when `gate` is the gate of that activation.
bool become_gated(const Matcher& match, Node& node, TensorId x, TensorId gate, double constant) {
  const Node* sigmoid = match.producer(gate, Op::Sigmoid);
  if (sigmoid && sigmoid->inputs[0] == x && constant == 1) {
    become(node, Op::Silu, x);
  } else if ((nearly(constant, 1.0 / 6) && match.relu6_of_x_plus_3(gate) == x) ||
             (constant == 1 && match.is_sixth_hard_sigmoid(gate, x))) {
    become(node, Op::HardSwish, x);
  } else if (nearly(constant, 0.5) && (match.is_gelu_erf(gate, x) || match.is_gelu_tanh(gate, x))) {
    const bool tanh = match.is_gelu_tanh(gate, x);
    become(node, Op::Gelu, x);
    schema::GeluAttrsT attrs;
    attrs.tanh_approximation = tanh;
    node.attrs.Set(std::move(attrs));
  } else {
    return false;
  }
  return true;
}

bool fuse_activation_at(Graph& graph, const GraphIndex& index, size_t n) {
  Node& node = graph.nodes[n];
  if ((node.op != Op::Mul && node.op != Op::Div) || node.output(0) == kNoTensor) return false;
  const Matcher match(graph, index);
  Factors factors;
  match.collect(node.outputs[0], factors);
  if (factors.tensors.size() == 1 && factors.tensors[0] != node.outputs[0]) {
    const TensorId x = match.relu6_of_x_plus_3(factors.tensors[0]);
    if (x == kNoTensor || !nearly(factors.constant, 1.0 / 6)) return false;
    become(node, Op::HardSigmoid, x);
    schema::ActivationAttrsT attrs;
    attrs.alpha = 1.0f / 6;
    attrs.beta = 0.5f;
    node.attrs.Set(std::move(attrs));
    return true;
  }
  if (factors.tensors.size() != 2) return false;
  return become_gated(match, node, factors.tensors[0], factors.tensors[1], factors.constant) ||
         become_gated(match, node, factors.tensors[1], factors.tensors[0], factors.constant);
}

/// ReduceMean over the trailing axes with keepdims: the first of those axes, −1 otherwise. `rank` of the reduced
/// tensor.
int trailing_mean_axis(const Graph& graph, const Node& node, size_t rank) {
  const auto axes = constant_ints(graph, node.input(1));
  if (!axes || axes->empty() || !attrs_as<schema::ReduceAttrsT>(node).keepdims) return -1;
  std::vector<bool> reduced(rank, false);
  for (int64_t axis : *axes) {
    const int64_t a = axis < 0 ? axis + int64_t(rank) : axis;
    if (a < 0 || a >= int64_t(rank)) return -1;
    reduced[size_t(a)] = true;
  }
  size_t first = rank;
  while (first > 0 && reduced[first - 1]) --first;
  for (size_t a = 0; a < first; ++a) {
    if (reduced[a]) return -1;
  }
  return first < rank ? int(first) : -1;
}

struct LayerNormMatch {
  TensorId x = kNoTensor;
  int axis = 0;
  float epsilon = 0;
};

/// (x − mean) / Sqrt(mean((x − mean)²) + eps) written at `div`.
std::optional<LayerNormMatch> match_normalized(const Graph& graph, const Matcher& match, const Node& div) {
  const Node* centred = match.producer(div.input(0), Op::Sub);
  const Node* root = match.producer(div.input(1), Op::Sqrt);
  const Node* add = root ? match.producer(root->inputs[0], Op::Add) : nullptr;
  if (!centred || !add) return std::nullopt;
  LayerNormMatch found;
  found.x = centred->inputs[0];
  const Tensor& x = graph.tensor(found.x);
  const Node* mean = match.producer(centred->inputs[1], Op::ReduceMean);
  if (!x.ranked || !mean || mean->inputs[0] != found.x) return std::nullopt;
  found.axis = trailing_mean_axis(graph, *mean, x.shape.size());
  const size_t eps_input = constant_scalar(graph, add->inputs[1]) ? 1 : 0;
  const auto epsilon = constant_scalar(graph, add->inputs[eps_input]);
  const Node* variance = match.producer(add->inputs[1 - eps_input], Op::ReduceMean);
  if (found.axis < 0 || !epsilon || !variance || trailing_mean_axis(graph, *variance, x.shape.size()) != found.axis)
    return std::nullopt;
  found.epsilon = *epsilon;
  // The squared difference may subtract once more (two equal Sub nodes), by Pow or by Mul.
  const auto is_centred = [&](TensorId id) {
    const Node* sub = match.producer(id, Op::Sub);
    return sub && sub->inputs == centred->inputs;
  };
  const Node* pow = match.producer(variance->inputs[0], Op::Pow);
  const Node* mul = match.producer(variance->inputs[0], Op::Mul);
  const auto exponent = pow ? constant_scalar(graph, pow->inputs[1]) : std::nullopt;
  const bool squared = (exponent && *exponent == 2 && is_centred(pow->inputs[0])) ||
                       (mul && is_centred(mul->inputs[0]) && is_centred(mul->inputs[1]));
  return squared ? std::optional(found) : std::nullopt;
}

/// The constant operand of `node` when its shape, leading ones aside, is exactly `shape`: as that shape's values.
std::optional<std::vector<float>> constant_of_shape(const Graph& graph, const Node& node, TensorId data,
                                                    const Shape& shape) {
  const TensorId id = node.inputs[0] == data ? node.inputs[1] : node.inputs[0];
  const auto values = constant_floats(graph, id);
  if (!values) return std::nullopt;
  Shape own = graph.tensor(id).shape;
  while (own.size() > shape.size() && own.front() == 1) own.erase(own.begin());
  return own == shape ? values : std::nullopt;
}

bool fuse_layer_norm_at(Graph& graph, const GraphIndex& index, size_t n) {
  if (graph.nodes[n].op != Op::Div) return false;
  const auto found = match_normalized(graph, Matcher(graph, index), graph.nodes[n]);
  if (!found) return false;
  const Shape& x = graph.tensor(found->x).shape;
  const Shape normalized(x.begin() + found->axis, x.end());
  if (!is_static(normalized) || element_count(normalized) <= 0) return false;
  std::vector<float> scale(size_t(element_count(normalized)), 1.0f);
  std::optional<std::vector<float>> bias;
  size_t last = n;  // the node whose output the new operator takes over
  const int mul = index.sole_consumer(graph.nodes[last].outputs[0]);
  if (mul >= 0 && graph.nodes[size_t(mul)].op == Op::Mul) {
    const auto gamma = constant_of_shape(graph, graph.nodes[size_t(mul)], graph.nodes[last].outputs[0], normalized);
    if (gamma) {
      scale = *gamma;
      last = size_t(mul);
    }
  }
  const int add = index.sole_consumer(graph.nodes[last].outputs[0]);
  if (add >= 0 && graph.nodes[size_t(add)].op == Op::Add) {
    bias = constant_of_shape(graph, graph.nodes[size_t(add)], graph.nodes[last].outputs[0], normalized);
    if (bias) last = size_t(add);
  }
  const std::string name = graph.tensor(graph.nodes[last].outputs[0]).name;
  const TensorId scale_id = graph.add_constant(name + "_scale", DType::Float32, normalized, scale.data());
  const TensorId bias_id =
      bias ? graph.add_constant(name + "_bias", DType::Float32, normalized, bias->data()) : kNoTensor;
  Node& node = graph.nodes[last];
  node.op = Op::LayerNormalization;
  node.inputs = {found->x, scale_id};
  if (bias) node.inputs.push_back(bias_id);
  schema::NormAttrsT attrs;
  attrs.epsilon = found->epsilon;
  attrs.axis = found->axis;
  node.attrs.Set(std::move(attrs));
  return true;
}

/// One sweep with `fuse_at` over all nodes, last to first: the outermost product of a pattern is tried before its
/// parts.
template <typename Fuse>
bool sweep(Graph& graph, Fuse fuse_at) {
  bool changed = false;
  GraphIndex index(graph);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    if (!fuse_at(graph, index, n)) continue;
    changed = true;
    index = GraphIndex(graph);
  }
  remove_dead(graph);
  return changed;
}

void fuse_in(Graph& graph) {
  // LayerNormalization first: its Mul and Add could look like factors of something else.
  while (sweep(graph, fuse_layer_norm_at)) {
  }
  while (sweep(graph, fuse_activation_at)) {
  }
}

}  // namespace

Status fuse_float_patterns(ModelIr& model) {
  for (Graph& graph : model.graphs) fuse_in(graph);
  return {};
}

}  // namespace lq::passes
