#include "runtime/prepare_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/graphs.h"

namespace lq {
namespace {

using testing::GraphBuilder;
using ::testing::HasSubstr;

TEST(InputShapes, SymbolsAreSharedAndBatchIsOne) {
  GraphBuilder g;
  const TensorId a = g.input("a", {-1, 3, -1}), b = g.input("b", {-1, -1}), c = g.input("c", {-1, 5});
  g.graph().tensor(a).dim_names = {"N", "", "T"};
  g.graph().tensor(b).dim_names = {"N", "T"};
  ASSERT_TRUE(apply_input_shapes(g.graph(), {{"a", {4, 3, 7}}}).ok());
  EXPECT_EQ(g.graph().tensor(b).shape, (Shape{4, 7}));  // N and T as in a
  EXPECT_EQ(g.graph().tensor(c).shape, (Shape{1, 5}));
}

TEST(InputShapes, EveryMistakeNamesItsDimension) {
  const struct {
    Shape given;
    const char* text;
  } cases[] = {
      {{1, 3}, "needs 3 dimensions"},
      {{1, 4, 7}, "dimension 1 must be 3"},
      {{0, 3, 7}, "dimension 0 ('N') must be at least 1"},
      {{1, 3, int64_t(1) << 40}, "dimension 2"},
  };
  for (const auto& c : cases) {
    GraphBuilder g;
    g.graph().tensor(g.input("a", {-1, 3, -1})).dim_names = {"N", "", "T"};
    const Status status = apply_input_shapes(g.graph(), {{"a", c.given}});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("input 'a'"));
    EXPECT_THAT(status.message(), HasSubstr(c.text));
  }
}

TEST(InputShapes, ContradictingSymbolsAndUnrankedInputs) {
  GraphBuilder g;
  g.graph().tensor(g.input("a", {-1})).dim_names = {"N"};
  g.graph().tensor(g.input("b", {-1})).dim_names = {"N"};
  EXPECT_THAT(apply_input_shapes(g.graph(), {{"a", {1}}, {"b", {2}}}).message(), HasSubstr("'N'"));

  GraphBuilder h;
  h.graph().tensor(h.input("u", {})).ranked = false;
  EXPECT_THAT(apply_input_shapes(h.graph(), {}).message(), HasSubstr("input 'u'"));
  EXPECT_TRUE(apply_input_shapes(h.graph(), {{"u", {2, 2}}}).ok());
}

TEST(FoldConstants, DequantizedWeightsBecomeFloatOnce) {
  GraphBuilder g;
  const TensorId w = g.weights("w", {2, 2}, {1, 2, 3, 4}, {0.5f, 0.25f}, 0);
  g.output(g.node(Op::Add, {g.input("x", {2, 2}), w}, {2, 2}));
  FoldBudget budget(g.model);
  ASSERT_TRUE(fold_constants(g.model, runtime_evaluator(), budget).ok());
  ASSERT_EQ(g.graph().nodes.size(), 1u);
  const auto values = constant_floats(g.graph(), g.graph().nodes[0].inputs[1]);
  ASSERT_TRUE(values.has_value());
  EXPECT_EQ(*values, (std::vector<float>{0.5f, 1.0f, 0.75f, 1.0f}));
}

// The evaluator must serve operators that want another layout than constants have.
TEST(FoldConstants, ConvolutionOfConstants) {
  GraphBuilder g;
  const TensorId x = g.floats("x", {1, 2, 1, 2}, {1, 2, 10, 20}), w = g.floats("w", {1, 2, 1, 1}, {1, 2});
  const TensorId y = g.node(Op::Conv, {x, w}, {1, 1, 1, 2});
  g.output(y);
  FoldBudget budget(g.model);
  ASSERT_TRUE(fold_constants(g.model, runtime_evaluator(), budget).ok());
  EXPECT_TRUE(g.graph().nodes.empty());
  EXPECT_EQ(*constant_floats(g.graph(), y), (std::vector<float>{21, 42}));
}

/// x + Expand(1, [floats]) + … `times`; which operators are left once prepared.
std::vector<Op> prepared_expands(int64_t floats, int times) {
  GraphBuilder g;
  TensorId y = g.input("x", {1});
  for (int i = 0; i < times; ++i) {
    const TensorId one = g.floats("one", {1}, {float(i)});
    y = g.node(Op::Add, {y, g.node(Op::Expand, {one, g.ints("to", {floats})}, {floats})}, {floats});
  }
  g.output(y);
  const Status status = prepare_graph(g.model, {}, runtime_evaluator());
  EXPECT_TRUE(status.ok()) << status.message();
  return testing::ops_of(g.graph());
}

/// What a file of a few bytes may not have: gigabytes outside the caller's allocator.
TEST(FoldConstants, SmallConstantsMakeNoLargeOnes) {
  constexpr int64_t kLimit = int64_t(FoldBudget::kSmall) / 4;
  EXPECT_EQ(prepared_expands(1 << 20, 1), (std::vector<Op>{Op::Add}));
  EXPECT_EQ(prepared_expands(kLimit + 1, 1), (std::vector<Op>{Op::Expand, Op::Add}));
}

TEST(FoldConstants, NorManySmallOnesTogether) {
  constexpr int64_t kFloats = 8 << 20;  // 32 MB
  const std::vector<Op> ops = prepared_expands(kFloats, 10);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), Op::Add), 10);
  // 256 MB hold eight; the few bytes of the model's own constants make no ninth.
  EXPECT_EQ(std::count(ops.begin(), ops.end(), Op::Expand), 2);
}

