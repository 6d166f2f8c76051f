// Constant folding with the runtime's own kernels: one node, planned and run alone on the scalar ISA.
#include "passes/passes.h"
#include "runtime/fp_state.h"
#include "runtime/pack_cache.h"
#include "runtime/plan.h"
#include "runtime/session.h"

namespace lq {
namespace {

/// A model of this one node: its inputs as constants, its outputs as graph outputs.
Result<ModelIr> single_node_model(const ModelIr& model, const Graph& graph, const Node& node) {
  ModelIr single;
  single.semantics_version = model.semantics_version;
  single.arithmetic = model.arithmetic;
  Graph& g = single.graphs.emplace_back();
  Node& copy = g.nodes.emplace_back(node);
  copy.fused_clamp = node.fused_clamp;
  for (TensorId& id : copy.inputs) {
    if (id == kNoTensor) continue;
    if (!graph.tensor(id).is_constant())
      return internal_error("input '" + graph.tensor(id).name + "' is not a constant");
    id = g.add_tensor(graph.tensor(id));
  }
  for (TensorId& id : copy.outputs) {
    if (id == kNoTensor) continue;
    const Tensor& t = graph.tensor(id);
    if (!t.ranked || !is_static(t.shape)) return unsupported("the shape of '" + t.name + "' is not known");
    id = g.add_tensor(t);
    g.outputs.push_back(id);
  }
  return single;
}

Status evaluate_node(void*, const ModelIr& model, const Graph& graph, const Node& node, std::vector<Bytes>& outputs) {
  if (node.op == Op::If || !node.subgraphs.empty()) return unsupported("an If is not evaluated alone");
  FpStateGuard fp_state;
  LQ_ASSIGN_OR_RETURN(ModelIr single, single_node_model(model, graph, node));
  LQ_RETURN_IF_ERROR(passes::assign_layout(single));
  SharedPackCache packs(default_allocator());
  LQ_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan, Plan::build(single, 0, PlanOptions{Isa::kScalar, 1, &packs}));
  LQ_ASSIGN_OR_RETURN(Buffer arena, Buffer::allocate(plan->arena_bytes(), "constant folding"));
  LQ_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, ThreadPool::create(1));
  outputs.assign(node.outputs.size(), Bytes());
  std::vector<void*> pointers;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoTensor) continue;
    LQ_ASSIGN_OR_RETURN(const size_t bytes, storage_bytes(graph.tensor(node.outputs[i])));
    // A constant's size is exactly shape × type; an empty one still needs memory to be present.
    LQ_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(align_up(bytes + 1), "a folded constant"));
    pointers.push_back(buffer.data());
    auto owner = std::make_shared<Buffer>(std::move(buffer));
    outputs[i] = Bytes(owner->data(), bytes, owner);
  }
  plan->bind(arena.data(), nullptr, pointers.data());
  return plan->run(*pool, nullptr);
}

}  // namespace

Evaluator runtime_evaluator() { return Evaluator{evaluate_node, nullptr}; }

}  // namespace lq
