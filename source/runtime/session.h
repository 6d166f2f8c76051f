// Session: one thread's executable instance of a Model: resolved shapes, fused graph, memory plan, steps.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model.h"

namespace lq {

struct SessionOptions {
  int threads = 1;
  std::optional<Isa> isa;                     // default: default_isa()
  std::map<std::string, Shape> input_shapes;  // overrides; unknown batch (the first free dimension) becomes 1, others must be given
  Allocator allocator = default_allocator();
  Logger logger;
};

struct StepTime { double milliseconds = 0; };

class Session {
 public:
  /// Copies the graph, resolves shapes for the given inputs, folds shape subgraphs, fuses, lays out, plans memory, packs.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Model> model, const SessionOptions& options);
  ~Session();

  /// Plans anew for other input shapes; weights are not packed again.
  Status resize(const std::map<std::string, Shape>& input_shapes);

  size_t input_count() const;
  size_t output_count() const;
  /// Names, dtypes and static shapes of the model's inputs and outputs, in the model's order. Data is linear.
  const Tensor& input(size_t i) const;
  const Tensor& output(size_t i) const;
  void* input_data(size_t i);                 // write the input here before run()
  const void* output_data(size_t i) const;    // valid until the next run() or resize()

  /// Executes every step. Allocates nothing; the calling thread's rounding state is set and restored.
  Status run();
  /// run() with the wall time of each step, in the order of steps().
  Status run_profiled(std::vector<StepTime>& times);

  const std::vector<Step>& steps() const;     // main plan
  const Graph& fused_graph() const;           // what the plan executes, after all passes
  size_t arena_bytes() const;
  /// Share of Conv/ConvTranspose/Gemm/MatMul multiply-adds that run int8 × int8; 1 when there are none.
  double int8_mac_share() const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The evaluator that runs single nodes with the runtime's own kernels (scalar ISA): for infer_shapes' folding.
Evaluator runtime_evaluator();

}  // namespace lq
