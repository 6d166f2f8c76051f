#include "quantization/precision.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "passes/product_weights.h"
#include "passes/rewrite.h"

namespace lq::quantization {
namespace {

bool is_activation(const Graph& graph, TensorId id) {
  return id != kNoTensor && !graph.tensor(id).is_constant() && graph.tensor(id).dtype == DType::Float32;
}

/// Tables whose 256 entries resolve the function. Exp, Log, Reciprocal, Sqrt change too fast for 8-bit inputs, Floor
/// and its kin jump, Sin and Cos usually see large phases: those run in float although a file may ask for their tables.
bool is_table_worthy(Op op) {
  switch (op) {
    case Op::Relu:
    case Op::Clip:
    case Op::LeakyRelu:
    case Op::Elu:
    case Op::Selu:
    case Op::Sigmoid:
    case Op::HardSigmoid:
    case Op::HardSwish:
    case Op::Silu:
    case Op::Tanh:
    case Op::Gelu:
    case Op::Erf:
    case Op::Softplus:
    case Op::Neg:
    case Op::Abs:
      return true;
    default:
      return false;
  }
}

std::string check_constant_weights(const Graph& graph, const Node& node) {
  std::string reason;
  if (!passes::product_weights(graph, node, &reason)) return reason;
  for (TensorId id : {node.input(1), node.input(2)}) {
    if (id == kNoTensor) continue;
    const std::vector<float> values = *constant_floats(graph, id);
    const bool sane = std::all_of(values.begin(), values.end(), [](float v) { return std::abs(v) < 1e30f; });
    if (!sane) return "weights or bias hold NaN, Inf or values above 1e30";
  }
  return "";
}

std::string check_product(const Graph& graph, const Node& node) {
  if (!is_activation(graph, node.input(0))) return "its first input is no float activation";
  const Tensor& x = graph.tensor(node.inputs[0]);
  if (node.op == Op::MatMul && (!x.ranked || x.shape.size() < 2)) return "a vector times a matrix has no int8 form";
  if (node.op != Op::MatMul || graph.tensor(node.inputs[1]).is_constant()) return check_constant_weights(graph, node);
  if (!is_activation(graph, node.input(1))) return "its second input is no float activation";
  // The integer rule for two activations writes int8 only, so its result cannot be a (float) output of the model.
  return is_graph_output(graph, node.outputs[0]) ? "a product of two activations that is a model output" : "";
}

/// A constant operand becomes int8 with one scale; small entries beside large ones would lose too much in a product.
std::string check_constant_operand(const Graph& graph, const Node& node) {
  size_t constants = 0;
  for (TensorId id : node.inputs) {
    if (!graph.tensor(id).is_constant()) continue;
    ++constants;
    const auto values = constant_floats(graph, id);
    if (!values || values->empty()) return "its constant operand is no float32";
    float largest = 0, smallest = INFINITY;
    for (float v : *values) {
      if (!(std::abs(v) < 1e30f)) return "its constant operand holds NaN, Inf or values above 1e30";
      largest = std::max(largest, std::abs(v));
      if (v != 0) smallest = std::min(smallest, std::abs(v));
    }
    // Relative error of the smallest entry is largest/254/smallest; 2 % is what a factor may be off.
    if (node.op == Op::Mul && smallest * 5 < largest)
      return "its constant factors span too wide a range for one int8 scale";
  }
  return constants == node.inputs.size() ? "all its inputs are constants" : "";
}

std::string check_resize(const Node& node) {
  const auto& attrs = attrs_as<schema::ResizeAttrsT>(node);
  if (attrs.antialias) return "anti-aliased Resize has no int8 form";
  if (attrs.coordinate_mode == schema::CoordinateMode::TfCropAndResize)
    return "Resize by tf_crop_and_resize has no int8 form";
  return "";
}

std::string check_pass_through(const Graph& graph, const Node& node) {
  if (node.output(1) != kNoTensor && node.op == Op::MaxPool) return "MaxPool with indices has no int8 form";
  if (node.op == Op::Pad && node.input(2) != kNoTensor && !passes::constant_scalar(graph, node.input(2)))
    return "its pad value is no constant";
  if (node.op == Op::Resize) return check_resize(node);
  return "";
}

std::string check_average(const Graph& graph, const Node& node) {
  if (!is_activation(graph, node.input(0))) return "its input is a constant";
  if (node.op != Op::ReduceMean) return "";
  const auto axes = constant_ints(graph, node.input(1));
  if (node.input(1) != kNoTensor && !axes) return "its axes are no constants";
  const bool no_axes = !axes || axes->empty();
  return no_axes && attrs_as<schema::ReduceAttrsT>(node).noop_with_empty_axes ? "a ReduceMean over no axes is a copy"
                                                                              : "";
}

/// Takes candidates back until no rule objects. Only ever int8 -> float, so it ends.
class Demotion {
 public:
  Demotion(const Graph& graph, PrecisionPlan& plan) : graph_(graph), index_(graph), plan_(plan) {}

