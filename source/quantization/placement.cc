#include "quantization/placement.h"

#include <map>
#include <set>
#include <utility>

#include "numerics/quantize.h"
#include "passes/product_weights.h"
#include "passes/rewrite.h"
#include "passes/runtime_match.h"
#include "quantization/bias.h"
#include "quantization/short_ranges.h"

namespace lq::quantization {
namespace {

class Placer {
 public:
  Placer(Graph& graph, const PlacementInput& input, std::vector<NodeNotes>& notes)
      : graph_(graph), input_(input), notes_(notes), index_(graph), old_nodes_(graph.nodes) {
    for (const Tensor& t : graph.tensors) names_.insert(t.name);
    for (auto& of_type : value_) of_type.assign(graph.tensors.size(), kNoTensor);
  }

  Status run() {
    notes_.assign(old_nodes_.size(), {});
    nodes_.clear();
    for (TensorId id : std::vector<TensorId>(graph_.inputs)) quantize_value(id);
    for (size_t n = 0; n < old_nodes_.size(); ++n) {
      Node node = old_nodes_[n];
      LQ_RETURN_IF_ERROR(rewrite_inputs(int(n), node));
      const std::vector<TensorId> outputs = node.outputs;
      nodes_.push_back(std::move(node));
      for (TensorId id : outputs) quantize_value(id);
    }
    note_results();
    for (TensorId& id : graph_.outputs) redirect_output(id);
    graph_.nodes = std::move(nodes_);
    return {};
  }

 private:
  bool is_quantized(int n) const { return n >= 0 && is_integer(plan(n).precision); }
  /// The type of a quantized node's activations.
  DType type_of(int n) const { return plan(n).precision == Precision::kInt16 ? DType::Int16 : DType::Int8; }
  const NodePlan& plan(int n) const { return (*input_.plan)[size_t(n)]; }
  int group(TensorId id) const { return input_.groups->of(id); }
  int group(TensorId id, DType dtype) const { return input_.groups->of(id, dtype); }
  TensorId& value(TensorId id, DType dtype) { return value_[dtype == DType::Int16 ? 1 : 0][size_t(id)]; }
  /// The dequantized value of what the producer writes.
  TensorId written_value(TensorId id) const { return value_[group(id, DType::Int16) >= 0 ? 1 : 0][size_t(id)]; }

  /// The node whose arithmetic makes `id`: a fused Relu or Clip stands for the operator before it.
  int maker(TensorId id) const {
    const int n = index_.producer(id);
    return n >= 0 && plan(n).fused_into >= 0 ? plan(n).fused_into : n;
  }
  /// A product by constant weights writes float where a model output or float readers alone want its result.
  bool writes_float(TensorId id) const {
    const int n = maker(id);
    if (!is_quantized(n)) return true;
    return is_weight_product(graph_, old_nodes_[size_t(n)]) && (group(id) < 0 || index_.is_output(id));
  }
  /// What float readers of `id` read: the value itself, or the dequantized one if only that exists.
  TensorId float_value(TensorId id) const { return writes_float(id) ? id : written_value(id); }

  std::string unique_name(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; !names_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
    return name;
  }

  TensorId add_like(TensorId like, const std::string& name, DType dtype) {
    Tensor t;
    t.name = unique_name(name);
    t.dtype = dtype;
    t.ranked = graph_.tensor(like).ranked;
    t.shape = graph_.tensor(like).shape;
    return graph_.add_tensor(std::move(t));
  }

  void add_node(Op op, TensorId in, TensorId out) {
    Node node;
    node.op = op;  // nameless: its tensors' names say it all, and small models are mostly names
    node.inputs = {in};
    node.outputs = {out};
    nodes_.push_back(std::move(node));
  }

  /// `source` (float) -> QuantizeLinear with `params` of group g -> DequantizeLinear; returns the dequantized tensor.
  TensorId add_pair(TensorId source, const std::string& base, int g) {
    const TensorId q = add_like(source, base + "_q", input_.params[size_t(g)].dtype);
    const TensorId dq = add_like(source, base + "_dq", DType::Float32);
    graph_.tensor(q).quant = input_.params[size_t(g)];
    graph_.tensor(q).range = input_.ranges[size_t(g)];
    add_node(Op::QuantizeLinear, source, q);
    add_node(Op::DequantizeLinear, q, dq);
    return dq;
  }