/// int8 weights that run in float are four times themselves, whatever their size.
TEST(FoldConstants, LargeWeightsMayBecomeFloat) {
  ModelIr model;
  Graph& graph = model.graphs.emplace_back();
  Tensor w;
  w.dtype = DType::Int8;
  w.data = Bytes(nullptr, FoldBudget::kSmall, std::make_shared<int>(0));  // looked at by size only
  Node node;
  node.inputs = {graph.add_tensor(std::move(w))};
  FoldBudget budget(model);
  EXPECT_TRUE(budget.take(graph, node, 4 * FoldBudget::kSmall));
  EXPECT_FALSE(budget.take(graph, node, 4 * FoldBudget::kSmall + 1));
}

TEST(IsolateOutputs, InputAsOutputIsCopiedUnderItsName) {
  GraphBuilder g;
  const TensorId x = g.input("x", {2});
  g.output(x);
  isolate_outputs(g.model);
  ASSERT_EQ(g.graph().nodes.size(), 1u);
  EXPECT_EQ(g.graph().nodes[0].op, Op::Identity);
  EXPECT_NE(g.graph().outputs[0], x);
  EXPECT_EQ(g.graph().tensor(g.graph().outputs[0]).name, "x");
  EXPECT_EQ(g.graph().tensor(x).name, "x");
}

// Shape-dependent constants: their bytes are in their names, so packed weights made of them are not mixed up after a
// resize.
TEST(PrepareGraph, FoldedConstantsAreNamedByContent) {
  std::string names[2];
  for (const int64_t n : {2, 3}) {
    GraphBuilder g;
    const TensorId x = g.input("x", {-1, 2});
    const TensorId shape = g.node(Op::Shape, {x}, {2}, DType::Int64);
    const TensorId as_float = g.node(Op::Cast, {shape}, {2});
    g.attrs<schema::CastAttrsT>().to = DType::Float32;
    g.graph().tensor(as_float).name = "k";
    g.output(g.node(Op::Mul, {x, as_float}, {-1, 2}));
    ASSERT_TRUE(prepare_graph(g.model, {{"x", {n, 2}}}, runtime_evaluator()).ok());
    for (const Tensor& t : g.graph().tensors) {
      if (t.is_constant()) names[n - 2] = t.name;
    }
  }
  EXPECT_THAT(names[0], HasSubstr("k@"));
  EXPECT_NE(names[0], names[1]);
}

}  // namespace
}  // namespace lq
