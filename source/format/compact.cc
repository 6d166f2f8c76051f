#include "format/compact.h"

#include <utility>

#include "graph/op_def.h"

namespace lq {
namespace {

bool is_product(const Node& node) {
  const OpDef* def = find_op(node.op);
  return def != nullptr && def->quant == QuantRule::kProduct;
}

/// The parameters a bias of `count` channels has unless the file says otherwise: s_x·s_w[c], multiplied in double and
/// rounded once, as docs/NUMERICS.md defines it. Nothing if x and w do not have such parameters.
std::optional<QuantParams> bias_params(const Tensor& x, const Tensor& w, size_t count) {
  if (!x.quant || !w.quant || x.quant->scale.size() != 1) return std::nullopt;
  const std::vector<float>& scales = w.quant->scale;
  if (scales.size() != count && scales.size() != 1) return std::nullopt;
  QuantParams params = per_tensor_params(DType::Int32, 1, 0);
  params.granularity = schema::Granularity::PerChannel;
  params.axis = 0;
  params.scale.resize(count);
  params.zero_point.clear();
  for (size_t c = 0; c < count; ++c) params.scale[c] = float(double(x.quant->scale[0]) * double(scale_at(*w.quant, c)));
  return params;
}

bool is_bias_constant(const Tensor& t) {
  return t.is_constant() && t.dtype == DType::Int32 && t.shape.size() == 1 && t.shape[0] >= 0 &&
         t.data.size() / 4 == uint64_t(t.shape[0]);
}

/// A verified graph on its way into a file.
class Compactor {
 public:
  explicit Compactor(Graph& graph)
      : graph_(graph),
        readers_(consumers_of(graph)),
        producers_(producers_of(graph)),
        stands_for_(graph.tensors.size()),
        is_output_(graph.tensors.size(), false),
        node_gone_(graph.nodes.size(), false) {
    for (size_t id = 0; id < stands_for_.size(); ++id) stands_for_[id] = TensorId(id);
    for (TensorId id : graph.outputs) is_output_[size_t(id)] = true;
  }

  void run() {
    for (const Node& node : graph_.nodes) drop_bias_params(node);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) drop_dequantize(n);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) drop_quantize(n);
    renumber();
  }

 private:
  /// The quantized tensor that a Dequantize turns into `id`, which nobody but `reader` reads if `alone`.
  TensorId source(TensorId id, bool alone) const {
    if (id == kNoTensor || producers_[size_t(id)] < 0) return kNoTensor;
    const Node& node = graph_.nodes[size_t(producers_[size_t(id)])];
    if (node.op != Op::DequantizeLinear) return kNoTensor;
    const TensorId q = node.inputs[0];
    if (alone && (readers_[size_t(id)].size() != 1 || readers_[size_t(q)].size() != 1)) return kNoTensor;
    return q;
  }

  void drop_bias_params(const Node& node) {
    if (!is_product(node)) return;
    const TensorId x = source(node.input(0), false), w = source(node.input(1), false), b = source(node.input(2), true);
    if (x == kNoTensor || w == kNoTensor || b == kNoTensor || !is_bias_constant(graph_.tensor(b))) return;
    QuantParams own = *graph_.tensor(b).quant;
    own.zero_point.clear();  // an int32 tensor's zero point is 0: verify()
    const auto usual = bias_params(graph_.tensor(x), graph_.tensor(w), size_t(graph_.tensor(b).shape[0]));
    if (usual && own == *usual) graph_.tensor(b).quant.reset();
  }

  /// An If may hand on quantized tensors, so reading one says nothing there.
  bool has_if_reader(TensorId id) const {
    for (int n : readers_[size_t(id)]) {
      if (graph_.nodes[size_t(n)].op == Op::If) return true;
    }
    return false;
  }
  bool alike(TensorId a, TensorId b) const {
    return graph_.tensor(a).ranked == graph_.tensor(b).ranked && graph_.tensor(a).shape == graph_.tensor(b).shape;
  }

  void drop_dequantize(size_t n) {
    const Node& node = graph_.nodes[n];
    if (node.op != Op::DequantizeLinear) return;
    const TensorId q = node.inputs[0], value = node.outputs[0];
    if (is_output_[size_t(q)] || is_output_[size_t(value)] || readers_[size_t(q)].size() != 1) return;
    const Tensor& t = graph_.tensor(value);
    if (readers_[size_t(value)].empty() || has_if_reader(value) || t.dtype != DType::Float32 || t.range) return;
    if (!alike(q, value)) return;
    stands_for_[size_t(value)] = q;
    node_gone_[n] = true;
  }

  void drop_quantize(size_t n) {
    const Node& node = graph_.nodes[n];
    if (node.op != Op::QuantizeLinear) return;
    const TensorId x = node.inputs[0], q = node.outputs[0];
    Tensor& t = graph_.tensor(x);
    if (stands_for_[size_t(x)] != x) return;  // a Dequantize that went: its tensor has parameters already
    if (readers_[size_t(q)].size() != 1 || !node_gone_[size_t(readers_[size_t(q)][0])]) return;
    if (readers_[size_t(x)].size() != 1 || t.is_constant() || t.dtype != DType::Float32 || t.range || !alike(x, q))
      return;
    t.quant = std::move(graph_.tensor(q).quant);
    t.range = graph_.tensor(q).range;
    stands_for_[size_t(q)] = x;
    node_gone_[n] = true;
  }

