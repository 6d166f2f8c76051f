// Small float models, folders of .npy samples, and quantize() on them.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/npy.h"
#include "libquant/quantizer.hpp"
#include "passes/toolchain_graph.h"

namespace lq::test {

/// Deterministic values in [−1, 1).
inline std::vector<float> noise(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  for (float& v : values) {
    seed = seed * 1664525u + 1013904223u;
    v = float(int32_t(seed)) / 2147483648.0f;
  }
  return values;
}

class QuantizerFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("lq_quantizer_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write_samples(size_t count, const Shape& shape, float scale = 1) {
    for (size_t i = 0; i < count; ++i) {
      std::vector<float> values = noise(size_t(element_count(shape)), uint32_t(i + 1));
      for (float& v : values) v *= scale;
      const std::string path = (folder_ / ("s" + std::to_string(i) + ".npy")).string();
      ASSERT_TRUE(calibration::write_npy(path, DType::Float32, shape, values.data()).ok());
    }
  }
  QuantizeOptions options(int threads = 1) const {
    QuantizeOptions o;
    o.calibration_dir = folder_.string();
    o.threads = threads;
    return o;
  }
  QuantizeReport quantized(GraphMaker& m, const QuantizeOptions& o) {
    auto report = quantize(m.model, o);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? std::move(*report) : QuantizeReport();
  }

  std::filesystem::path folder_;
};

inline TensorId conv(GraphMaker& m, const std::string& name, TensorId x, int64_t in, int64_t out, uint32_t seed) {
  const TensorId w = m.constant(name + "_w", {out, in, 3, 3}, noise(size_t(out * in * 9), seed));
  schema::ConvAttrsT attrs;
  attrs.pads = {1, 1, 1, 1};
  return m.node(Op::Conv, name, {x, w, m.constant(name + "_b", {out}, noise(size_t(out), seed + 1))}, attrs);
}

inline void small_net(GraphMaker& m) {
  const TensorId x = m.input("x", {1, 3, 8, 8});
  const TensorId a = m.node(Op::Relu, "relu", {conv(m, "a", x, 3, 8, 11)});
  const TensorId pool = m.node(Op::MaxPool, "pool", {a}, [] {
    schema::PoolAttrsT p;
    p.kernel_shape = {2, 2};
    p.strides = {2, 2};
    return p;
  }());
  const TensorId sum = m.node(Op::Add, "add", {conv(m, "b", pool, 8, 8, 21), pool});
  m.output(m.node(Op::GlobalAveragePool, "y", {conv(m, "c", m.node(Op::HardSwish, "act", {sum}), 8, 4, 31)}));
  m.finish();
}

/// Everything that decides a file's bytes.
inline std::string fingerprint(const Graph& graph) {
  std::string text = to_string(graph);
  for (const Tensor& t : graph.tensors) {
    text += t.name;
    if (t.is_constant()) text.append(reinterpret_cast<const char*>(t.data.data()), t.data.size());
    if (t.quant) text.append(reinterpret_cast<const char*>(t.quant->scale.data()), t.quant->scale.size() * 4);
  }
  return text;
}

}  // namespace lq::test
