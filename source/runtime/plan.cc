#include "runtime/plan.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/pages.h"
#include "runtime/memory_planner.h"

namespace lq {
namespace {

constexpr size_t kNotInArena = SIZE_MAX;
// Vector loads may read past a tensor's end, never past this much.
constexpr size_t kArenaSlack = kAlignment;
// Where tensors without elements point to: present, but nothing to read.
alignas(kAlignment) uint8_t empty_storage[kAlignment];

/// Operators that only reinterpret their first input's bytes.
bool is_reinterpretation(Op op) {
  return op == Op::Reshape || op == Op::Flatten || op == Op::Squeeze || op == Op::Unsqueeze || op == Op::Identity;
}

Status check_static(const Graph& graph, const Node& node) {
  for (const std::vector<TensorId>* ids : {&node.inputs, &node.outputs}) {
    for (TensorId id : *ids) {
      if (id == kNoTensor) continue;
      const Tensor& t = graph.tensor(id);
      if (t.ranked && is_static(t.shape)) continue;
      return unsupported("the shape of '" + t.name + "' (" + (t.ranked ? shape_string(t.shape) : "unknown rank") +
                         ") depends on values only known at run time; fix the model input that decides it");
    }
  }
  return {};
}

/// Constants a node has packed, or reads again only when it runs. One layer after the other, so that the model file
/// and its packed copy are never in memory as a whole together.
void evict_constants(const Graph& graph, const Node& node) {
  for (TensorId id : node.inputs) {
    if (id != kNoTensor && graph.tensor(id).is_constant())
      evict_pages(graph.tensor(id).data.data(), graph.tensor(id).data.size());
  }
}

}  // namespace

/// State of one build: storage classes and lifetimes, before the memory plan turns them into offsets.
struct Plan::Builder {
  const ModelIr& model;
  const Graph& graph;
  const PlanOptions& options;
  Plan& plan;
  std::vector<bool> external;    // by class root: storage given by the caller (graph input or output) or a constant
  std::vector<size_t> bytes;     // by class root
  std::vector<int> first, last;  // by class root: steps alive; first = -1: never
  std::vector<bool> skipped;     // by node: its output shares its input's storage
  std::vector<int> step_of_node;

  TensorId root(TensorId id) const {
    while (plan.root_[size_t(id)] != id) id = plan.root_[size_t(id)];
    return id;
  }
  Status init_tensors();
  void share_reinterpreted();
  Status prepare_steps();
  bool fuse(size_t node, const std::vector<int>& uses, std::vector<int>& producer);
  void fuse_elementwise();
  Status place();
};

Status Plan::Builder::init_tensors() {
  const size_t n = graph.tensors.size();
  plan.root_.resize(n);
  std::iota(plan.root_.begin(), plan.root_.end(), TensorId(0));
  external.assign(n, false);
  bytes.assign(n, 0);
  first.assign(n, -1);
  last.assign(n, -1);
  for (size_t i = 0; i < n; ++i) external[i] = graph.tensors[i].is_constant();
  for (const std::vector<TensorId>* ids : {&graph.inputs, &graph.outputs}) {
    for (TensorId id : *ids) external[size_t(id)] = true;
  }
  for (const Node& node : graph.nodes) {
    Status status = check_static(graph, node);
    if (!status.ok()) return status.with_context(node_label(graph, node));
    for (TensorId id : node.outputs) {
      if (id == kNoTensor) continue;
      LQ_ASSIGN_OR_RETURN(bytes[size_t(id)], storage_bytes(graph.tensor(id)));
    }
  }
  return {};
}

/// Reshape and its kin cost nothing: their output lives where the input lives. Values are written once and only read
/// afterwards, so sharing needs no last use; only one of the two may have a place the caller decides.
void Plan::Builder::share_reinterpreted() {
  skipped.assign(graph.nodes.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!is_reinterpretation(node.op) || node.input(0) == kNoTensor || node.output(0) == kNoTensor) continue;
    const Tensor& x = graph.tensor(node.inputs[0]);
    const Tensor& y = graph.tensor(node.outputs[0]);
    const bool same_bytes = x.dtype == y.dtype && x.blocked_axis == y.blocked_axis &&
                            (x.blocked_axis < 0 || x.shape == y.shape) &&
                            element_count(x.shape) == element_count(y.shape);
    const TensorId a = root(node.inputs[0]), b = root(node.outputs[0]);
    if (!same_bytes || x.is_constant() || a == b || (external[size_t(a)] && external[size_t(b)])) continue;
    const TensorId keep = external[size_t(b)] ? b : a, drop = keep == a ? b : a;
    plan.root_[size_t(drop)] = keep;
    bytes[size_t(keep)] = std::max(bytes[size_t(keep)], bytes[size_t(drop)]);
    skipped[i] = true;
  }
}