  /// Right behind the producer, so that everything later finds value(id, …). int16 first: int8 beside it is made from
  /// that, unless the float value is there.
  void quantize_value(TensorId id) {
    for (const DType dtype : {DType::Int16, DType::Int8}) {
      const int g = id == kNoTensor ? -1 : group(id, dtype);
      if (g < 0 || value(id, dtype) != kNoTensor) continue;
      const std::string base = graph_.tensor(id).name;
      const bool second = g != group(id);
      value(id, dtype) = add_pair(second ? float_value(id) : id, second ? base + "_int8" : base, g);
    }
  }

  /// A model output that exists as integers only is the dequantized value, under the output's own name.
  void redirect_output(TensorId& id) {
    if (writes_float(id)) return;
    const TensorId value = written_value(id);
    if (redirected_.insert(id).second) {
      const std::string inner = graph_.tensor(value).name, outer = graph_.tensor(id).name;
      graph_.tensor(id).name = inner;
      graph_.tensor(value).name = outer;
      for (NodeNotes& notes : notes_) {
        if (notes.int8_name == inner) notes.int8_name = outer;
      }
    }
    id = value;
  }

  Status rewrite_inputs(int n, Node& node) {
    const bool quantized = is_quantized(n);
    std::vector<bool> is_data(node.inputs.size(), false);
    if (quantized) {
      for (size_t i : data_inputs(graph_, old_nodes_[size_t(n)])) is_data[i] = true;
    }
    if (quantized && plan(n).fused_into >= 0)
      return {};  // reads its producer's float value, which never leaves the accumulator
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      if (id == kNoTensor) continue;
      if (!is_data[i]) {
        if (!graph_.tensor(id).is_constant()) {
          node.inputs[i] = float_value(id);
        } else if (plan(n).int8_parameters) {
          node.inputs[i] = stored_parameter(id);
        }
      } else if (graph_.tensor(id).is_constant()) {
        node.inputs[i] = node.op == Op::Concat ? constant_with_params(id, group(node.outputs[0], type_of(n)))
                                               : constant_operand(id, type_of(n));
      } else {
        node.inputs[i] =
            node.op == Op::Concat ? concat_input(id, group(node.outputs[0], type_of(n))) : value(id, type_of(n));
      }
    }
    return quantized && is_weight_product(graph_, old_nodes_[size_t(n)]) ? quantize_weights(n, node) : Status();
  }

  /// A Concat's input in the Concat's parameters: its own value if they are shared, else requantized once a group.
  TensorId concat_input(TensorId id, int g) {
    const DType dtype = input_.params[size_t(g)].dtype;
    if (group(id, dtype) == g) return value(id, dtype);
    const auto [where, is_new] = requantized_.emplace(std::make_pair(id, g), kNoTensor);
    if (is_new) where->second = add_pair(float_value(id), graph_.tensor(id).name + "_rescaled", g);
    return where->second;
  }

  template <typename T>
  TensorId add_constant(TensorId id, const std::vector<T>& values, QuantParams params) {
    const Shape shape = graph_.tensor(id).shape;
    const std::string base = graph_.tensor(id).name;
    const TensorId q = graph_.add_constant(unique_name(base + "_q"), params.dtype, shape, values.data());
    graph_.tensor(q).quant = std::move(params);
    return dequantize_constant(q, base);
  }

  TensorId dequantize_constant(TensorId q, const std::string& base) {
    const TensorId dq = add_like(q, base + "_dq", DType::Float32);
    add_node(Op::DequantizeLinear, q, dq);
    return dq;
  }

  TensorId constant_operand(TensorId id, DType dtype) {
    if (dtype == DType::Int16) {
      const std::vector<float> values = *constant_floats(graph_, id);
      return constant_with_params(id, symmetric_int16_params(largest_magnitude(values), kLargestInt16));
    }
    const QuantizedWeights constant = quantize_constant(*constant_floats(graph_, id));
    QuantParams params = per_tensor_params(DType::Int8, constant.scale[0], 0);
    params.qmin = -127;
    return add_constant(id, constant.values, std::move(params));
  }

