#include "graph/verify_quant.h"

#include <algorithm>
#include <cfloat>
#include <cstring>

#include "graph/ops_common.h"
#include "numerics/quantize.h"

namespace lq {
namespace {

constexpr int64_t kAccumulatorMax = (int64_t(1) << 31) - 1;

/// Averages divide a multiplier by the size of their window, resizing by its fixed-point units: this far from the ends
/// of the normal floats it stays one.
constexpr double kSmallestShared = 0x1p-90, kLargestShared = 0x1p90;

bool is_shared_multiplier(float m) { return double(m) >= kSmallestShared && double(m) <= kLargestShared; }

/// Largest |q − zp| a tensor can hold: by its limits, a constant int32 (a bias) by its values.
double peak_of(const Tensor& t, size_t channel, std::pair<int64_t, int64_t> values) {
  const QuantParams& p = *t.quant;
  const bool exact = t.is_constant() && t.dtype == DType::Int32;
  const int64_t zp = zero_point_at(p, channel), low = exact ? values.first : p.qmin,
                high = exact ? values.second : p.qmax;
  return double(std::max(high - zp, zp - low));
}

/// float(q − zp)·s must be finite.
Status check_scale_sizes(const Tensor& t, std::pair<int64_t, int64_t> values) {
  for (size_t c = 0; c < t.quant->scale.size(); ++c) {
    if (peak_of(t, c, values) * double(t.quant->scale[c]) <= double(FLT_MAX)) continue;
    return corrupt("scale " + std::to_string(c) + " is so large that dequantized values are infinite");
  }
  return {};
}

}  // namespace

Status check_quant_params(const Tensor& t, ConstantFacts& facts) {
  const QuantParams& p = *t.quant;
  if (p.dtype != t.dtype) return corrupt("quantization parameters are for another type");
  if (p.dtype != DType::Int8 && p.dtype != DType::UInt8 && p.dtype != DType::Int16 && p.dtype != DType::Int32) {
    return unsupported(std::string("quantized tensors of type ") + dtype_name(p.dtype) +
                       " are not supported by this version; update libquant");
  }
  if (p.granularity != schema::Granularity::PerTensor && p.granularity != schema::Granularity::PerChannel) {
    return unsupported("only per-tensor and per-channel quantization is supported by this version; update libquant");
  }
  if (p.scale_source != schema::ScaleSource::Literal || !p.second_level_scale.empty() || p.block_size != 0) {
    return unsupported("only literal scales are supported by this version; update libquant");
  }
  if (!is_valid_params(p)) return corrupt("quantization parameters are not valid (scale, zero point or limits)");
  if (p.dtype == DType::Int32) {
    for (int32_t z : p.zero_point) {
      if (z != 0) return corrupt("an int32 tensor must have zero point 0");  // q − zp would leave int32
    }
  }
  if (p.granularity == schema::Granularity::PerChannel) {
    if (!t.ranked || p.axis < 0 || size_t(p.axis) >= t.shape.size())
      return corrupt("the quantization axis is not one of the tensor's");
    const int64_t dim = t.shape[size_t(p.axis)], count = int64_t(p.scale.size());
    // ConvTranspose weights [C, M/groups, ...] have one scale for each of the M outputs; groups = count / dim splits
    // axis 0.
    const bool grouped =
        t.is_constant() && p.axis == 1 && dim > 0 && count % dim == 0 && t.shape[0] % (count / dim) == 0;
    if (dim < 0 || (count != dim && !grouped)) {
      return corrupt(std::to_string(count) + " scales for an axis of " + std::to_string(dim));
    }
  }
  std::pair<int64_t, int64_t> values{0, 0};
  if (t.is_constant()) {
    LQ_ASSIGN_OR_RETURN(values, facts.extremes(t));
    if (t.data.size() > 0 && (values.first < p.qmin || values.second > p.qmax))
      return corrupt("a value is outside the tensor's own limits");
  }
  return check_scale_sizes(t, values);
}

namespace {

/// What the checks below look up again and again.
struct Uses {
  const Graph& graph;
  std::vector<int> producers;
  std::vector<std::vector<int>> consumers;

