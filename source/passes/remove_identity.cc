// Identity nodes move nothing: their readers read the input instead.
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace lq::passes {
namespace {

/// An Identity that writes a graph output: the producer of its input may write that output itself, so that the
/// output keeps its name. Not possible when the input is a graph input, a constant, or an output of its own.
bool move_output_to_producer(Graph& graph, Node& identity) {
  const TensorId source = identity.inputs[0], target = identity.outputs[0];
  const GraphIndex index(graph);
  const int producer = index.producer(source);
  if (producer < 0 || index.is_output(source)) return false;
  for (TensorId& id : graph.nodes[size_t(producer)].outputs) {
    if (id == source) id = target;
  }
  identity.outputs[0] = source;  // now dead: nobody reads `source` any more
  identity.inputs[0] = target;
  const size_t self = size_t(&identity - graph.nodes.data());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (n == self) continue;
    for (TensorId& id : graph.nodes[n].inputs) {
      if (id == source) id = target;
    }
  }
  return true;
}

void remove_in(Graph& graph) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (node.op != Op::Identity || node.input(0) == kNoTensor || node.output(0) == kNoTensor) continue;
    if (is_graph_output(graph, node.outputs[0])) {
      move_output_to_producer(graph, node);
    } else {
      replace_uses(graph, node.outputs[0], node.inputs[0]);
    }
  }
  remove_dead(graph);
}

}  // namespace

Status remove_identity(ModelIr& model) {
  for (Graph& graph : model.graphs) remove_in(graph);
  return {};
}

}  // namespace lq::passes
