// Session: one thread's executable instance of a Model: resolved shapes, fused graph, memory plan, steps.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/external_io.h"
#include "runtime/model.h"

namespace lq {

struct SessionOptions {
  int threads = 1;           // at most this many pieces at once, also with parallel_for
  std::vector<int> cores;    // where the library's threads, and the caller's during run(), may run; empty: anywhere
  bool pin = false;          // each of these threads on a processor of its own, of `cores` or all, as processors_for says
  ParallelFor parallel_for;  // the caller's threads instead of the library's; not together with cores or pin
  std::optional<Isa> isa;    // default: default_isa()
  MemoryUse memory = MemoryUse::kDefault;
  std::map<std::string, Shape>
      input_shapes;  // overrides; unknown batch (the first free dimension) becomes 1, others must be given
  Allocator allocator = default_allocator();
  Logger logger;
};

struct StepTime {
  double milliseconds = 0;
};

/// What a session will allocate for its present input shapes.
struct MemoryNeed {
  size_t arena = 0;   // intermediate tensors and scratch
  size_t io = 0;      // input and output buffers
  size_t packed = 0;  // packed weights, from the model's allocator, shared by the sessions of one ISA
};

class Session {
 public:
  /// The need of create() with these arguments, without allocating any of it.
  static Result<MemoryNeed> measure(const Model& model, const SessionOptions& options);
  /// Copies the graph, resolves shapes for the given inputs, folds shape subgraphs, fuses, lays out, plans memory,
  /// packs.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Model> model, const SessionOptions& options);
  ~Session();

  /// Plans anew for other input shapes; weights are not packed again.
  Status resize(const std::map<std::string, Shape>& input_shapes);

  size_t input_count() const;
  size_t output_count() const;
  /// Names, dtypes and static shapes of the model's inputs and outputs, in the model's order. Data is linear.
  const Tensor& input(size_t i) const;
  const Tensor& output(size_t i) const;
  void* input_data(size_t i);               // write the input here before run()
  const void* output_data(size_t i) const;  // valid until the next run() or resize()

  /// The session's input or output is the caller's buffer from now on, until a nullptr buffer or a successful resize.
  /// Used in place when it is 64-byte-aligned, of the tensor's own type and layout and has kBufferSlack bytes behind
  /// the tensor; otherwise converted at run(). Errors: too small, a type the tensor cannot be converted to.
  Status bind_input(size_t i, const ExternalBuffer& buffer);
  Status bind_output(size_t i, const ExternalBuffer& buffer);
  bool is_input_copied(size_t i) const;  // bound and not in place: each run overwrites input_data()
  /// The parameters between the float tensor and int8: of the Quantize nodes that alone read the input, of the
  /// Dequantize node that writes the output, or of the tensor itself. nullptr if there are none.
  const QuantParams* input_quant(size_t i) const;
  const QuantParams* output_quant(size_t i) const;
  schema::DataLayout input_layout(size_t i) const;  // the stored preprocessing's, Nchw without one

  /// Executes every step. Allocates nothing; the calling thread's rounding state is set and restored.
  Status run();
  /// From any thread: the run in progress ends with kCancelled before its next step. Without one it has no effect.
  void cancel();
  /// run() with the wall time of each step, in the order of steps().
  Status run_profiled(std::vector<StepTime>& times);

  const std::vector<Step>& steps() const;  // main plan
  const Graph& fused_graph() const;        // what the plan executes, after all passes
  size_t arena_bytes() const;
  Isa isa() const;
  /// Share of Conv/ConvTranspose/Gemm/MatMul multiply-adds that run int8 × int8; 1 when there are none.
  double int8_mac_share() const;

 private:
  struct State;
  Status run_plan(StepTime* times);
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The evaluator that runs single nodes with the runtime's own kernels (scalar ISA): for infer_shapes' folding.
Evaluator runtime_evaluator();

}  // namespace lq