  void run() {
    while (leads_to_float_only() | reads_float_only() | feeds_normalization()) {
    }
  }

 private:
  bool is_int8(int n) const { return n >= 0 && plan_[size_t(n)].precision == Precision::kInt8; }
  bool may_demote(size_t n) const { return is_int8(int(n)) && !plan_[n].pinned; }
  bool reads_as_data(int n, TensorId id) const {
    const Node& node = graph_.nodes[size_t(n)];
    for (size_t i : data_inputs(graph_, node)) {
      if (node.inputs[i] == id) return true;
    }
    return false;
  }
  /// Readers of any output of node n: how many compute in int8, how many in float (a model output is one of these).
  void count_readers(const Node& node, int& in_int8, int& in_float) const {
    in_int8 = in_float = 0;
    for (TensorId id : node.outputs) {
      if (id == kNoTensor) continue;
      in_float += index_.is_output(id) ? 1 : 0;
      for (int reader : index_.consumers(id)) {
        ++(is_int8(reader) && reads_as_data(reader, id) ? in_int8 : in_float);
      }
    }
  }
  bool any_input_from_int8(const Node& node) const {
    for (size_t i : data_inputs(graph_, node)) {
      if (is_int8(index_.producer(node.inputs[i]))) return true;
    }
    return false;
  }
  void demote(size_t n, const char* reason) { plan_[n].precision = Precision::kFloat, plan_[n].reason = reason; }

  bool leads_to_float_only() {
    bool changed = false;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (!may_demote(n) || rule_of(node) == QuantRule::kProduct) continue;
      int in_int8, in_float;
      count_readers(node, in_int8, in_float);
      if (in_int8 > 0) continue;
      demote(n, "leads to float operators or outputs only");
      changed = true;
    }
    return changed;
  }

  bool reads_float_only() {
    bool changed = false;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const QuantRule rule = rule_of(node);
      if (!may_demote(n) || rule == QuantRule::kProduct || any_input_from_int8(node)) continue;
      int in_int8, in_float;
      count_readers(node, in_int8, in_float);
      // Moving float values early to int8 is exact and cheaper, if no float reader would see the rounding.
      if (rule == QuantRule::kPassThrough && in_float == 0) continue;
      demote(n, "reads float values only");
      changed = true;
    }
    return changed;
  }

  bool is_normalization(const Node& node) const {
    switch (node.op) {
      case Op::LayerNormalization:
      case Op::Pow:
      case Op::ReduceL2:
        return true;
      case Op::Mul:
        return node.inputs[0] == node.inputs[1];
      default:
        return false;
    }
  }

  bool feeds_normalization() {
    bool changed = false;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (!may_demote(n) || rule_of(node) != QuantRule::kAddSub) continue;
      for (int reader : index_.consumers(node.outputs[0])) {
        const Node& next = graph_.nodes[size_t(reader)];
        if (is_int8(reader) || (!is_normalization(next) && !residual_.count(reader))) continue;
        residual_.insert(int(n));
        demote(n, "a residual sum that a normalization reads");
        changed = true;
        break;
      }
    }
    return changed;
  }

  const Graph& graph_;
  const passes::GraphIndex index_;
  PrecisionPlan& plan_;
  std::set<int> residual_;
};

/// Relu and Clip behind an operator with an int32 accumulator only narrow its output's range.
void fuse_activations(const Graph& graph, PrecisionPlan& plan) {
  const passes::GraphIndex index(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const QuantRule rule = rule_of(graph.nodes[n]);
    const bool has_epilogue = rule == QuantRule::kProduct || rule == QuantRule::kAddSub || rule == QuantRule::kMul ||
                              rule == QuantRule::kAverage || rule == QuantRule::kPRelu || rule == QuantRule::kResize;
    if (plan[n].precision != Precision::kInt8 || !has_epilogue) continue;
    const int next = index.sole_consumer(graph.nodes[n].outputs[0]);
    if (next < 0 || plan[size_t(next)].precision != Precision::kInt8) continue;
    const Op op = graph.nodes[size_t(next)].op;
    if (op != Op::Relu && op != Op::Clip) continue;
    plan[n].fused_activation = next;
    plan[size_t(next)].fused_into = int(n);
  }
}

}  // namespace

bool is_float_constant(const Graph& graph, TensorId id) {
  return id != kNoTensor && graph.tensor(id).is_constant() && graph.tensor(id).dtype == DType::Float32;
}

