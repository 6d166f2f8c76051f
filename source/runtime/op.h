// How the runtime executes one node: `prepare` looks at static shapes, chooses kernels, packs weights and fills a Step;
// `run` is called with pointers only. One file per operator family in runtime/ops/, joined by the table in
// ops/registry.cc.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"
#include "kernels/kernel_types.h"
#include "runtime/thread_pool.h"

namespace lq {

/// What a session prefers where memory and time are at odds.
enum class MemoryUse : uint8_t {
  kDefault,
  kSmall,  // pages of the model file leave memory once the weights on them are packed
};

class Plan;
struct RunContext;
struct Step;
using RunFn = Status (*)(const Step& step, const RunContext& context);
/// Elements [at, at + n) of an elementwise step's output, from the same elements of its inputs.
using PieceFn = void (*)(const Step& step, const RunContext& context, int64_t at, int64_t n);

/// One kernel call of a plan: plain data, printable.
struct Step {
  Op op = Op::Undefined;
  std::string node_name;
  const char* kernel = "";  // e.g. "conv_s8_4x16__avx2"; what --profile prints
  Isa isa = Isa::kScalar;   // of that kernel
  std::string detail;       // what packing decided, e.g. "twice 60% once 37% pairs 3%"; may be empty
  RunFn run = nullptr;
  std::shared_ptr<void> params;  // the family's own plain struct, made in prepare
  std::vector<TensorId> inputs, outputs;
  int64_t macs = 0;             // multiply-adds of Conv/ConvTranspose/Gemm/MatMul, else 0
  bool integer = false;         // those multiply-adds are int8 × int8
  size_t scratch_bytes = 0;     // total wanted; one region, valid during run
  std::vector<Plan*> branches;  // If
  // An elementwise step on NCHWc8 of which any whole pixels of one channel block can be done alone, even in place.
  PieceFn piece = nullptr;
  // A step that hands every piece of its output to finish_piece as soon as it is written, while it is in the cache.
  bool finishes_pieces = false;
  std::vector<Step> fused;  // what a plan moved into this step: done on each piece, in order, in place
  template <typename T>
  const T& params_as() const {
    return *static_cast<const T*>(params.get());
  }
};

/// What run sees. Nothing here allocates.
struct RunContext {
  void* const* data;  // by TensorId: where the tensor's bytes are (constants too)
  uint8_t* scratch;   // scratch_bytes of the step, 64-byte-aligned
  ThreadPool* pool;
  const std::atomic<bool>* cancel = nullptr;  // of the whole run, for steps that run plans
  template <typename T>
  const T* input(const Step& s, size_t i) const {
    return i < s.inputs.size() && s.inputs[i] >= 0 ? static_cast<const T*>(data[s.inputs[i]]) : nullptr;
  }
  template <typename T>
  T* output(const Step& s, size_t i) const {
    return i < s.outputs.size() && s.outputs[i] >= 0 ? static_cast<T*>(data[s.outputs[i]]) : nullptr;
  }
};

/// Called by a step with finishes_pieces: elements [at, at + n) of its output are there, whole pixels of one block.
inline void finish_piece(const Step& step, const RunContext& context, int64_t at, int64_t n) {
  for (const Step& next : step.fused) next.piece(next, context, at, n);
}

/// Where packed weights live: shared by the sessions of a Model, keyed by (isa, layer). `fill` runs once.
class PackCache {
 public:
  virtual ~PackCache() = default;
  virtual Result<const void*> get(const std::string& key, size_t bytes, const std::function<void(void*)>& fill) = 0;
};

/// What prepare sees and fills. Every shape is static; the graph has been verified, fused and laid out.
class OpPrepare {
 public:
  OpPrepare(const ModelIr& model, const Graph& graph, const Node& node, Isa isa, int threads, PackCache& packs,
            Step& step)
      : model(model), graph(graph), node(node), isa(isa), threads(threads), packs(packs), step(step) {}
  const ModelIr& model;
  const Graph& graph;
  const Node& node;
  const Isa isa;      // best one allowed; fall back to the scalar twin where it has no kernel
  const int threads;  // workers of the pool (scratch is often per worker)
  PackCache& packs;
  Step& step;

  bool has_input(size_t i) const { return node.input(i) != kNoTensor; }
  bool has_output(size_t i) const { return node.output(i) != kNoTensor; }
  const Tensor& input(size_t i) const { return graph.tensor(node.inputs[i]); }
  const Tensor& output(size_t i) const { return graph.tensor(node.outputs[i]); }
  /// Makes the family's parameter struct; it lives as long as the step.
  template <typename T>
  T& make_params() {
    auto p = std::make_shared<T>();
    T& r = *p;
    step.params = std::move(p);
    return r;
  }
  void set(const char* kernel, Isa kernel_isa, RunFn run) {
    step.kernel = kernel;
    step.isa = kernel_isa;
    step.run = run;
  }
  /// Key for the pack cache: unique a layer and ISA.
  std::string pack_key(const char* what) const;
};

using PrepareFn = Status (*)(OpPrepare& p);
struct OpRow {
  Op op;
  PrepareFn prepare;
};
/// nullptr when the runtime cannot execute the operator.
PrepareFn find_prepare(Op op);

/// Bytes a tensor occupies in its layout: linear, or [N, ceil(C/8), spatial, 8] when blocked_axis == 1.
Result<size_t> storage_bytes(const Tensor& tensor);

}  // namespace lq
