#include "runtime/session.h"

#include <cstring>

#include "kernels/cpu_features.h"
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

  const Graph& graph() const { return ir.main(); }
};

/// One buffer a graph input or output, zeroed, with room for vector loads past its end.
Result<std::vector<Buffer>> allocate_io(const Graph& graph, const std::vector<TensorId>& ids,
                                        const Allocator& allocator) {
  std::vector<Buffer> buffers;
  for (TensorId id : ids) {
    LQ_ASSIGN_OR_RETURN(const size_t bytes, storage_bytes(graph.tensor(id)));
    const std::string what = "input or output '" + graph.tensor(id).name + "'";
    LQ_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(align_up(bytes) + kAlignment, what.c_str(), allocator));
    std::memset(buffer.data(), 0, buffer.size());
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

std::vector<void*> addresses(std::vector<Buffer>& buffers) {
  std::vector<void*> result;
  for (Buffer& buffer : buffers) result.push_back(buffer.data());
  return result;
}

Result<std::unique_ptr<Planned>> make_plan(const Model& model, const SessionOptions& options, Isa isa) {
  FpStateGuard fp_state;  // multipliers, tables and folded constants are part of the result
  auto planned = std::make_unique<Planned>();
  planned->ir = model.ir();
  LQ_RETURN_IF_ERROR(prepare_graph(planned->ir, options.input_shapes));
  LQ_ASSIGN_OR_RETURN(planned->plan, Plan::build(planned->ir, 0, PlanOptions{isa, options.threads, &model.packs()}));
  const Graph& graph = planned->graph();
  LQ_ASSIGN_OR_RETURN(planned->inputs, allocate_io(graph, graph.inputs, options.allocator));
  LQ_ASSIGN_OR_RETURN(planned->outputs, allocate_io(graph, graph.outputs, options.allocator));
  LQ_ASSIGN_OR_RETURN(planned->arena, Buffer::allocate(planned->plan->arena_bytes(), "the arena", options.allocator));
  planned->plan->bind(planned->arena.data(), addresses(planned->inputs).data(), addresses(planned->outputs).data());
  return planned;
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
  std::unique_ptr<Planned> planned;
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model, const SessionOptions& options) {
  if (model == nullptr) return invalid_argument("a session needs a model");
  auto state = std::make_unique<State>();
  state->model = std::move(model);
  state->options = options;
  if (options.isa) {
    LQ_ASSIGN_OR_RETURN(state->isa, parse_isa(isa_name(*options.isa)));  // checks build and processor
  } else {
    LQ_ASSIGN_OR_RETURN(state->isa, default_isa());
  }
  LQ_ASSIGN_OR_RETURN(state->pool, ThreadPool::create(options.threads));
  LQ_ASSIGN_OR_RETURN(state->planned, make_plan(*state->model, options, state->isa));
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

Status Session::resize(const std::map<std::string, Shape>& input_shapes) {
  SessionOptions options = state_->options;
  for (const auto& [name, shape] : input_shapes) options.input_shapes[name] = shape;
  LQ_ASSIGN_OR_RETURN(std::unique_ptr<Planned> planned, make_plan(*state_->model, options, state_->isa));
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

Status Session::run() {
  FpStateGuard fp_state;
  return state_->planned->plan->run(*state_->pool, nullptr);
}

Status Session::run_profiled(std::vector<StepTime>& times) {
  times.assign(steps().size(), StepTime{});
  FpStateGuard fp_state;
  return state_->planned->plan->run(*state_->pool, times.data());
}

const std::vector<Step>& Session::steps() const { return state_->planned->plan->steps(); }
const Graph& Session::fused_graph() const { return state_->planned->graph(); }
size_t Session::arena_bytes() const { return state_->planned->arena.size(); }

double Session::int8_mac_share() const {
  double total = 0, integer = 0;
  add_macs(steps(), total, integer);
  return total > 0 ? integer / total : 1.0;
}

}  // namespace lq
