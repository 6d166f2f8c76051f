#include "quantization/precision.h"

#include <set>

#include "passes/rewrite.h"

namespace lq::quantization {
namespace {

/// Relu and Clip behind an operator with an int32 accumulator only narrow its output's range.
void fuse_activations(const Graph& graph, PrecisionPlan& plan) {
  const passes::GraphIndex index(graph);
  for (NodePlan& node : plan) node.fused_activation = node.fused_into = -1;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const QuantRule rule = rule_of(graph.nodes[n]);
    const bool has_epilogue = rule == QuantRule::kProduct || rule == QuantRule::kAddSub || rule == QuantRule::kMul ||
                              rule == QuantRule::kAverage || rule == QuantRule::kPRelu || rule == QuantRule::kResize;
    if (!is_integer(plan[n].precision) || !has_epilogue) continue;
    const int next = index.sole_consumer(graph.nodes[n].outputs[0]);
    if (next < 0 || !is_integer(plan[size_t(next)].precision)) continue;
    const Op op = graph.nodes[size_t(next)].op;
    if (op != Op::Relu && op != Op::Clip) continue;
    plan[n].fused_activation = next;
    plan[size_t(next)].fused_into = int(n);
  }
}

/// Takes candidates back until no rule objects. Only ever int8 -> int16 -> float, so it ends.
class Demotion {
 public:
  Demotion(const Graph& graph, PrecisionPlan& plan) : graph_(graph), index_(graph), plan_(plan) {}

  void run() {
    while (leads_to_float_only() | reads_float_only() | feeds_normalization() | moves_int16() | cannot_be_int16()) {
    }
  }

 private:
  bool is_quantized(int n) const { return n >= 0 && is_integer(plan_[size_t(n)].precision); }
  bool is_int16(int n) const { return n >= 0 && plan_[size_t(n)].precision == Precision::kInt16; }
  bool may_demote(size_t n) const { return is_quantized(int(n)) && !plan_[n].pinned; }
  bool reads_as_data(int n, TensorId id) const {
    const Node& node = graph_.nodes[size_t(n)];
    for (size_t i : data_inputs(graph_, node)) {
      if (node.inputs[i] == id) return true;
    }
    return false;
  }
  /// Readers of any output of node n: how many compute in integers, how many in float (a model output is one of these).
  void count_readers(const Node& node, int& in_integers, int& in_float) const {
    in_integers = in_float = 0;
    for (TensorId id : node.outputs) {
      if (id == kNoTensor) continue;
      in_float += index_.is_output(id) ? 1 : 0;
      for (int reader : index_.consumers(id)) {
        ++(is_quantized(reader) && reads_as_data(reader, id) ? in_integers : in_float);
      }
    }
  }
  bool any_input_quantized(const Node& node) const {
    for (size_t i : data_inputs(graph_, node)) {
      if (is_quantized(index_.producer(node.inputs[i]))) return true;
    }
    return false;
  }
  void demote(size_t n, const char* reason) { plan_[n].precision = Precision::kFloat, plan_[n].reason = reason; }

  bool leads_to_float_only() {
    bool changed = false;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (!may_demote(n) || rule_of(node) == QuantRule::kProduct) continue;
      int in_integers, in_float;
      count_readers(node, in_integers, in_float);
      if (in_integers > 0) continue;
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
      if (!may_demote(n) || rule == QuantRule::kProduct || any_input_quantized(node)) continue;
      int in_integers, in_float;
      count_readers(node, in_integers, in_float);
      // Moving float values early to integers is exact and cheaper, if no float reader would see the rounding.
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
        if (is_quantized(reader) || (!is_normalization(next) && !residual_.count(reader))) continue;
        residual_.insert(int(n));
        demote(n, "a residual sum that a normalization reads");
        changed = true;
        break;
      }
    }
    return changed;
  }

  bool read_in_int16(const Node& node) const {
    for (TensorId id : node.outputs) {
      if (id == kNoTensor) continue;
      for (int reader : index_.consumers(id)) {
        if (is_int16(reader) && plan_[size_t(reader)].fused_into < 0 && reads_as_data(reader, id)) return true;
      }
    }
    return false;
  }

  bool moves_int16() {
    bool changed = false;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (!may_demote(n) || is_int16(int(n)) || rule_of(node) != QuantRule::kPassThrough || !read_in_int16(node))
        continue;
      plan_[n].precision = Precision::kInt16;
      changed = true;
    }
    return changed;
  }

  /// Where fuse_activations() says what is folded into what, as the plan stands.
  bool cannot_be_int16() {
    fuse_activations(graph_, plan_);
    bool changed = false;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const bool alone = is_int16(int(n)) && rule_of(node) == QuantRule::kTable && plan_[n].fused_into < 0;
      const size_t maker = plan_[n].fused_into >= 0 ? size_t(plan_[n].fused_into) : n;
      const bool writes = is_quantized(int(n)) && plan_[n].fused_activation < 0 && read_in_int16(node) &&
                          !can_write_int16(graph_, graph_.nodes[maker]);
      if (!alone && !writes) continue;
      for (size_t k : {n, maker}) {
        plan_[k].pinned = false;
        demote(k, alone ? "no int16 form where it is folded into no operator"
                        : "an int16 operator reads its result, which it cannot write as int16");
      }
      changed = true;
    }
    return changed;
  }

  const Graph& graph_;
  const passes::GraphIndex index_;
  PrecisionPlan& plan_;
  std::set<int> residual_;
};

}  // namespace

const char* precision_name(Precision p) {
  switch (p) {
    case Precision::kInt8:
      return "int8";
    case Precision::kInt16:
      return "int16";
    case Precision::kFloat:
      return "float";
    case Precision::kNotFloat:
      break;
  }
  return "-";
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
      const bool wide = requests[n].wish == Wish::kInt16;
      plan[n].reason = wide ? why_not_int16(graph, node) : why_not_int8(graph, node);
      if (plan[n].reason.empty()) plan[n].precision = wide ? Precision::kInt16 : Precision::kInt8;
      plan[n].int8_parameters = !plan[n].reason.empty() && stores_int8(graph, node);
      plan[n].pinned = plan[n].reason.empty() && requests[n].wish != Wish::kNone;
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
