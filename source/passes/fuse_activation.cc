// Float Conv, Gemm, MatMul or Add followed by its only reader Relu or constant Clip: the clamp moves into the epilogue.
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/runtime_match.h"

namespace lq::passes {
namespace {

bool takes_clamp(const Graph& graph, const Node& node) {
  if (node.op != Op::Conv && node.op != Op::Gemm && node.op != Op::MatMul && node.op != Op::Add) return false;
  // Both operands float32: a product with int8 operands and float output keeps its own epilogue.
  return graph.tensor(node.inputs[0]).dtype == DType::Float32 && graph.tensor(node.inputs[1]).dtype == DType::Float32;
}

}  // namespace

Status fuse_activation(ModelIr& model) {
  for (Graph& graph : model.graphs) {
    const GraphIndex index(graph);
    std::vector<bool> dead(graph.nodes.size(), false);
    for (Node& node : graph.nodes) {
      if (!takes_clamp(graph, node)) continue;
      const int reader = index.sole_consumer(node.outputs[0]);
      if (reader < 0) continue;
      const Node& clamp = graph.nodes[size_t(reader)];
      const std::optional<ValueRange> bounds = constant_clamp(graph, clamp);
      if (!bounds || clamp.input(0) != node.outputs[0]) continue;
      node.fused_clamp = bounds;
      node.outputs[0] = clamp.outputs[0];
      dead[size_t(reader)] = true;
    }
    std::vector<Node> kept;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!dead[i]) kept.push_back(std::move(graph.nodes[i]));
    }
    graph.nodes = std::move(kept);
    remove_dead(graph);
  }
  return {};
}

}  // namespace lq::passes