  /// A normalization's scale or bias [C, …]: stored as weights are, one scale a channel.
  TensorId stored_parameter(TensorId id) {
    const auto [where, is_new] = stored_.emplace(id, kNoTensor);
    if (!is_new) return where->second;
    const std::vector<float> values = *constant_floats(graph_, id);
    const size_t channels = size_t(graph_.tensor(id).shape[0]);
    std::vector<int32_t> channel(values.size());
    for (size_t i = 0; i < channel.size(); ++i) channel[i] = int32_t(i / (channel.size() / channels));
    const std::vector<float> scale = weight_scales(values, channel, channels, WeightGranularity::kPerChannel);
    QuantParams params = per_channel_weights(scale, 0);
    params.zero_point.clear();  // empty: 0 for every channel
    return where->second = add_constant(id, round_weights(values, channel, scale), std::move(params));
  }

  TensorId constant_with_params(TensorId id, int g) { return constant_with_params(id, input_.params[size_t(g)]); }
  TensorId constant_with_params(TensorId id, const QuantParams& params) {
    return params.dtype == DType::Int16 ? rounded_constant<int16_t>(id, params) : rounded_constant<int8_t>(id, params);
  }
  template <typename T>
  TensorId rounded_constant(TensorId id, const QuantParams& params) {
    const std::vector<float> values = *constant_floats(graph_, id);
    std::vector<T> q(values.size());
    for (size_t i = 0; i < q.size(); ++i) {
      q[i] = T(quantize(values[i], scale_at(params, 0), zero_point_at(params, 0), params.qmin, params.qmax));
    }
    return add_constant(id, q, params);
  }

