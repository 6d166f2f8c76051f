// Which nodes become int8, and which tensors share parameters.
#include "quantization/precision.h"

#include <gmock/gmock.h>

#include <map>

#include "passes/toolchain_graph.h"
#include "quantization/param_groups.h"

namespace lq::quantization {
namespace {

using test::GraphMaker;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Adds layers by name with weights of the right shape.
struct Net : GraphMaker {
  TensorId conv(const std::string& name, TensorId x, int64_t in, int64_t out) {
    return node(Op::Conv, name,
                {x, constant(name + "_w", {out, in, 1, 1}, std::vector<float>(size_t(in * out), 0.5f))});
  }
  TensorId concat(const std::string& name, std::vector<TensorId> inputs) {
    schema::AxisAttrsT attrs;
    attrs.axis = 1;
    return node(Op::Concat, name, std::move(inputs), attrs);
  }
  PrecisionPlan plan(const std::vector<std::string>& skip = {}) {
    finish();
    auto result = plan_precision(graph(), skip);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *result : PrecisionPlan(graph().nodes.size());
  }
  std::map<std::string, Precision> by_name(const PrecisionPlan& p) {
    std::map<std::string, Precision> names;
    for (size_t n = 0; n < p.size(); ++n) names[graph().nodes[n].name] = p[n].precision;
    return names;
  }
};

TEST(Precision, ReluIsFusedAndTheLastProductKeepsItsTailFloat) {
  Net m;
  const TensorId x = m.input("x", {1, 3, 4, 4});
  const TensorId r = m.node(Op::Relu, "relu", {m.conv("a", x, 3, 4)});
  const TensorId pooled = m.node(Op::GlobalAveragePool, "gap", {m.conv("b", r, 4, 4)});
  m.output(m.node(Op::Flatten, "flat", {pooled}, [] {
    schema::AxisAttrsT a;
    a.axis = 1;
    return a;
  }()));
  const PrecisionPlan plan = m.plan();
  auto names = m.by_name(plan);
  EXPECT_EQ(names["a"], Precision::kInt8);
  EXPECT_EQ(names["relu"], Precision::kInt8);
  EXPECT_EQ(names["b"], Precision::kInt8);  // float output
  EXPECT_EQ(names["gap"], Precision::kFloat);
  EXPECT_EQ(names["flat"], Precision::kFloat);
  EXPECT_EQ(plan[0].fused_activation, 1);
  EXPECT_EQ(plan[1].fused_into, 0);
}

TEST(Precision, PoolingBetweenProductsIsInt8) {
  Net m;
  const TensorId x = m.input("x", {1, 3, 4, 4});
  m.output(m.conv("b", m.node(Op::GlobalAveragePool, "gap", {m.conv("a", x, 3, 4)}), 4, 4));
  EXPECT_EQ(m.by_name(m.plan())["gap"], Precision::kInt8);
}

TEST(Precision, AnIslandOfFloatStaysFloat) {
  Net m;  // softmax -> mul -> add -> softmax: nothing int8 around
  const TensorId x = m.input("x", {1, 8}), y = m.input("y", {1, 8});
  const TensorId s = m.node(Op::Softmax, "s1", {x}, schema::AxisAttrsT{});
  const TensorId mul = m.node(Op::Mul, "mul", {s, y});
  m.output(m.node(Op::Softmax, "s2", {m.node(Op::Add, "add", {mul, y})}, schema::AxisAttrsT{}));
  auto names = m.by_name(m.plan());
  EXPECT_EQ(names["mul"], Precision::kFloat);
  EXPECT_EQ(names["add"], Precision::kFloat);
}

TEST(Precision, ValuesThatComeInFloatAreMovedInInt8ButComputedInFloat) {
  Net m;
  const TensorId x = m.input("x", {1, 3, 4, 4});
  const TensorId scaled = m.node(Op::Mul, "normalize", {x, m.scalar(1.0f / 255)});
  const TensorId pool = m.node(Op::MaxPool, "pool", {scaled}, [] {
    schema::PoolAttrsT a;
    a.kernel_shape = {2, 2};
    return a;
  }());
  m.output(m.conv("a", pool, 3, 4));
  auto names = m.by_name(m.plan());
  EXPECT_EQ(names["normalize"], Precision::kFloat);
  EXPECT_EQ(names["pool"], Precision::kInt8);
}

TEST(Precision, ResidualSumsBeforeNormalizationStayFloat) {
  Net m;
  const TensorId x = m.input("x", {1, 2, 4});
  const TensorId w = m.constant("w", {4, 4}, std::vector<float>(16, 0.5f));
  const TensorId g = m.constant("g", {4}, {1, 1, 1, 1});
  const TensorId first = m.node(Op::Add, "add1", {m.node(Op::MatMul, "mm1", {x, w}), x});
  const TensorId norm = m.node(Op::LayerNormalization, "norm", {first, g}, schema::NormAttrsT{});
  const TensorId second = m.node(Op::Add, "add2", {first, m.node(Op::MatMul, "mm2", {norm, w})});
  m.output(m.node(Op::MatMul, "mm3", {second, w}));
  auto names = m.by_name(m.plan());
  EXPECT_EQ(names["mm1"], Precision::kInt8);
  EXPECT_EQ(names["mm2"], Precision::kInt8);
  EXPECT_EQ(names["add1"], Precision::kFloat);
  EXPECT_EQ(names["norm"], Precision::kFloat);
}

TEST(Precision, SkipKeepsAMatchingNodeAndRefusesATypo) {
  Net m;
  const TensorId x = m.input("x", {1, 3, 4, 4});
  m.output(m.conv("/head/conv", m.conv("/body/conv", x, 3, 4), 4, 4));
  const PrecisionPlan plan = m.plan({"^/head"});
  EXPECT_EQ(m.by_name(plan)["/head/conv"], Precision::kFloat);
  EXPECT_EQ(m.by_name(plan)["/body/conv"], Precision::kInt8);
  EXPECT_THAT(plan_precision(m.graph(), {"/haed"}).status().message(), HasSubstr("/haed"));
  EXPECT_THAT(plan_precision(m.graph(), {"("}).status().message(), HasSubstr("regular expression"));
}

TEST(Precision, AConstantFactorOfWideSpreadStaysFloat) {
  Net m;
  const TensorId x = m.input("x", {1, 3, 4, 4});
  const TensorId r = m.node(Op::Relu, "r", {m.conv("a", x, 3, 2)});
  const TensorId wide = m.node(Op::Mul, "wide", {r, m.constant("c", {2, 1, 1}, {0.001f, 1})});
  m.output(m.conv("b", wide, 2, 4));
  EXPECT_EQ(m.by_name(m.plan())["wide"], Precision::kFloat);
}

TEST(ParamGroups, PassThroughSharesAndConcatTakesItsOnlyReadersIn) {
  Net m;
  const TensorId x = m.input("x", {1, 3, 4, 4});
  const TensorId a = m.node(Op::Relu, "ra", {m.conv("a", x, 3, 4)}), b = m.node(Op::Relu, "rb", {m.conv("b", x, 3, 4)});
  const TensorId pool = m.node(Op::MaxPool, "pool", {b}, [] {
    schema::PoolAttrsT p;
    p.kernel_shape = {1, 1};
    return p;
  }());
  const TensorId shared = m.node(Op::Relu, "rs", {m.conv("s", x, 3, 4)});
  const TensorId cat = m.concat("cat", {a, pool, shared});
  m.output(m.conv("end", cat, 12, 4));
  m.output(m.conv("other", shared, 4, 4));
  const PrecisionPlan plan = m.plan();
  const ParamGroups groups = ParamGroups::build(m.graph(), plan);
  EXPECT_EQ(groups.of(a), groups.of(cat));  // read by the Concat alone
  EXPECT_EQ(groups.of(b), groups.of(cat));  // through the pool
  EXPECT_EQ(groups.of(pool), groups.of(cat));
  EXPECT_NE(groups.of(shared), groups.of(cat));  // another reader wants its own resolution
  EXPECT_EQ(groups.groups()[size_t(groups.of(cat))].calibrated, cat);
  EXPECT_EQ(groups.groups()[size_t(groups.of(shared))].calibrated, shared);
  EXPECT_TRUE(groups.groups()[size_t(groups.of(x))].is_graph_input);
}

TEST(ParamGroups, SoftmaxIsFloatAndWhatReadsItInInt8HasItsRange) {
  Net m;
  const TensorId x = m.input("x", {1, 3, 4, 4});
  const TensorId s = m.node(Op::Softmax, "s", {m.conv("a", x, 3, 4)}, [] {
    schema::AxisAttrsT a;
    a.axis = 1;
    return a;
  }());
  const TensorId h = m.node(Op::HardSigmoid, "h", {m.conv("b", s, 4, 4)});
  m.output(m.conv("end", h, 4, 4));
  const PrecisionPlan plan = m.plan();
  const ParamGroups groups = ParamGroups::build(m.graph(), plan);
  for (TensorId id : {s, h}) {
    const ValueRange fixed = groups.groups()[size_t(groups.of(id))].fixed.value();
    EXPECT_EQ(fixed.min, 0);
    EXPECT_EQ(fixed.max, 1);
  }
}

TEST(ParamGroups, FixedOutputRanges) {
  Net m;
  const TensorId x = m.input("x", {1, 3, 4, 4});
  const TensorId s = m.node(Op::Sigmoid, "s", {m.conv("a", x, 3, 4)}),
                 t = m.node(Op::Tanh, "t", {m.conv("b", x, 3, 4)});
  m.output(m.conv("end", m.node(Op::Mul, "mul", {s, t}), 4, 4));
  const PrecisionPlan plan = m.plan();
  const ParamGroups groups = ParamGroups::build(m.graph(), plan);
  const auto fixed = [&](TensorId id) { return groups.groups()[size_t(groups.of(id))].fixed.value(); };
  EXPECT_EQ(fixed(s).min, 0);
  EXPECT_EQ(fixed(s).max, 1);
  EXPECT_EQ(fixed(t).min, -1);
  EXPECT_EQ(fixed(t).max, 1);
}

}  // namespace
}  // namespace lq::quantization
