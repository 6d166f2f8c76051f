#include "quantization/param_groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "passes/rewrite.h"
#include "passes/runtime_match.h"

namespace lq::quantization {
namespace {

/// The groups of one type.
class Builder {
 public:
  Builder(const Graph& graph, const PrecisionPlan& plan, DType dtype)
      : graph_(graph),
        plan_(plan),
        dtype_(dtype),
        index_(graph),
        has_(graph.tensors.size(), false),
        is_result_(graph.tensors.size(), false),
        parent_(graph.tensors.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    mark_results();
  }

  void build(std::vector<ParamGroup>& groups, std::vector<int>& group_of) {
    mark_quantized();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!moves_values(int(n)) || graph_.nodes[n].op == Op::Concat) continue;
      for (TensorId out : graph_.nodes[n].outputs) join(graph_.nodes[n].inputs[0], out);
    }
    while (join_concats()) {
    }
    collect(groups, group_of);
  }

 private:
  bool is_quantized(int n) const { return n >= 0 && is_integer(plan_[size_t(n)].precision); }
  bool is_of_type(int n) const {
    return n >= 0 && plan_[size_t(n)].precision == (dtype_ == DType::Int16 ? Precision::kInt16 : Precision::kInt8);
  }
  bool moves_values(int n) const {
    return is_of_type(n) && rule_of(graph_.nodes[size_t(n)]) == QuantRule::kPassThrough;
  }
  TensorId root(TensorId id) const {
    while (parent_[size_t(id)] != id) id = parent_[size_t(id)];
    return id;
  }
  /// The smaller id becomes the root, so that the result does not depend on the order of joins.
  void join(TensorId a, TensorId b) {
    if (a == kNoTensor || b == kNoTensor) return;
    a = root(a), b = root(b);
    if (a < b) parent_[size_t(b)] = a;
    if (b < a) parent_[size_t(a)] = b;
  }

  bool has_quantized_reader(TensorId id) const {
    for (int n : index_.consumers(id)) {
      if (!is_quantized(n) || plan_[size_t(n)].fused_into >= 0) continue;
      const Node& node = graph_.nodes[size_t(n)];
      for (size_t i : data_inputs(graph_, node)) {
        if (node.inputs[i] == id) return true;
      }
    }
    return false;
  }