QuantRule rule_of(const Node& node) {
  if (node.op == Op::Resize) {
    const bool nearest = attrs_as<schema::ResizeAttrsT>(node).mode == schema::ResizeMode::Nearest;
    return nearest ? QuantRule::kPassThrough : QuantRule::kResize;
  }
  const OpDef* def = find_op(node.op);
  return def ? def->quant : QuantRule::kFloatOnly;
}

bool is_weight_product(const Graph& graph, const Node& node) {
  return rule_of(node) == QuantRule::kProduct && graph.tensor(node.inputs[1]).is_constant();
}

std::vector<size_t> data_inputs(const Graph& graph, const Node& node) {
  switch (rule_of(node)) {
    case QuantRule::kAddSub:
    case QuantRule::kMul:
      return {0, 1};
    case QuantRule::kProduct:
      if (node.op == Op::MatMul && !graph.tensor(node.inputs[1]).is_constant()) return {0, 1};
      return {0};
    case QuantRule::kPassThrough: {
      if (node.op != Op::Concat) return {0};
      std::vector<size_t> all(node.inputs.size());
      for (size_t i = 0; i < all.size(); ++i) all[i] = i;
      return all;
    }
    case QuantRule::kFloatOnly:
      return {};
    default:
      return {0};
  }
}

std::string why_not_int8(const Graph& graph, const Node& node) {
  const TensorId out = node.output(0);
  if (out != kNoTensor && graph.tensor(out).dtype != DType::Float32) return "its result is not float";
  for (size_t i : data_inputs(graph, node)) {
    const TensorId id = node.inputs[i];
    if (!is_activation(graph, id) && !is_float_constant(graph, id))
      return "its data input is neither a float activation nor a constant";
  }
  switch (rule_of(node)) {
    case QuantRule::kProduct:
      return check_product(graph, node);
    case QuantRule::kAddSub:
    case QuantRule::kMul:
      return check_constant_operand(graph, node);
    case QuantRule::kTable:
      if (!is_activation(graph, node.input(0))) return "its input is a constant";
      if (!is_table_worthy(node.op)) return "8-bit inputs do not resolve this function";
      for (size_t i = 1; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != kNoTensor && !passes::constant_scalar(graph, node.inputs[i]))
          return "its limits are no constants";
      }
      return "";
    case QuantRule::kPRelu:
      return is_float_constant(graph, node.input(1)) ? "" : "its slope is no constant";
    case QuantRule::kAverage:
      return check_average(graph, node);
    case QuantRule::kPassThrough:
      return node.op == Op::Concat || is_activation(graph, node.input(0)) ? check_pass_through(graph, node)
                                                                          : "its data is a constant";
    case QuantRule::kResize:
      return check_resize(node);
    case QuantRule::kFloatOnly:
      break;
  }
  return "no int8 form";
}

bool stores_int8(const Graph& graph, const Node& node) {
  constexpr size_t kLeast = 1024;
  if (node.op != Op::LayerNormalization) return false;
  bool any = false;
  for (const TensorId id : {node.input(1), node.input(2)}) {
    if (id == kNoTensor) continue;
    if (!is_float_constant(graph, id) || graph.tensor(id).shape.size() < 2) return false;
    const std::vector<float> values = *constant_floats(graph, id);
    if (values.size() < kLeast) return false;
    any = std::all_of(values.begin(), values.end(), [](float v) { return std::abs(v) < 1e30f; });
    if (!any) return false;
  }
  return any;
}

PrecisionPlan plan_precision(const Graph& graph, const NodeRequests& requests) {
  PrecisionPlan plan(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const TensorId out = node.output(0);
    if (out != kNoTensor && graph.tensor(out).dtype != DType::Float32) {
      plan[n].precision = Precision::kNotFloat;
    } else if (requests[n].wish == Wish::kFloat) {
      plan[n].reason = requests[n].reason;
    } else {
      plan[n].reason = why_not_int8(graph, node);
      if (plan[n].reason.empty()) plan[n].precision = Precision::kInt8;
      plan[n].int8_parameters = !plan[n].reason.empty() && stores_int8(graph, node);
      plan[n].pinned = plan[n].reason.empty() && requests[n].wish == Wish::kInt8;
    }
  }
  Demotion(graph, plan).run();
  fuse_activations(graph, plan);
  return plan;
}

Result<PrecisionPlan> plan_precision(const Graph& graph, const std::vector<std::string>& skip,
                                     const std::vector<std::string>& original_names) {
  LQ_ASSIGN_OR_RETURN(const NodeRequests requests, resolve_requests(graph, skip, {}, original_names));
  return plan_precision(graph, requests);
}

}  // namespace lq::quantization
