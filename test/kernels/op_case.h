// One node through prepare and run for any operator, type and layout: inputs blocked with poisoned lanes where asked,
// outputs in poisoned memory, everything repeated on every ISA and with one and three threads.
#pragma once
#include <functional>

#include "kernels/cpu_features.h"
#include "kernels/layer_harness.h"

namespace lq::test {

template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::UInt8;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::Int16;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::Int64;
}

inline int64_t count_of(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

/// int8 parameters, optionally with a narrowed range.
inline QuantParams s8(float scale, int32_t zero, int32_t qmin = -128, int32_t qmax = 127) {
  QuantParams q = per_tensor_params(DType::Int8, scale, zero);
  q.qmin = qmin;
  q.qmax = qmax;
  return q;
}

/// Every value of int8 turns up; each fourth is an extreme.
inline std::vector<int8_t> random_s8(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  constexpr int8_t kExtremes[] = {-128, -127, 127, 126};
  std::vector<int8_t> v(static_cast<size_t>(n));
  for (int8_t& x : v) x = random() % 4 == 0 ? kExtremes[random() % 4] : int8_t(random());
  return v;
}
inline std::vector<float> random_f32(int64_t n, uint32_t seed, float range = 4.0f) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-range, range);
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = uniform(random);
  return v;
}

class OpCase {
 public:
  explicit OpCase(Op op) {
    model_.graphs.emplace_back();
    node_.op = op;
    node_.name = "node";
  }
  Node& node() { return node_; }
  template <typename T>
  OpCase& constant(const Shape& shape, const std::vector<T>& values, std::optional<QuantParams> q = {}) {
    const TensorId id = graph().add_constant(name(), dtype_of<T>(), shape, values.data());
    graph().tensor(id).quant = std::move(q);
    graph().tensor(id).ranked = true;
    node_.inputs.push_back(id);
    return *this;
  }
  template <typename T>
  OpCase& input(const Shape& shape, const std::vector<T>& values, bool blocked, std::optional<QuantParams> q = {}) {
    const TensorId id = add(dtype_of<T>(), shape, blocked, std::move(q));
    const std::vector<T> stored = blocked ? to_blocked(values, shape, lane_of<T>(id)) : values;
    const auto* bytes = reinterpret_cast<const uint8_t*>(stored.data());
    bytes_[id].assign(bytes, bytes + stored.size() * sizeof(T));
    node_.inputs.push_back(id);
    return *this;
  }
  /// Blocked inputs from here on hold in the lanes behind their last channel what producers write there, for operators
  /// that move pixels with all their lanes; otherwise those lanes are poisoned.
  OpCase& clean_lanes() {
    poisoned_ = false;
    return *this;
  }
  OpCase& absent() {
    node_.inputs.push_back(kNoTensor);
    return *this;
  }
  OpCase& output(DType dtype, const Shape& shape, bool blocked, std::optional<QuantParams> q = {}) {
    node_.outputs.push_back(add(dtype, shape, blocked, std::move(q)));
    return *this;
  }

  Status run(Isa isa, int threads) {
    step_ = {};
    step_.op = node_.op;
    step_.inputs = node_.inputs;
    step_.outputs = node_.outputs;
    const PrepareFn prepare = find_prepare(node_.op);
    if (prepare == nullptr) return not_found("no row");
    OpPrepare p(model_, graph(), node_, isa, threads, packs_, step_);
    LQ_RETURN_IF_ERROR(prepare(p));
    LQ_ASSIGN_OR_RETURN(const std::unique_ptr<ThreadPool> pool, ThreadPool::create(threads));
    LQ_ASSIGN_OR_RETURN(Buffer scratch, Buffer::allocate(align_up(step_.scratch_bytes + 1), "scratch"));
    std::memset(scratch.data(), 0xE5, scratch.size());
    std::vector<void*> data;
    for (const Tensor& t : graph().tensors) data.push_back(const_cast<uint8_t*>(t.data.data()));
    for (auto& [id, bytes] : bytes_) data[size_t(id)] = bytes.data();
    for (TensorId id : node_.outputs) {
      outputs_[id].assign(storage_bytes(graph().tensor(id)).value(), 0xA7);
      data[size_t(id)] = outputs_[id].data();
    }
    return step_.run(step_, {data.data(), scratch.data(), pool.get()});
  }

  /// Output i of the last run in linear order; expects the zero point in the lanes behind the last channel.
  template <typename T>
  std::vector<T> result(size_t i = 0) {
    const Tensor& t = graph().tensor(node_.outputs[i]);
    const std::vector<uint8_t>& bytes = outputs_[node_.outputs[i]];
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    if (t.blocked_axis != 1) return values;
    return from_blocked(values, t.shape, t.quant ? T(zero_point_at(*t.quant, 0)) : T(0));
  }
  const Step& step() const { return step_; }

  /// Runs on every ISA, with 1 and 3 threads, and expects the same bits each time.
  template <typename T>
  void expect(const std::vector<T>& expected, const std::string& what = "") {
    for (int i = 0; i < kIsaCount; ++i) {
      const Isa isa = Isa(i);
      if (!is_isa_built(isa) || !is_isa_supported(isa)) continue;
      for (int threads : {1, 3}) {
        const Status status = run(isa, threads);
        ASSERT_TRUE(status.ok()) << what << ": " << status.message();
        const std::vector<T> actual = result<T>();
        ASSERT_EQ(actual.size(), expected.size()) << what;
        for (size_t i = 0; i < actual.size(); ++i) {
          ASSERT_EQ(0, std::memcmp(&actual[i], &expected[i], sizeof(T)))
              << what << " element " << i << ": " << +actual[i] << ", expected " << +expected[i] << " (" << step_.kernel
              << ", " << threads << " threads)";
        }
      }
    }
  }

 private:
  Graph& graph() { return model_.main(); }
  std::string name() { return "t" + std::to_string(graph().tensors.size()); }
  TensorId add(DType dtype, const Shape& shape, bool blocked, std::optional<QuantParams> q) {
    Tensor t;
    t.name = name();
    t.dtype = dtype;
    t.ranked = true;
    t.shape = shape;
    t.blocked_axis = blocked ? 1 : -1;
    t.quant = std::move(q);
    return graph().add_tensor(std::move(t));
  }
  template <typename T>
  T lane_of(TensorId id) {
    const std::optional<QuantParams>& q = graph().tensor(id).quant;
    if (poisoned_) return T(91);
    return q ? T(zero_point_at(*q, 0)) : T(0);
  }
  bool poisoned_ = true;
  ModelIr model_;
  Node node_;
  Step step_;
  SimplePacks packs_;
  std::map<TensorId, std::vector<uint8_t>> bytes_, outputs_;
};

}  // namespace lq::test