  void mark_quantized() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (!is_of_type(int(n))) continue;
      const bool folded = plan_[n].fused_into >= 0;
      for (size_t i : data_inputs(graph_, node)) {
        if (!folded && !graph_.tensor(node.inputs[i]).is_constant()) has_[size_t(node.inputs[i])] = true;
      }
      if (is_weight_product(graph_, node)) continue;  // only where a reader asks for it, above
      const int last = plan_[n].fused_activation < 0 ? int(n) : plan_[n].fused_activation;
      // What only moves values, or knows int8 only, writes its own type whoever reads it.
      const bool own = !folded && (moves_values(int(n)) || !can_write_int16(graph_, node));
      for (TensorId id : graph_.nodes[size_t(last)].outputs) {
        if (id != kNoTensor && (own || !has_quantized_reader(id))) has_[size_t(id)] = true;
      }
    }
  }

  /// Tensors whose values are results of the model: they are outputs, or operators that move values, in whatever
  /// precision, take them there.
  void mark_results() {
    for (TensorId id : graph_.outputs) is_result_[size_t(id)] = true;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (rule_of(node) != QuantRule::kPassThrough) continue;
      const bool leads_there = std::any_of(node.outputs.begin(), node.outputs.end(),
                                           [&](TensorId id) { return id != kNoTensor && is_result_[size_t(id)]; });
      for (size_t i : data_inputs(graph_, node)) {
        if (leads_there) is_result_[size_t(node.inputs[i])] = true;
      }
    }
  }

  /// True if every reader of this type of the group `g`, beyond the operators that only move its values, is a Concat of
  /// group `c`.
  bool only_feeds(TensorId g, TensorId c) const {
    for (size_t id = 0; id < graph_.tensors.size(); ++id) {
      if (!has_[id] || root(TensorId(id)) != g) continue;
      for (int reader : index_.consumers(TensorId(id))) {
        if (!is_of_type(reader)) continue;
        const Node& node = graph_.nodes[size_t(reader)];
        if (!moves_values(reader)) return false;
        const TensorId target = root(node.outputs[0]);
        if (target != g && !(node.op == Op::Concat && target == c)) return false;
      }
    }
    return true;
  }

  bool join_concats() {
    bool changed = false;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.op != Op::Concat || !is_of_type(int(n))) continue;
      for (TensorId input : node.inputs) {
        if (graph_.tensor(input).is_constant()) continue;
        const TensorId g = root(input), c = root(node.outputs[0]);
        if (g == c || !only_feeds(g, c)) continue;
        join(g, c);
        changed = true;
      }
    }
    return changed;
  }

  void collect(std::vector<ParamGroup>& groups, std::vector<int>& group_of) const {
    const size_t first = groups.size();
    std::map<TensorId, int> index_of_root;
    group_of.assign(graph_.tensors.size(), -1);
    for (size_t id = 0; id < graph_.tensors.size(); ++id) {
      if (!has_[id]) continue;
      const auto [where, is_new] = index_of_root.emplace(root(TensorId(id)), int(groups.size()));
      if (is_new) groups.emplace_back().dtype = dtype_;
      group_of[id] = where->second;
      groups[size_t(where->second)].members.push_back(TensorId(id));
    }
    for (size_t g = first; g < groups.size(); ++g) describe(groups[g]);
  }

  /// The last Concat's output holds every value of the group; without a Concat it is the one value nothing moved there.
  void describe(ParamGroup& group) const {
    int last_concat = -1;
    TensorId source = kNoTensor;
    for (TensorId id : group.members) {
      const int producer = index_.producer(id);
      group.is_result = group.is_result || is_result_[size_t(id)];
      if (!moves_values(producer)) {
        source = id;
      } else if (graph_.nodes[size_t(producer)].op == Op::Concat) {
        last_concat = std::max(last_concat, producer);
      } else if (graph_.nodes[size_t(producer)].op == Op::Pad) {
        const auto value = passes::constant_scalar(graph_, graph_.nodes[size_t(producer)].input(2));
        if (value && *value != 0) group.must_hold = *value;
      }
    }
    group.calibrated = last_concat >= 0 ? graph_.nodes[size_t(last_concat)].outputs[0] : source;
    const int producer = index_.producer(group.calibrated);
    group.is_graph_input = producer < 0;
    if (producer < 0 || last_concat >= 0) return;
    switch (graph_.nodes[size_t(producer)].op) {
      case Op::Sigmoid:
      case Op::HardSigmoid:
      case Op::Softmax:
        group.fixed = ValueRange{0, 1};
        break;
      case Op::Tanh:
        group.fixed = ValueRange{-1, 1};
        break;
      case Op::Clip: {
        const auto bounds = passes::constant_clamp(graph_, graph_.nodes[size_t(producer)]);
        if (group.is_result && bounds && std::isfinite(bounds->min) && std::isfinite(bounds->max)) group.fixed = bounds;
        break;
      }
      default:
        break;
    }
  }

  const Graph& graph_;
  const PrecisionPlan& plan_;
  const DType dtype_;
  const passes::GraphIndex index_;
  std::vector<bool> has_;  // by tensor: it has this type
  std::vector<bool> is_result_;
  std::vector<TensorId> parent_;
};

}  // namespace

ParamGroups ParamGroups::build(const Graph& graph, const PrecisionPlan& plan) {
  ParamGroups result;
  Builder(graph, plan, DType::Int8).build(result.groups_, result.group_of_[0]);
  Builder(graph, plan, DType::Int16).build(result.groups_, result.group_of_[1]);
  return result;
}

}  // namespace lq::quantization
