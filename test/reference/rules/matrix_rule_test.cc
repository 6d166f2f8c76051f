// Gemm and MatMul: by constants and of two activations.
#include <cmath>

#include "graph/op_def.h"
#include "reference/rules/rule_check.h"
#include "runtime/session.h"

namespace lq::reference {
namespace {

/// For int8 weights around 0.01 · 127: some outputs saturate, some fall on ties.
float output_scale(RuleGraph& g, const QuantParams& x, int64_t k, const std::vector<float>& scales) {
  const double wanted = double(x.scale[0]) * 0.73 * std::sqrt(double(k)) * double(g.rng.uniform(0.2f, 3));
  return g.scale_near(wanted, double(x.scale[0]) * double(scales[0]));
}

TEST(Gemm, RandomLayers) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RuleGraph g(seed + 100);
    const int64_t m = g.rng.pick<int64_t>({1, 1, 2, 3, 5, 8, 17}), k = g.rng.pick<int64_t>({1, 3, 7, 8, 9, 31, 64, 65, 130});
    const int64_t n = g.rng.pick<int64_t>({1, 2, 5, 8, 10, 15, 16, 17, 33, 100});
    schema::GemmAttrsT attrs;
    attrs.trans_b = g.rng.chance(2);
    const QuantParams x = g.params();
    std::vector<float> scales;
    std::vector<TensorId> inputs{g.activation("x", {m, k}, x)};
    inputs.push_back(g.random_weights(attrs.trans_b ? Shape{n, k} : Shape{k, n}, attrs.trans_b ? 0 : 1, n, &scales));
    if (!g.rng.chance(4)) inputs.push_back(g.random_bias(x.scale[0], scales));
    const TensorId y = g.op(Op::Gemm, inputs, attrs);
    if (g.rng.chance(4)) {
      g.output(g.random_clamp(y, g.params(1)));
      check(g, {{Op::Gemm, DType::Float32}});
    } else {
      g.finish(y, g.params(output_scale(g, x, k, scales)));
      check(g, {{Op::Gemm}});
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(MatMul, ByConstants) {
  const std::pair<Shape, Shape> shapes[] = {{{1, 64}, {64, 10}},   {{5, 9}, {9, 17}},        {{2, 5, 24}, {24, 33}},
                                            {{2, 3, 4, 7}, {7, 8}}, {{3, 4, 6}, {3, 6, 5}},   {{2, 3, 4, 6}, {3, 6, 9}},
                                            {{1, 1, 1}, {1, 1}},    {{4, 6}, {3, 6, 5}},      {{1, 40, 16}, {16, 16}}};
  uint64_t seed = 300;
  for (const auto& [a, b] : shapes) {
    for (const bool quantized : {true, false}) {
      SCOPED_TRACE(shape_string(a) + shape_string(b));
      RuleGraph g(++seed);
      const QuantParams x = g.params();
      std::vector<float> scales;
      const TensorId in = g.activation("x", a, x);
      const TensorId y = g.op(Op::MatMul, {in, g.random_weights(b, int(b.size()) - 1, b.back(), &scales)});
      if (quantized) g.finish(y, g.params(output_scale(g, x, a.back(), scales)));
      else g.output(y);
      check(g, {{Op::MatMul, quantized ? DType::Int8 : DType::Float32}});
    }
  }
}

TEST(MatMul, OfTwoActivations) {
  const std::pair<Shape, Shape> shapes[] = {{{3, 5}, {5, 7}},           {{1, 4, 16, 8}, {1, 4, 8, 16}}, {{2, 3, 9, 33}, {2, 3, 33, 10}},
                                            {{2, 1, 5, 6}, {3, 6, 4}},  {{1, 1}, {1, 1}},               {{4, 17}, {2, 17, 3}},
                                            {{2, 8, 64}, {2, 64, 8}}};
  uint64_t seed = 400;
  for (const auto& [a, b] : shapes) {
    for (int i = 0; i < 3; ++i) {
      SCOPED_TRACE(shape_string(a) + shape_string(b));
      RuleGraph g(++seed);
      const QuantParams pa = g.params(), pb = g.params();
      const double unit = double(pa.scale[0]) * double(pb.scale[0]);
      const TensorId y = g.op(Op::MatMul, {g.activation("a", a, pa), g.activation("b", b, pb)});
      g.finish(y, g.params(g.scale_near(unit * 60 * std::sqrt(double(a.back())) * double(g.rng.uniform(0.3f, 2)), unit)));
      check(g, {{Op::MatMul}});
    }
  }
}

/// A vector, a scaled Gemm, a transposed first operand, weights with the wrong axis: no product rule, so float.
TEST(Products, NearMissesStayFloat) {
  for (int kind = 0; kind < 6; ++kind) {
    SCOPED_TRACE(kind);
    RuleGraph g(uint64_t(500 + kind));
    const QuantParams x = g.params();
    std::vector<float> scales(4, 0.01f);
    const std::vector<int8_t> values{1, -2, 3, 4, -5, 6, 127, -127, 9, 10, 11, 12};
    schema::GemmAttrsT attrs;
    TensorId y = kNoTensor;
    const auto weights = [&](int axis, size_t count) { return g.weights("w", {3, 4}, values, std::vector<float>(count, 0.01f), axis); };
    const TensorId w = weights(kind == 3 ? 0 : 1, kind == 3 ? 3 : 4);
    if (kind == 0) y = g.op(Op::MatMul, {g.activation("x", {3}, x), w});
    attrs.alpha = kind == 1 ? 0.5f : 1.0f;
    attrs.trans_a = kind == 2;
    if (kind == 1 || kind == 2) y = g.op(Op::Gemm, {g.activation("x", kind == 2 ? Shape{3, 2} : Shape{2, 3}, x), w}, attrs);
    if (kind == 3) y = g.op(Op::MatMul, {g.activation("x", {2, 3}, x), w});  // verify() refuses this for Gemm and Conv too
    if (kind == 4) y = g.op(Op::Gemm, {g.activation("x", {2, 3}, x), w, g.floats("b", {4}, {1, 2, 3, 4})}, attrs);
    if (kind == 5) {  // a bias in other units than s_x·s_w: its real values count
      y = g.op(Op::Gemm, {g.activation("x", {2, 3}, x), w, g.bias("b", {100, 200, -300, 400}, {0.5f, 0.5f, 0.5f, 0.5f})}, attrs);
    }
    g.finish(y, g.params(0.05f));
    if (kind == 3) {
      ASSERT_TRUE(infer_shapes(g.model, nullptr).ok());
      EXPECT_FALSE(Model::create(g.model).ok());
      continue;
    }
    check(g);
  }
}

}  // namespace
}  // namespace lq::reference
