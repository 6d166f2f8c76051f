// Plan: a graph as a flat list of kernel calls on arena offsets. Built once for fixed shapes, then only run.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "runtime/op.h"
#include "runtime/session.h"

namespace lq {

struct PlanOptions {
  Isa isa = Isa::kScalar;
  int threads = 1;
  PackCache* packs = nullptr;
  MemoryUse memory = MemoryUse::kDefault;
};

class Plan {
 public:
  /// Plans graph `graph_index` of a model that has been through every runtime pass: static shapes, layouts assigned,
  /// each graph output written by a node or constant. The plan refers to the model's constants: keep the model alive.
  static Result<std::unique_ptr<Plan>> build(const ModelIr& model, int graph_index, const PlanOptions& options);

  /// Bytes of the region bind() wants; scratch of all steps and the arenas of If branches lie in it too.
  size_t arena_bytes() const { return arena_bytes_; }
  /// Gives every tensor its address: the arena, and one pointer a graph input and output, in the graph's order. A
  /// constant output keeps its own bytes whatever pointer is given.
  void bind(uint8_t* arena, void* const* inputs, void* const* outputs);
  /// Executes all steps; with `times`, one entry a step is filled. kCancelled if `cancel` is set when a step would begin.
  /// Allocates nothing unless a step fails.
  Status run(ThreadPool& pool, StepTime* times, const std::atomic<bool>* cancel = nullptr) const;

  const std::vector<Step>& steps() const { return steps_; }
  /// Address of a tensor after bind().
  void* data(TensorId id) const { return data_[size_t(id)]; }

 private:
  Plan() = default;
  struct Builder;
  const Graph* graph_ = nullptr;
  std::vector<Step> steps_;
  std::vector<uint8_t*> scratch_;       // by step, after bind()
  std::vector<size_t> scratch_offset_;  // by step
  std::vector<TensorId> root_;          // by tensor: the tensor whose storage it uses (itself, or through a Reshape)
  std::vector<size_t> offset_;          // by tensor: place in the arena, kNotInArena for others
  std::vector<void*> data_;             // by tensor, after bind()
  size_t arena_bytes_ = 0;
};

}  // namespace lq
