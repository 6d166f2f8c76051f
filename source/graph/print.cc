// The graph as text, one node a line: for lq-inspect, logs and failing tests.
#include "graph/graph.h"

namespace lq {
namespace {

std::string tensor_text(const Graph& graph, TensorId id) {
  if (id == kNoTensor) return "_";
  std::string s = "%";
  s += std::to_string(id);
  if (id < 0 || size_t(id) >= graph.tensors.size()) return s + " (no such tensor)";
  const Tensor& t = graph.tensor(id);
  if (!t.name.empty()) s += " '" + t.name + "'";
  s += ' ';
  s += dtype_name(t.dtype);
  s += t.ranked ? shape_string(t.shape) : std::string("[...]");
  if (t.is_constant()) s += " const";
  if (t.blocked_axis >= 0) s += " blocked";
  if (t.quant && !t.quant->scale.empty()) {
    s += t.quant->scale.size() == 1
             ? " scale " + std::to_string(t.quant->scale[0])
             : " scales[" + std::to_string(t.quant->scale.size()) + "] axis " + std::to_string(t.quant->axis);
    s += " zp " + std::to_string(zero_point_at(*t.quant, 0));
    s += " q " + std::to_string(t.quant->qmin) + ".." + std::to_string(t.quant->qmax);
  }
  return s;
}

std::string list_text(const Graph& graph, const std::vector<TensorId>& ids) {
  std::string s;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i) s += ", ";
    s += tensor_text(graph, ids[i]);
  }
  return s;
}

}  // namespace

std::string to_string(const Graph& graph) {
  std::string s = "graph '" + graph.name + "' (" + list_text(graph, graph.inputs) + ")\n";
  for (const Node& node : graph.nodes) {
    s += "  " + list_text(graph, node.outputs) + " = " + op_name(node.op);
    if (!node.name.empty()) s += " '" + node.name + "'";
    s += " (" + list_text(graph, node.inputs) + ")";
    if (node.fused_clamp) {
      s += " clamp [" + std::to_string(node.fused_clamp->min) + ", " + std::to_string(node.fused_clamp->max) + "]";
    }
    for (size_t i = 0; i < node.subgraphs.size(); ++i) {
      s += (i ? ", " : " graphs ") + std::to_string(node.subgraphs[i]);
    }
    s += '\n';
  }
  return s + "  return " + list_text(graph, graph.outputs) + "\n";
}

}  // namespace lq