  /// The quantized tensor behind `id` when a DequantizeLinear makes it, otherwise nullptr.
  const Tensor* dequantized(TensorId id) const {
    if (id == kNoTensor || producers[size_t(id)] < 0) return nullptr;
    const Node& node = graph.nodes[size_t(producers[size_t(id)])];
    return node.op == Op::DequantizeLinear ? &graph.tensor(node.inputs[0]) : nullptr;
  }
};

/// Quantized tensors begin at Quantize (inputs and constants aside) and end at Dequantize; If may hand them on.
Status check_places(const Graph& graph, const Node& node) {
  for (TensorId id : node.inputs) {
    if (id == kNoTensor) continue;
    const bool quantized = graph.tensor(id).quant.has_value();
    if (node.op == Op::DequantizeLinear && !quantized) return corrupt("its input has no quantization parameters");
    if (quantized && node.op != Op::DequantizeLinear && node.op != Op::If) {
      return corrupt("reads the quantized tensor '" + graph.tensor(id).name + "'; only DequantizeLinear may");
    }
  }
  for (TensorId id : node.outputs) {
    if (id == kNoTensor) continue;
    const bool quantized = graph.tensor(id).quant.has_value();
    if (node.op == Op::QuantizeLinear && !quantized) return corrupt("its output has no quantization parameters");
    if (quantized && graph.tensor(id).dtype == DType::Int32) return corrupt("cannot quantize to int32");
    if (quantized && node.op != Op::QuantizeLinear)
      return corrupt("its output '" + graph.tensor(id).name + "' is quantized; only QuantizeLinear's may be");
  }
  return {};
}

/// Weight axis of the output channel, or −1 where the operator has none the product rule knows.
int channel_axis(const Node& node, const Tensor& w) {
  switch (node.op) {
    case Op::Conv:
      return 0;
    case Op::ConvTranspose:
      return w.shape.size() > 1 ? 1 : -1;
    case Op::Gemm:
      return attrs_as<schema::GemmAttrsT>(node).trans_b ? 0 : 1;
    case Op::MatMul:
      return w.shape.size() > 1 ? int(w.shape.size()) - 1 : -1;
    default:
      return -1;
  }
}

int64_t product_of(const Shape& shape, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t i = begin; i < end; ++i) n *= shape[i];
  return n;
}

/// |bias| of channel c when the bias is a dequantized int32 constant, else 0 (a float bias joins after the
/// accumulator).
int64_t bias_magnitude(const Tensor* bias, size_t c, size_t channels) {
  if (!bias || !bias->is_constant() || bias->dtype != DType::Int32) return 0;
  const size_t count = bias->data.size() / 4;
  if (count != channels && count != 1) return 0;
  int32_t v;
  std::memcpy(&v, bias->data.data() + 4 * (count == 1 ? 0 : c), 4);
  return v < 0 ? -int64_t(v) : int64_t(v);
}

Status check_int8_weights(const Tensor& w, const Node& node, int axis, int64_t channels, ConstantFacts& facts) {
  const QuantParams& p = *w.quant;
  for (int32_t z : p.zero_point) {
    if (z != 0) return corrupt("int8 weights must have zero point 0");
  }
  LQ_ASSIGN_OR_RETURN(const auto values, facts.extremes(w));
  if (values.first < -127) return corrupt("int8 weights must lie in -127...127");
  if (p.granularity != schema::Granularity::PerChannel) return {};
  if (p.axis == axis && int64_t(p.scale.size()) == channels) return {};
  return corrupt("weights '" + w.name + "' have " + std::to_string(p.scale.size()) + " scales along axis " +
                 std::to_string(p.axis) + "; " + op_name(node.op) + " needs " + std::to_string(channels) +
                 " along axis " + std::to_string(axis));
}

/// Conv, ConvTranspose, Gemm and MatMul with dequantized constant int8 weights.
Status check_product(const Uses& uses, const Node& node, ConstantFacts& facts) {
  const Tensor* w = uses.dequantized(node.input(1));
  if (!w || !w->is_constant() || w->dtype != DType::Int8 || w->data.size() == 0) return {};
  const int axis = channel_axis(node, *w);
  if (axis < 0 || size_t(axis) >= w->shape.size()) return {};  // not a product the rule knows: stays float
  int64_t groups = 1;
  if (node.op == Op::ConvTranspose) {
    groups = attrs_as<schema::ConvAttrsT>(node).groups;
    if (groups < 1 || w->shape[0] % groups != 0) return corrupt("input channels cannot be split into its groups");
  }
  const int64_t dim = w->shape[size_t(axis)];
  // Bounds memory too: sums are as many as output channels, which must not exceed the weights themselves.
  if (dim * groups > int64_t(w->data.size())) return corrupt("more output channels than weights");
  LQ_RETURN_IF_ERROR(check_int8_weights(*w, node, axis, dim * groups, facts));
  const Tensor* x = uses.dequantized(node.input(0));
  if (!x || (x->dtype != DType::Int8 && x->dtype != DType::UInt8 && x->dtype != DType::Int16)) return {};
  if (x->quant->granularity != schema::Granularity::PerTensor) return {};

  const int64_t zp = zero_point_at(*x->quant, 0);
  const int64_t largest = std::max<int64_t>(x->quant->qmax - zp, zp - x->quant->qmin);
  const int64_t batch = node.op == Op::MatMul ? product_of(w->shape, 0, w->shape.size() - 2) : 1;
  const WeightView view{product_of(w->shape, 0, size_t(axis)), dim,
                        product_of(w->shape, size_t(axis) + 1, w->shape.size()), groups, batch};
  LQ_ASSIGN_OR_RETURN(const std::vector<int64_t>* all_sums, facts.channel_sums(*w, view));
  const std::vector<int64_t>& sums = *all_sums;
  LQ_RETURN_IF_ERROR(facts.spend(sums.size()));
  const Tensor* bias = uses.dequantized(node.input(2));
  for (size_t c = 0; c < sums.size(); ++c) {
    // Σ ≤ 127 · 2^40 and largest ≤ 2^16: no overflow.
    if (largest * sums[c] + bias_magnitude(bias, c, sums.size()) > kAccumulatorMax) {
      return corrupt("output channel " + std::to_string(c) + " can exceed the 32-bit accumulator");
    }
    const float s = scale_at(*w->quant, c);
    if (!is_valid_scale(float(double(x->quant->scale[0]) * double(s)))) {
      return corrupt("output channel " + std::to_string(c) +
                     ": the product of input and weight scale is not a normal number");
    }
  }
  return {};
}

/// The quantized tensor that a node's output `id` becomes, directly or behind one Relu or Clip.
const Tensor* quantized_result(const Uses& uses, TensorId id) {
  for (int hop = 0; hop < 2 && id != kNoTensor; ++hop) {
    const auto& readers = uses.consumers[size_t(id)];
    if (readers.size() != 1) return nullptr;
    const Node& next = uses.graph.nodes[size_t(readers[0])];
    if (next.op == Op::QuantizeLinear) return &uses.graph.tensor(next.outputs[0]);
    if (next.op != Op::Relu && next.op != Op::Clip) return nullptr;
    id = next.outputs[0];
  }
  return nullptr;
}

/// Multipliers of the rows of docs/NUMERICS.md towards the quantized output of `node`.
Status check_multipliers(const Uses& uses, const Node& node, ConstantFacts& facts) {
  const QuantRule rule = find_op(node.op)->quant;
  const bool product = rule == QuantRule::kProduct || rule == QuantRule::kMul;
  const bool shared = rule == QuantRule::kResize || rule == QuantRule::kAverage;
  const bool change_of_scale = node.op == Op::QuantizeLinear;  // right behind a Dequantize, however many read that
  if (!product && !shared && rule != QuantRule::kAddSub && rule != QuantRule::kPRelu && !change_of_scale) return {};
  const Tensor* a = uses.dequantized(node.input(0));
  const Tensor* b = product || rule == QuantRule::kAddSub ? uses.dequantized(node.input(1)) : nullptr;
  const Tensor* y = change_of_scale ? &uses.graph.tensor(node.outputs[0]) : quantized_result(uses, node.output(0));
  if (!a || !y || (product && !b)) return {};
  const float s_a = a->quant->scale[0], s_y = y->quant->scale[0];
  bool ok = true;
  if (product) {
    LQ_RETURN_IF_ERROR(facts.spend(b->quant->scale.size()));
    for (float s : b->quant->scale) ok &= is_valid_scale(requantize_multiplier(s_a, s, s_y));
  } else {
    const float m = rescale_multiplier(s_a, s_y);
    ok = shared ? is_shared_multiplier(m) : is_valid_scale(m);
    ok &= !b || is_valid_scale(rescale_multiplier(b->quant->scale[0], s_y));
  }
  return ok ? Status() : corrupt("the ratio of input and output scale is not a normal number");
}

}  // namespace

Status check_quantization(const Graph& graph, ConstantFacts& facts) {
  const Uses uses{graph, producers_of(graph), consumers_of(graph)};
  for (const Node& node : graph.nodes) {  // all places first: what follows reads parameters of tensors further on
    const Status s = check_places(graph, node);
    if (!s.ok()) return s.with_context(node_label(graph, node));
  }
  for (const Node& node : graph.nodes) {
    Status s;
    if (find_op(node.op)->quant == QuantRule::kProduct) s = check_product(uses, node, facts);
    if (s.ok()) s = check_multipliers(uses, node, facts);
    if (!s.ok()) return s.with_context(node_label(graph, node));
  }
  return {};
}

}  // namespace lq