Status Plan::Builder::prepare_steps() {
  step_of_node.assign(graph.nodes.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (skipped[i]) continue;
    const Node& node = graph.nodes[i];
    const PrepareFn prepare = find_prepare(node.op);
    if (prepare == nullptr) {
      return unsupported(node_label(graph, node) + ": the runtime has no operator " + op_name(node.op));
    }
    step_of_node[i] = int(plan.steps_.size());
    Step& step = plan.steps_.emplace_back();
    step.op = node.op;
    step.node_name = node.name;
    step.inputs = node.inputs;
    step.outputs = node.outputs;
    OpPrepare p(model, graph, node, options.isa, options.threads, *options.packs, step);
    Status status = prepare(p);
    if (status.ok() && step.run == nullptr) status = internal_error("no kernel was chosen");
    if (!status.ok()) return status.with_context(node_label(graph, node));
    if (options.memory == MemoryUse::kSmall) evict_constants(graph, node);
  }
  return {};
}

/// Moves the step of `node` into the product that wrote one of its operands last, if nobody else reads what that wrote:
/// each piece of the product's output is finished while it is in the cache. The same kernels see the same bytes, so the
/// values stay. `producer`: the step that writes a storage, by class root, -1 where none does.
bool Plan::Builder::fuse(size_t node, const std::vector<int>& uses, std::vector<int>& producer) {
  const int own = step_of_node[node];
  if (own < 0 || plan.steps_[size_t(own)].piece == nullptr || plan.steps_[size_t(own)].scratch_bytes != 0) return false;
  Step& step = plan.steps_[size_t(own)];
  TensorId last = kNoTensor;
  int target = -1;
  for (TensorId id : step.inputs) {
    if (id == kNoTensor || producer[size_t(root(id))] <= target) continue;
    last = id;
    target = producer[size_t(root(id))];
  }
  const TensorId y = step.outputs[0];
  if (target < 0 || uses[size_t(last)] != 1 || !plan.steps_[size_t(target)].finishes_pieces) return false;
  // What is shared already, or not in the arena, stays as it is.
  for (TensorId id : {last, y}) {
    if (root(id) != id || external[size_t(id)]) return false;
  }
  // The other operands must be there when the product begins.
  for (TensorId id : step.inputs) {
    if (id != kNoTensor && id != last && producer[size_t(root(id))] >= target) return false;
  }
  if (bytes[size_t(last)] != bytes[size_t(y)]) return false;
  plan.root_[size_t(last)] = y;
  producer[size_t(y)] = target;
  step_of_node[node] = target;
  Step& into = plan.steps_[size_t(target)];
  into.detail += (into.detail.empty() ? "then " : ", then ") + std::string(step.kernel);
  into.fused.push_back(std::move(step));
  return true;
}

void Plan::Builder::fuse_elementwise() {
  std::vector<int> uses(graph.tensors.size(), 0), producer(graph.tensors.size(), -1);
  for (TensorId id : graph.outputs) ++uses[size_t(id)];
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (TensorId id : graph.nodes[i].inputs) {
      if (id != kNoTensor) ++uses[size_t(id)];
    }
    for (TensorId id : graph.nodes[i].outputs) {
      if (id != kNoTensor && step_of_node[i] >= 0) producer[size_t(root(id))] = step_of_node[i];
    }
  }
  std::vector<bool> moved(plan.steps_.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const int own = step_of_node[i];
    if (fuse(i, uses, producer)) moved[size_t(own)] = true;
  }
  std::vector<int> place_of(plan.steps_.size(), 0);
  std::vector<Step> kept;
  for (size_t s = 0; s < plan.steps_.size(); ++s) {
    place_of[s] = int(kept.size());
    if (!moved[s]) kept.push_back(std::move(plan.steps_[s]));
  }
  plan.steps_ = std::move(kept);
  for (int& step : step_of_node) {
    if (step >= 0) step = place_of[size_t(step)];
  }
}

