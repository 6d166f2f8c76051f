// Runs one node of a tiny graph through prepare and run, without passes or sessions: NCHWc8 tensors are made and taken
// apart here, with garbage in the lanes no channel owns.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "kernels/cpu_features.h"
#include "numerics/quantize.h"
#include "runtime/ops/tables.h"

namespace lq::test {

/// A step asked for on `wanted` may run a kernel of that ISA or of one it falls back on, but no scalar one if there are
/// others.
inline bool runs_on(Isa kernel, Isa wanted) {
  while (kernel != wanted && fallback_isa(wanted) != Isa::kScalar) wanted = fallback_isa(wanted);
  return kernel == wanted;
}

/// Every pack anew, kept until the cache goes.
class SimplePacks : public PackCache {
 public:
  Result<const void*> get(const std::string& key, size_t bytes, const std::function<void(void*)>& fill) override {
    auto [it, inserted] = packs_.try_emplace(key);
    if (inserted) {
      LQ_ASSIGN_OR_RETURN(it->second, Buffer::allocate(align_up(bytes + 1), "test pack"));
      fill(it->second.data());
    }
    return static_cast<const void*>(it->second.data());
  }

 private:
  std::map<std::string, Buffer> packs_;
};

template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::Int8;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::Int32;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::Float32;
}

/// NCHW -> NCHWc8; lanes without a channel get `garbage`.
template <typename T>
std::vector<T> to_blocked(const std::vector<T>& x, const Shape& shape, T garbage) {
  const int64_t n = shape[0], c = shape[1], blocks = (c + 7) / 8;
  int64_t spatial = 1;
  for (size_t i = 2; i < shape.size(); ++i) spatial *= shape[i];
  std::vector<T> out(size_t(n * blocks * spatial * 8), garbage);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < c; ++j) {
      for (int64_t s = 0; s < spatial; ++s)
        out[size_t(((i * blocks + j / 8) * spatial + s) * 8 + j % 8)] = x[size_t((i * c + j) * spatial + s)];
    }
  }
  return out;
}

