// Runs small graphs of constants through shape inference with the runtime's evaluator, which executes each node alone;
// and single nodes on tensors in any layout.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "passes/runtime_graphs.h"
#include "runtime/pack_cache.h"
#include "runtime/plan.h"
#include "runtime/session.h"

namespace lq::testing {

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::Float32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::Float64;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::Int8;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::UInt8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::Int16;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::Float16;
};  // bits
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::Int32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::Int64;
};

struct OpTest : GraphBuilder {
  template <typename T>
  TensorId constant(Shape shape, const std::vector<T>& values, DType dtype = DTypeOf<T>::value) {
    return graph().add_constant(std::string("c").append(std::to_string(graph().tensors.size())), dtype,
                                std::move(shape), values.data());
  }
  /// A node whose output shapes inference fills in.
  TensorId op(Op kind, std::vector<TensorId> inputs, size_t outputs = 1) {
    Node n;
    n.op = kind;
    n.name = op_name(kind);
    n.inputs = std::move(inputs);
    for (size_t i = 0; i < outputs; ++i) {
      Tensor t;
      t.name = std::string("t").append(std::to_string(graph().tensors.size()));
      n.outputs.push_back(graph().add_tensor(std::move(t)));
      graph().outputs.push_back(n.outputs.back());
    }
    const TensorId first = n.outputs.empty() ? kNoTensor : n.outputs[0];
    graph().nodes.push_back(std::move(n));
    return first;
  }
  Status run() {
    const Evaluator evaluator = runtime_evaluator();
    return infer_shapes(model, &evaluator);
  }
  template <typename T>
  std::vector<T> values(TensorId id) const {
    const Tensor& t = model.graphs[0].tensor(id);
    EXPECT_TRUE(t.is_constant()) << t.name << " was not evaluated";
    if (!t.is_constant()) return {};
    const T* data = t.data.as<T>();
    return std::vector<T>(data, data + t.data.size() / sizeof(T));
  }
  Shape shape(TensorId id) const { return model.graphs[0].tensor(id).shape; }
  /// Runs and reads the last node's first output.
  template <typename T>
  std::vector<T> result() {
    const Status status = run();
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) return {};
    // Folding removes nodes, so the output is found by the graph's outputs.
    return values<T>(graph().outputs[0]);
  }
};

/// Plans and runs the graph as it stands (no passes: layouts are the test's); inputs and outputs are whole storages of
/// T.
template <typename T = float>
std::vector<T> run_plan(const ModelIr& model, const std::vector<std::vector<T>>& inputs, int threads = 1,
                        Isa isa = Isa::kScalar) {
  SharedPackCache packs(default_allocator());
  auto plan = Plan::build(model, 0, PlanOptions{isa, threads, &packs});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) return {};
  const size_t bytes = storage_bytes(model.main().tensor(model.main().outputs[0])).value();
  std::vector<T> output(bytes / sizeof(T) + 8, T(-77));
  auto arena = Buffer::allocate((*plan)->arena_bytes() + 64, "test");
  EXPECT_TRUE(arena.ok());
  std::vector<void*> in;
  for (const auto& v : inputs) in.push_back(const_cast<T*>(v.data()));
  void* out[] = {output.data()};
  (*plan)->bind(arena->data(), in.data(), out);
  auto pool = ThreadPool::create(threads);
  EXPECT_TRUE(pool.ok());
  const Status status = (*plan)->run(**pool, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  output.resize(bytes / sizeof(T));
  return output;
}

}  // namespace lq::testing
