// If. In ONNX a branch reads outer values by name; here each branch is a graph whose inputs are the captured values of
// both branches, in order of first use, and constants are copied in (their bytes shared).
#include <onnx/onnx_pb.h>

#include <algorithm>

#include "onnx/node_import.h"

namespace lq {
namespace {

/// dtype and shape of the If's outputs where both branches agree; infer_shapes does the rest.
void merge_outputs(NodeImport& node, const Node& emitted, const Graph& a, const Graph& b) {
  for (size_t i = 0; i < emitted.outputs.size(); ++i) {
    if (emitted.outputs[i] == kNoTensor) continue;
    const Tensor &ta = a.tensor(a.outputs[i]), &tb = b.tensor(b.outputs[i]);
    Tensor& out = node.graph().tensor(emitted.outputs[i]);
    out.dtype = ta.dtype;
    out.ranked = ta.ranked && tb.ranked && ta.shape.size() == tb.shape.size();
    if (!out.ranked) continue;
    out.shape = ta.shape;
    for (size_t d = 0; d < out.shape.size(); ++d) {
      if (ta.shape[d] != tb.shape[d]) out.shape[d] = kUnknownDim;
    }
  }
}

Status convert_if(NodeImport& node) {
  ImportState& state = node.builder().state();
  const char* kNames[2] = {"then_branch", "else_branch"};
  std::vector<GraphBuilder> branches;
  branches.reserve(2);
  for (const char* name : kNames) {
    const onnx::GraphProto* proto = node.attr_graph(name);
    if (proto == nullptr) return corrupt(std::string("attribute '") + name + "' is missing");
    if (proto->input_size() != 0) return corrupt(std::string(name) + " must have no inputs of its own");
    branches.emplace_back(state, *proto, &node.builder());
    const Status built = branches.back().build();
    if (!built.ok()) return built.with_context(name);
    if (size_t(proto->output_size()) != node.output_count()) {
      return corrupt(std::string(name) + " has " + std::to_string(proto->output_size()) + " outputs, the node has " +
                     std::to_string(node.output_count()));
    }
  }
  std::vector<std::string> captures = branches[0].captures();
  for (const std::string& name : branches[1].captures()) {
    if (std::find(captures.begin(), captures.end(), name) == captures.end()) captures.push_back(name);
  }
  std::vector<TensorId> inputs = {node.input(0)};
  for (const std::string& name : captures) {
    LQ_ASSIGN_OR_RETURN(const TensorId outer, node.builder().find(name));
    inputs.push_back(outer);
    for (GraphBuilder& branch : branches) {
      LQ_ASSIGN_OR_RETURN(const TensorId inner, branch.capture(name));
      branch.graph().inputs.push_back(inner);
    }
  }
  Node& emitted = node.emit(Op::If, std::move(inputs));
  // The IR has one output list a node: an unnamed trailing output is dropped from the branches too.
  for (GraphBuilder& branch : branches) branch.graph().outputs.resize(emitted.outputs.size());
  merge_outputs(node, emitted, branches[0].graph(), branches[1].graph());
  for (GraphBuilder& branch : branches) {
    emitted.subgraphs.push_back(int(state.model.graphs.size()));
    state.model.graphs.push_back(std::move(branch.graph()));
  }
  return {};
}

constexpr ImportRow kRows[] = {{"If", 1, kLatestOpset, Op::If, 1, 1, convert_if}};

}  // namespace

std::span<const ImportRow> control_rows() { return kRows; }

}  // namespace lq