  /// Without the nodes and tensors that went.
  void renumber() {
    std::vector<TensorId> new_id(graph_.tensors.size());
    std::vector<Tensor> tensors;
    for (size_t id = 0; id < graph_.tensors.size(); ++id) {
      if (stands_for_[id] != TensorId(id)) continue;
      new_id[id] = TensorId(tensors.size());
      tensors.push_back(std::move(graph_.tensors[id]));
    }
    const auto renumber_all = [&](std::vector<TensorId>& ids) {
      for (TensorId& id : ids) {
        if (id == kNoTensor) continue;
        while (stands_for_[size_t(id)] != id) id = stands_for_[size_t(id)];  // value -> q -> float: two steps at most
        id = new_id[size_t(id)];
      }
    };
    std::vector<Node> nodes;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (node_gone_[n]) continue;
      nodes.push_back(std::move(graph_.nodes[n]));
      renumber_all(nodes.back().inputs);
      renumber_all(nodes.back().outputs);
    }
    renumber_all(graph_.inputs);
    renumber_all(graph_.outputs);
    graph_.tensors = std::move(tensors);
    graph_.nodes = std::move(nodes);
  }

  Graph& graph_;
  const std::vector<std::vector<int>> readers_;
  const std::vector<int> producers_;
  std::vector<TensorId> stands_for_;  // a tensor that goes: the one that is read instead
  std::vector<bool> is_output_, node_gone_;
};

/// A graph just unpacked.
class Expander {
 public:
  explicit Expander(Graph& graph) : graph_(graph) { grow(); }

  void run() {
    std::vector<Node> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (TensorId id : std::vector<TensorId>(graph_.inputs)) add_quantize(id);
    for (Node& node : old) {
      for (TensorId& id : node.inputs) {
        if (valid(id) && quantized_[size_t(id)] != kNoTensor) id = quantized_[size_t(id)];
      }
      add_bias_params(node);
      if (node.op != Op::DequantizeLinear && node.op != Op::If) {
        for (TensorId& id : node.inputs) id = dequantized(id);
      } else if (node.op == Op::DequantizeLinear && node.inputs.size() == 1 && node.outputs.size() == 1 &&
                 valid(node.outputs[0])) {
        source_[size_t(node.outputs[0])] = node.inputs[0];
      }
      const std::vector<TensorId> outputs = node.outputs;
      graph_.nodes.push_back(std::move(node));
      for (TensorId id : outputs) add_quantize(id);
    }
  }

 private:
  bool valid(TensorId id) const { return id >= 0 && size_t(id) < graph_.tensors.size(); }
  void grow() {
    quantized_.resize(graph_.tensors.size(), kNoTensor);
    value_.resize(graph_.tensors.size(), kNoTensor);
    source_.resize(graph_.tensors.size(), kNoTensor);
  }

  TensorId add_node(Op op, TensorId in, Tensor result) {
    const TensorId out = graph_.add_tensor(std::move(result));
    grow();
    Node node;
    node.op = op;
    node.inputs = {in};
    node.outputs = {out};
    graph_.nodes.push_back(std::move(node));
    return out;
  }
  static Tensor like(const Tensor& t, std::string name, DType dtype) {
    Tensor result;
    result.name = std::move(name);
    result.dtype = dtype;
    result.ranked = t.ranked;
    result.shape = t.shape;
    return result;
  }

  /// A float tensor with parameters is read as its quantized value.
  void add_quantize(TensorId id) {
    if (!valid(id) || quantized_[size_t(id)] != kNoTensor) return;
    Tensor& t = graph_.tensor(id);
    if (!t.quant || t.dtype != DType::Float32 || t.is_constant()) return;
    Tensor q = like(t, t.name + "_q", t.quant->dtype);
    q.quant = std::move(t.quant);
    q.range = t.range;
    t.quant.reset();
    t.range.reset();
    const TensorId out = add_node(Op::QuantizeLinear, id, std::move(q));
    quantized_[size_t(id)] = out;
  }

  /// What an operator that reads the quantized tensor `id` means: its dequantized value. Other ids stay.
  TensorId dequantized(TensorId id) {
    if (!valid(id) || !graph_.tensor(id).quant) return id;
    if (value_[size_t(id)] == kNoTensor) {
      const Tensor& t = graph_.tensor(id);
      const bool suffixed = t.name.size() > 2 && t.name.compare(t.name.size() - 2, 2, "_q") == 0;
      Tensor value = like(t, (suffixed ? t.name.substr(0, t.name.size() - 2) : t.name) + "_dq", DType::Float32);
      const TensorId out = add_node(Op::DequantizeLinear, id, std::move(value));
      value_[size_t(id)] = out;
      source_[size_t(out)] = id;
    }
    return value_[size_t(id)];
  }

  const Tensor* quantized_tensor(TensorId id) const {
    if (valid(id) && valid(source_[size_t(id)])) id = source_[size_t(id)];
    return valid(id) && graph_.tensor(id).quant ? &graph_.tensor(id) : nullptr;
  }

  void add_bias_params(const Node& node) {
    if (!is_product(node)) return;
    TensorId b = node.input(2);
    if (valid(b) && valid(source_[size_t(b)])) b = source_[size_t(b)];
    if (!valid(b) || graph_.tensor(b).quant || !is_bias_constant(graph_.tensor(b))) return;
    const Tensor *x = quantized_tensor(node.input(0)), *w = quantized_tensor(node.input(1));
    if (x != nullptr && w != nullptr) {
      graph_.tensor(b).quant = bias_params(*x, *w, size_t(graph_.tensor(b).shape[0]));
    }
  }

  Graph& graph_;
  std::vector<TensorId> quantized_;  // by float tensor that carried parameters
  std::vector<TensorId> value_;      // by quantized tensor: the dequantized one made here
  std::vector<TensorId> source_;     // by dequantized tensor: the quantized one
};

}  // namespace

void compact(Graph& graph) { Compactor(graph).run(); }

void expand(Graph& graph) { Expander(graph).run(); }

}  // namespace lq