Status Plan::Builder::place() {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const int step = step_of_node[i];
    if (step < 0) continue;
    for (const std::vector<TensorId>* ids : {&graph.nodes[i].inputs, &graph.nodes[i].outputs}) {
      for (TensorId id : *ids) {
        if (id == kNoTensor) continue;
        const size_t r = size_t(root(id));
        // A fused node runs with an earlier one: steps do not ascend here.
        first[r] = first[r] < 0 ? step : std::min(first[r], step);
        last[r] = std::max(last[r], step);
      }
    }
  }
  std::vector<MemoryRequest> requests;
  std::vector<size_t*> results;
  const size_t n = graph.tensors.size();
  plan.offset_.assign(n, kNotInArena);
  plan.scratch_offset_.assign(plan.steps_.size(), kNotInArena);
  for (size_t i = 0; i < n; ++i) {
    if (plan.root_[i] != TensorId(i) || external[i] || first[i] < 0) continue;
    requests.push_back({std::max(bytes[i], size_t(1)), first[i], last[i]});
    results.push_back(&plan.offset_[i]);
  }
  for (size_t s = 0; s < plan.steps_.size(); ++s) {
    if (plan.steps_[s].scratch_bytes == 0) continue;
    requests.push_back({plan.steps_[s].scratch_bytes, int(s), int(s)});
    results.push_back(&plan.scratch_offset_[s]);
  }
  LQ_ASSIGN_OR_RETURN(const MemoryLayout layout, plan_memory(requests));
  for (size_t i = 0; i < results.size(); ++i) *results[i] = layout.offsets[i];
  plan.arena_bytes_ = layout.total + kArenaSlack;
  for (size_t i = 0; i < n; ++i) plan.root_[i] = root(TensorId(i));
  return {};
}

Result<std::unique_ptr<Plan>> Plan::build(const ModelIr& model, int graph_index, const PlanOptions& options) {
  std::unique_ptr<Plan> plan(new Plan());
  plan->graph_ = &model.graphs[size_t(graph_index)];
  Builder builder{model, *plan->graph_, options, *plan, {}, {}, {}, {}, {}, {}};
  LQ_RETURN_IF_ERROR(builder.init_tensors());
  builder.share_reinterpreted();
  LQ_RETURN_IF_ERROR(builder.prepare_steps());
  builder.fuse_elementwise();
  LQ_RETURN_IF_ERROR(builder.place());
  return plan;
}

void Plan::bind(uint8_t* arena, void* const* inputs, void* const* outputs) {
  const size_t n = graph_->tensors.size();
  data_.assign(n, nullptr);
  for (size_t i = 0; i < graph_->outputs.size(); ++i) data_[size_t(graph_->outputs[i])] = outputs[i];
  for (size_t i = 0; i < graph_->inputs.size(); ++i) data_[size_t(graph_->inputs[i])] = inputs[i];
  for (size_t i = 0; i < n; ++i) {
    const Tensor& tensor = graph_->tensors[i];
    if (tensor.is_constant()) {
      data_[i] = tensor.data.size() > 0 ? const_cast<uint8_t*>(tensor.data.data()) : empty_storage;
    } else if (offset_[i] != kNotInArena) {
      data_[i] = arena + offset_[i];
    }
  }
  for (size_t i = 0; i < n; ++i) data_[i] = data_[size_t(root_[i])];

  scratch_.assign(steps_.size(), nullptr);
  std::vector<void*> branch_inputs, branch_outputs;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    if (scratch_offset_[s] != kNotInArena) scratch_[s] = arena + scratch_offset_[s];
    if (step.branches.empty()) continue;
    branch_inputs.clear();
    branch_outputs.clear();
    for (size_t i = 1; i < step.inputs.size(); ++i)
      branch_inputs.push_back(data_[size_t(step.inputs[i])]);  // [0]: condition
    for (TensorId id : step.outputs) branch_outputs.push_back(id == kNoTensor ? nullptr : data_[size_t(id)]);
    for (Plan* branch : step.branches) branch->bind(scratch_[s], branch_inputs.data(), branch_outputs.data());
  }
}

Status Plan::run(ThreadPool& pool, StepTime* times, const std::atomic<bool>* cancel) const {
  using Clock = std::chrono::steady_clock;
  RunContext context{data_.data(), nullptr, &pool, cancel};
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
      return Status(StatusCode::kCancelled, "the run was cancelled; its outputs are not valid");
    }
    const Clock::time_point start = times ? Clock::now() : Clock::time_point();
    context.scratch = scratch_[s];
    Status status = steps_[s].run(steps_[s], context);
    if (!status.ok() && status.code() != StatusCode::kCancelled)
      status = status.with_context(std::string(op_name(steps_[s].op)) + " '" + steps_[s].node_name + "'");
    LQ_RETURN_IF_ERROR(status);
    if (times) times[s].milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }
  return {};
}

}  // namespace lq