  /// Gemm with a plain [K, N] matrix, alpha = beta = 1: what the integer rule reads.
  Status normalize(Node& node) {
    LQ_RETURN_IF_ERROR(passes::normalize_gemm(graph_, node));
    if (node.op != Op::Gemm || !attrs_as<schema::GemmAttrsT>(node).trans_b) return {};
    const std::vector<float> values = *constant_floats(graph_, node.inputs[1]);
    const Shape shape = graph_.tensor(node.inputs[1]).shape;
    const size_t n = size_t(shape[0]), k = size_t(shape[1]);
    std::vector<float> transposed(values.size());
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < k; ++j) transposed[j * n + i] = values[i * k + j];
    }
    const std::string name = graph_.tensor(node.inputs[1]).name;
    node.inputs[1] = graph_.add_constant(name, DType::Float32, {shape[1], shape[0]}, transposed.data());
    mutable_attrs<schema::GemmAttrsT>(node).trans_b = false;
    return {};
  }

  Status quantize_weights(int n, Node& node) {
    LQ_RETURN_IF_ERROR(normalize(node));
    std::string reason;
    const auto view = passes::product_weights(graph_, node, &reason);
    if (!view) return internal_error(node_label(graph_, old_nodes_[size_t(n)]) + ": " + reason);
    const TensorId result =
        plan(n).fused_activation < 0 ? node.outputs[0] : old_nodes_[size_t(plan(n).fused_activation)].outputs[0];
    const int input_group = group(old_nodes_[size_t(n)].inputs[0], type_of(n)),
              output_group = writes_float(result) ? -1 : group(result);
    const float output_scale = output_group < 0 ? 0.0f : scale_at(input_.params[size_t(output_group)], 0);
    const std::vector<float> weights = *constant_floats(graph_, view->weight);
    const Shape shape = graph_.tensor(view->weight).shape;
    const std::vector<double> bias =
        view->bias == kNoTensor ? std::vector<double>() : passes::bias_values(graph_, node, *view);
    const std::vector<int32_t> channel = view->channel_of_element(shape);
    QuantizedProduct product =
        quantize_product(weights, channel, bias, size_t(view->channels), input_.params[size_t(input_group)],
                         output_scale, input_.weights, input_.weight_scale);
    LQ_RETURN_IF_ERROR(improve_rounding(n, weights, input_.params[size_t(input_group)], product));
    note(n, product, channel, output_group < 0);
    notes_[size_t(n)].product_output = graph_.tensor(node.outputs[0]).name;
    notes_[size_t(n)].channel_from_right = view->channel_from_right;
    if (plan(n).fused_activation >= 0) {
      const auto clamp = passes::constant_clamp(graph_, old_nodes_[size_t(plan(n).fused_activation)]);
      if (clamp) notes_[size_t(n)].passed = *clamp;
    }
    QuantParams weight_params = per_channel_weights(product.weight_scale, view->axis);
    weight_params.zero_point.clear();  // empty: 0 for every channel
    node.inputs[1] = add_constant(view->weight, product.weights, std::move(weight_params));
    if (view->bias != kNoTensor) node.inputs[2] = add_bias(view->bias, product);
    return {};
  }

  Status improve_rounding(int n, const std::vector<float>& weights, const QuantParams& x, QuantizedProduct& product) {
    if (input_.columns == nullptr || input_.columns->count(n) == 0) return {};
    LQ_ASSIGN_OR_RETURN(const WeightMoments moments, moments_of(input_.columns->at(n), input_.threads));
    const WeightLayout layout{old_nodes_[size_t(n)].op != Op::Conv, product.weight_scale.size(), moments.size};
    return adaround(weights, product.weight_scale, layout, moments, double(scale_at(x, 0)),
                    largest_weight_sums(product, x), input_.threads, product.weights);
  }

  TensorId add_bias(TensorId id, const QuantizedProduct& product) {
    const std::string base = graph_.tensor(id).name;
    const TensorId q = graph_.add_constant(unique_name(base + "_q"), DType::Int32, {int64_t(product.bias.size())},
                                           product.bias.data());
    QuantParams params = per_tensor_params(DType::Int32, 1, 0);
    params.granularity = schema::Granularity::PerChannel;
    params.axis = 0;
    params.scale = product.bias_scale;
    params.zero_point.clear();  // empty: 0 for every channel
    graph_.tensor(q).quant = std::move(params);
    return dequantize_constant(q, base);
  }

  void note(int n, const QuantizedProduct& product, const std::vector<int32_t>& channel, bool float_output) {
    NodeNotes& notes = notes_[size_t(n)];
    notes.float_output = float_output;
    std::vector<bool> used(product.weight_scale.size(), false);
    for (size_t i = 0; i < channel.size(); ++i) {
      if (product.weights[i] != 0) used[size_t(channel[i])] = true;
    }
    for (bool u : used) notes.zero_channels += u ? 0 : 1;
    for (int32_t c : product.raised) notes.raised_channels += used[size_t(c)] ? 1 : 0;
  }

  /// For each float result: where it can be compared with the float model's.
  void note_results() {
    for (size_t n = 0; n < old_nodes_.size(); ++n) {
      const TensorId id = old_nodes_[n].output(0);
      const bool inside = plan(int(n)).fused_activation >= 0;  // exists only inside the accumulator
      if (id == kNoTensor || inside || plan(int(n)).precision == Precision::kNotFloat) continue;
      notes_[n].float_name = graph_.tensor(id).name;
      notes_[n].int8_name = graph_.tensor(float_value(id)).name;
    }
  }

  Graph& graph_;
  const PlacementInput& input_;
  std::vector<NodeNotes>& notes_;
  const passes::GraphIndex index_;  // of the graph as it was
  const std::vector<Node> old_nodes_;
  std::vector<Node> nodes_;         // the new list
  std::vector<TensorId> value_[2];  // by old tensor: its value dequantized from int8, from int16
  std::map<std::pair<TensorId, int>, TensorId> requantized_;
  std::map<TensorId, TensorId> stored_;  // float constants kept as int8 -> their dequantized values
  std::set<std::string> names_;
  std::set<TensorId> redirected_;
};

}  // namespace

Status place_quantization(Graph& graph, const PlacementInput& input, std::vector<NodeNotes>& notes) {
  return Placer(graph, input, notes).run();
}

}  // namespace lq::quantization