/// NCHWc8 -> NCHW; expects `padding` in the lanes without a channel.
template <typename T>
std::vector<T> from_blocked(const std::vector<T>& x, const Shape& shape, T padding) {
  const int64_t n = shape[0], c = shape[1], blocks = (c + 7) / 8;
  int64_t spatial = 1, wrong = 0;
  for (size_t i = 2; i < shape.size(); ++i) spatial *= shape[i];
  std::vector<T> out(size_t(n * c * spatial));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < blocks * 8; ++j) {
      for (int64_t s = 0; s < spatial; ++s) {
        const T v = x[size_t(((i * blocks + j / 8) * spatial + s) * 8 + j % 8)];
        if (j < c) {
          out[size_t((i * c + j) * spatial + s)] = v;
        } else {
          wrong += std::memcmp(&v, &padding, sizeof(T)) != 0;
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0) << "padding lanes of the output do not hold the zero point";
  return out;
}

/// A graph of one node under construction, and its run-time inputs.
class Layer {
 public:
  explicit Layer(Op op) {
    model_.graphs.emplace_back();
    node_.op = op;
    node_.name = "layer";
  }
  std::function<Status(OpPrepare&)> prepare_with;  // instead of the operator's own prepare
  Node& node() { return node_; }
  Tensor& tensor(TensorId id) { return model_.main().tensor(id); }

  template <typename T>
  TensorId constant(const Shape& shape, const std::vector<T>& values) {
    const TensorId id = model_.main().add_constant("t" + std::to_string(model_.main().tensors.size()), dtype_of<T>(),
                                                   shape, values.data());
    node_.inputs.push_back(id);
    return id;
  }
  template <typename T>
  TensorId input(const Shape& shape, const std::vector<T>& values, bool blocked, T garbage = T()) {
    const TensorId id = add(dtype_of<T>(), shape, blocked);
    const std::vector<T> stored = blocked ? to_blocked(values, shape, garbage) : values;
    bytes_[id].assign(reinterpret_cast<const uint8_t*>(stored.data()),
                      reinterpret_cast<const uint8_t*>(stored.data() + stored.size()));
    node_.inputs.push_back(id);
    return id;
  }
  /// As if a QuantizeLinear of the graph had written it: its quantization parameters then bound what it holds.
  void produced(TensorId id) {
    Node quantize;
    quantize.op = Op::QuantizeLinear;
    quantize.outputs = {id};
    model_.main().nodes.push_back(std::move(quantize));
  }
  void no_input() { node_.inputs.push_back(kNoTensor); }
  TensorId output(DType dtype, const Shape& shape, bool blocked) {
    const TensorId id = add(dtype, shape, blocked);
    node_.outputs.push_back(id);
    return id;
  }
  void quantize(TensorId id, QuantParams q) { tensor(id).quant = std::move(q); }

  Status prepare(Isa isa, int threads, Step& step, PackCache& packs) {
    step.op = node_.op;
    step.inputs = node_.inputs;
    step.outputs = node_.outputs;
    if (prepare_with) {
      OpPrepare p(model_, model_.main(), node_, isa, threads, packs, step);
      return prepare_with(p);
    }
    const OpRowTable& table = node_.op == Op::Conv || node_.op == Op::ConvTranspose ? kConvRows : kMatMulRows;
    for (int i = 0; i < table.count; ++i) {
      if (table.rows[i].op != node_.op) continue;
      OpPrepare p(model_, model_.main(), node_, isa, threads, packs, step);
      return table.rows[i].prepare(p);
    }
    return not_found("no such row");
  }

  /// Output 0 in linear order. The output's memory begins as garbage.
  template <typename T>
  std::vector<T> run(Isa isa, int threads, Step* out_step = nullptr) {
    SimplePacks packs;
    Step step;
    const Status prepared = prepare(isa, threads, step, packs);
    EXPECT_TRUE(prepared.ok()) << prepared.message();
    if (!prepared.ok()) return {};
    const TensorId y = node_.outputs[0];
    auto pool = ThreadPool::create(threads);
    EXPECT_TRUE(pool.ok());
    Buffer scratch = std::move(*Buffer::allocate(align_up(step.scratch_bytes + 1), "scratch"));
    std::memset(scratch.data(), 0xE5, scratch.size());
    std::vector<T> stored(storage_bytes(tensor(y)).value() / sizeof(T));
    if (!stored.empty()) std::memset(stored.data(), 0xA7, stored.size() * sizeof(T));
    std::vector<void*> data(model_.main().tensors.size(), nullptr);
    for (size_t i = 0; i < data.size(); ++i) data[i] = const_cast<uint8_t*>(model_.main().tensors[i].data.data());
    for (auto& [id, bytes] : bytes_) data[size_t(id)] = bytes.data();
    data[size_t(y)] = stored.data();
    const RunContext context{data.data(), scratch.data(), pool->get()};
    const Status status = step.run(step, context);
    EXPECT_TRUE(status.ok()) << status.message();
    if (out_step != nullptr) *out_step = step;
    if (tensor(y).blocked_axis != 1) return stored;
    const T padding = tensor(y).quant ? T(zero_point_at(*tensor(y).quant, 0)) : T(0);
    return from_blocked(stored, tensor(y).shape, padding);
  }

 private:
  TensorId add(DType dtype, const Shape& shape, bool blocked) {
    Tensor t;
    t.name = "t" + std::to_string(model_.main().tensors.size());
    t.dtype = dtype;
    t.ranked = true;
    t.shape = shape;
    t.blocked_axis = blocked ? 1 : -1;
    return model_.main().add_tensor(std::move(t));
  }
  ModelIr model_;
  Node node_;
  std::map<TensorId, std::vector<uint8_t>> bytes_;
};

/// Numbers for tests: reproducible, with the extremes well represented.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t between(int64_t lo, int64_t hi) { return lo + int64_t(engine_() % uint64_t(hi - lo + 1)); }
  bool chance(int percent) { return between(1, 100) <= percent; }
  std::vector<int8_t> int8(int64_t count, int lo) {
    std::vector<int8_t> v(static_cast<size_t>(count));
    const int kind = int(between(0, 5));  // now and then all extreme
    for (int8_t& q : v) q = int8_t(kind == 0 ? (chance(50) ? lo : 127) : kind == 1 ? lo : between(lo, 127));
    return v;
  }
  std::vector<float> floats(int64_t count, float scale = 1) {
    std::vector<float> v(static_cast<size_t>(count));
    for (float& f : v) f = chance(3) ? 0.0f : chance(3) ? -0.0f : scale * (float(between(-1000000, 1000000)) * 1e-6f);
    return v;
  }
  std::vector<int32_t> int32(int64_t count, int32_t bound) {
    std::vector<int32_t> v(static_cast<size_t>(count));
    for (int32_t& i : v) i = int32_t(between(-bound, bound));
    return v;
  }
  float scale() { return float(std::exp2(double(between(-600, -100)) / 100)); }

 private:
  std::mt19937 engine_;
};

template <typename T>
::testing::AssertionResult same_bits(const std::vector<T>& got, const std::vector<T>& want) {
  if (got.size() != want.size())
    return ::testing::AssertionFailure() << got.size() << " values, expected " << want.size();
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::memcmp(&got[i], &want[i], sizeof(T)) != 0) {
      return ::testing::AssertionFailure() << "value " << i << " is " << +got[i] << ", expected " << +want[i];
    }
  }
  return ::testing::AssertionSuccess();
}

/// The ISAs this machine and build can run.
std::vector<Isa> runnable_isas();

}  // namespace lq::test
