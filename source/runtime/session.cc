#include "runtime/session.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "kernels/cpu_features.h"
#include "runtime/affinity.h"
#include "runtime/fp_state.h"
#include "runtime/plan.h"
#include "runtime/prepare_graph.h"

namespace lq {
namespace {

/// Everything that depends on the input shapes; a resize builds a new one and swaps.
struct Planned {
  ModelIr ir;  // after all passes; the plan points into it
  std::unique_ptr<Plan> plan;
  Buffer arena;
  std::vector<Buffer> inputs, outputs;
  std::vector<Binding> bound_inputs, bound_outputs;

  const Graph& graph() const { return ir.main(); }
};

/// Bytes of one graph input or output, with room for vector loads past its end.
Result<size_t> io_bytes(const Tensor& tensor) {
  LQ_ASSIGN_OR_RETURN(const size_t bytes, storage_bytes(tensor));
  return align_up(bytes) + kBufferSlack;
}

/// One buffer a graph input or output, zeroed.
Result<std::vector<Buffer>> allocate_io(const Graph& graph, const std::vector<TensorId>& ids,
                                        const Allocator& allocator) {
  std::vector<Buffer> buffers;
  for (TensorId id : ids) {
    LQ_ASSIGN_OR_RETURN(const size_t bytes, io_bytes(graph.tensor(id)));
    const std::string what = "input or output '" + graph.tensor(id).name + "'";
    LQ_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(bytes, what.c_str(), allocator));
    std::memset(buffer.data(), 0, buffer.size());
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

/// Where the plan finds each input or output: the caller's buffer if it is used in place, else ours.
std::vector<void*> addresses(std::vector<Buffer>& buffers, const std::vector<Binding>& bindings) {
  std::vector<void*> result;
  for (size_t i = 0; i < buffers.size(); ++i)
    result.push_back(bindings[i].in_place ? bindings[i].data : buffers[i].data());
  return result;
}

void bind_plan(Planned& planned) {
  planned.plan->bind(planned.arena.data(), addresses(planned.inputs, planned.bound_inputs).data(),
                     addresses(planned.outputs, planned.bound_outputs).data());
  // An output that is a constant, or that is two of the model's outputs, stays where it is: then it is copied.
  for (size_t i = 0; i < planned.bound_outputs.size(); ++i) {
    Binding& bound = planned.bound_outputs[i];
    bound.in_place = bound.in_place && planned.plan->data(planned.graph().outputs[i]) == bound.data;
  }
}

/// Everything but the memory a run needs.
Result<std::unique_ptr<Planned>> make_plan(const Model& model, const SessionOptions& options, Isa isa,
                                           PackCache& packs) {
  FpStateGuard fp_state;  // multipliers, tables and folded constants are part of the result
  auto planned = std::make_unique<Planned>();
  planned->ir = model.ir();
  LQ_RETURN_IF_ERROR(prepare_graph(planned->ir, options.input_shapes, runtime_evaluator()));
  LQ_ASSIGN_OR_RETURN(planned->plan,
                      Plan::build(planned->ir, 0, PlanOptions{isa, options.threads, &packs, options.memory}));
  return planned;
}

Status allocate(Planned& planned, const Allocator& allocator) {
  const Graph& graph = planned.graph();
  LQ_ASSIGN_OR_RETURN(planned.inputs, allocate_io(graph, graph.inputs, allocator));
  LQ_ASSIGN_OR_RETURN(planned.outputs, allocate_io(graph, graph.outputs, allocator));
  LQ_ASSIGN_OR_RETURN(planned.arena, Buffer::allocate(planned.plan->arena_bytes(), "the arena", allocator));
  planned.bound_inputs.resize(planned.inputs.size());
  planned.bound_outputs.resize(planned.outputs.size());
  bind_plan(planned);
  return {};
}

Result<Isa> chosen_isa(const SessionOptions& options) {
  if (options.isa) return parse_isa(isa_name(*options.isa));  // checks build and processor
  return default_isa();
}

/// Adds up what would be packed and packs nothing. Preparing may read a pack (sums of weights) but only computes
/// constants from it, so zeros do: pages of calloc that nobody writes cost no memory.
class MeasuringPackCache : public PackCache {
 public:
  ~MeasuringPackCache() override { std::free(zeros_); }
  Result<const void*> get(const std::string&, size_t bytes, const std::function<void(void*)>&) override {
    total_ += bytes;
    if (bytes > size_) {
      std::free(zeros_);
      zeros_ = std::calloc(1, bytes);
      size_ = zeros_ != nullptr ? bytes : 0;
    }
    if (zeros_ == nullptr) return out_of_memory("cannot reserve " + std::to_string(bytes) + " bytes of addresses");
    return static_cast<const void*>(zeros_);
  }
  size_t total() const { return total_; }

 private:
  void* zeros_ = nullptr;
  size_t size_ = 0, total_ = 0;
};

/// The parameters all Quantize nodes behind an input agree on, if nothing else reads it.
const QuantParams* quant_of_input(const Graph& graph, TensorId id) {
  if (graph.tensor(id).quant) return &*graph.tensor(id).quant;
  const QuantParams* found = nullptr;
  for (const Node& node : graph.nodes) {
    if (std::find(node.inputs.begin(), node.inputs.end(), id) == node.inputs.end()) continue;
    const std::optional<QuantParams>& quant = graph.tensor(node.outputs[0]).quant;
    if (node.op != Op::QuantizeLinear || !quant || (found != nullptr && !(*found == *quant))) return nullptr;
    found = &*quant;
  }
  return is_graph_output(graph, id) ? nullptr : found;
}

const QuantParams* quant_of_output(const Graph& graph, TensorId id) {
  if (graph.tensor(id).quant) return &*graph.tensor(id).quant;
  for (const Node& node : graph.nodes) {
    if (node.op == Op::DequantizeLinear && node.output(0) == id) {
      const std::optional<QuantParams>& quant = graph.tensor(node.inputs[0]).quant;
      return quant ? &*quant : nullptr;
    }
  }
  return nullptr;
}

/// Adds a step's multiply-adds, and those of both branches of an If.
void add_macs(const std::vector<Step>& steps, double& total, double& integer) {
  for (const Step& step : steps) {
    total += double(step.macs);
    if (step.integer) integer += double(step.macs);
    for (const Plan* branch : step.branches) add_macs(branch->steps(), total, integer);
  }
}

}  // namespace

struct Session::State {
  std::shared_ptr<const Model> model;
  SessionOptions options;
  Isa isa = Isa::kScalar;
  std::unique_ptr<ThreadPool> pool;
  std::vector<int> callers_cores;  // where the calling thread is bound during a run
  std::unique_ptr<Planned> planned;
  std::atomic<bool> cancelled{false};
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model, const SessionOptions& options) {
  if (model == nullptr) return invalid_argument("a session needs a model");
  auto state = std::make_unique<State>();
  state->model = std::move(model);
  state->options = options;
  if (options.parallel_for.run != nullptr && (!options.cores.empty() || options.pin))
    return invalid_argument("cores and pinning bind the library's own threads; leave them out beside a parallel_for");
  std::vector<int> cores = options.cores;
  if (options.pin) {
    LQ_ASSIGN_OR_RETURN(cores, processors_for(options.threads, options.cores));
    state->callers_cores = {cores[0]};
  } else {
    state->callers_cores = cores;
  }
  LQ_ASSIGN_OR_RETURN(state->isa, chosen_isa(options));
  LQ_ASSIGN_OR_RETURN(state->pool, ThreadPool::create(options.threads, cores, options.parallel_for, options.pin));
  LQ_ASSIGN_OR_RETURN(state->planned, make_plan(*state->model, options, state->isa, state->model->packs()));
  LQ_RETURN_IF_ERROR(allocate(*state->planned, options.allocator));
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

Result<MemoryNeed> Session::measure(const Model& model, const SessionOptions& options) {
  LQ_ASSIGN_OR_RETURN(const Isa isa, chosen_isa(options));
  MeasuringPackCache packs;
  LQ_ASSIGN_OR_RETURN(const std::unique_ptr<Planned> planned, make_plan(model, options, isa, packs));
  MemoryNeed need;
  need.arena = planned->plan->arena_bytes();
  need.packed = packs.total();
  const Graph& graph = planned->graph();
  for (const std::vector<TensorId>* ids : {&graph.inputs, &graph.outputs}) {
    for (TensorId id : *ids) {
      LQ_ASSIGN_OR_RETURN(const size_t bytes, io_bytes(graph.tensor(id)));
      need.io += bytes;
    }
  }
  return need;
}

Status Session::resize(const std::map<std::string, Shape>& input_shapes) {
  SessionOptions options = state_->options;
  for (const auto& [name, shape] : input_shapes) options.input_shapes[name] = shape;
  LQ_ASSIGN_OR_RETURN(std::unique_ptr<Planned> planned,
                      make_plan(*state_->model, options, state_->isa, state_->model->packs()));
  LQ_RETURN_IF_ERROR(allocate(*planned, options.allocator));
  state_->planned = std::move(planned);
  state_->options = std::move(options);
  return {};
}

size_t Session::input_count() const { return fused_graph().inputs.size(); }
size_t Session::output_count() const { return fused_graph().outputs.size(); }
const Tensor& Session::input(size_t i) const { return fused_graph().tensor(fused_graph().inputs[i]); }
const Tensor& Session::output(size_t i) const { return fused_graph().tensor(fused_graph().outputs[i]); }
void* Session::input_data(size_t i) { return state_->planned->plan->data(fused_graph().inputs[i]); }
const void* Session::output_data(size_t i) const { return state_->planned->plan->data(fused_graph().outputs[i]); }

Status Session::bind_input(size_t i, const ExternalBuffer& buffer) {
  Planned& planned = *state_->planned;
  LQ_ASSIGN_OR_RETURN(planned.bound_inputs[i], make_binding(input(i), input_layout(i), input_quant(i), buffer));
  bind_plan(planned);
  return {};
}

Status Session::bind_output(size_t i, const ExternalBuffer& buffer) {
  Planned& planned = *state_->planned;
  LQ_ASSIGN_OR_RETURN(planned.bound_outputs[i],
                      make_binding(output(i), schema::DataLayout::Nchw, output_quant(i), buffer));
  bind_plan(planned);
  return {};
}

bool Session::is_input_copied(size_t i) const {
  const Binding& bound = state_->planned->bound_inputs[i];
  return bound.data != nullptr && !bound.in_place;
}

// Asked of the model before passes: there every end of the model stands with its own node.
const QuantParams* Session::input_quant(size_t i) const {
  const Graph& graph = state_->model->ir().main();
  return quant_of_input(graph, graph.inputs[i]);
}

const QuantParams* Session::output_quant(size_t i) const {
  const Graph& graph = state_->model->ir().main();
  return quant_of_output(graph, graph.outputs[i]);
}

schema::DataLayout Session::input_layout(size_t i) const {
  for (const schema::InputInfoT& info : state_->model->ir().inputs) {
    if (info.name == input(i).name && info.preprocessing) return info.preprocessing->layout;
  }
  return schema::DataLayout::Nchw;
}

Status Session::run_plan(StepTime* times) {
  FpStateGuard fp_state;
  AffinityGuard affinity(state_->callers_cores);
  Planned& planned = *state_->planned;
  state_->cancelled.store(false, std::memory_order_relaxed);
  for (size_t i = 0; i < planned.bound_inputs.size(); ++i)
    copy_in(planned.bound_inputs[i], planned.plan->data(planned.graph().inputs[i]));
  LQ_RETURN_IF_ERROR(planned.plan->run(*state_->pool, times, &state_->cancelled));
  if (state_->pool->misused())
    return invalid_argument("the parallel_for of the session's options did not call each index exactly once");
  for (size_t i = 0; i < planned.bound_outputs.size(); ++i)
    copy_out(planned.bound_outputs[i], planned.plan->data(planned.graph().outputs[i]));
  return {};
}

Status Session::run() { return run_plan(nullptr); }
void Session::cancel() { state_->cancelled.store(true, std::memory_order_relaxed); }

Status Session::run_profiled(std::vector<StepTime>& times) {
  times.assign(steps().size(), StepTime{});
  return run_plan(times.data());
}

const std::vector<Step>& Session::steps() const { return state_->planned->plan->steps(); }
const Graph& Session::fused_graph() const { return state_->planned->graph(); }
Isa Session::isa() const { return state_->isa; }
size_t Session::arena_bytes() const { return state_->planned->arena.size(); }

double Session::int8_mac_share() const {
  double total = 0, integer = 0;
  add_macs(steps(), total, integer);
  return total > 0 ? integer / total : 1.0;
}

}  // namespace lq
