// infer_shapes: folding of shape arithmetic, If replaced by its branch, branches that stay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "graph/fold_budget.h"
#include "graph/session_shapes.h"
#include "graph_builder.h"

namespace lq {
namespace {

using test::Builder;
using testing::HasSubstr;

/// Evaluates what these tests fold, on int64 (and Not on bool): enough to stand for the runtime's kernels.
Status evaluate_ints(void* calls, const ModelIr&, const Graph& graph, const Node& node, std::vector<Bytes>& outputs) {
  if (calls) ++*static_cast<int*>(calls);
  std::vector<std::vector<int64_t>> in;
  for (TensorId id : node.inputs) {
    if (auto values = constant_ints(graph, id)) in.push_back(*values);
  }
  std::vector<int64_t> out;
  switch (node.op) {
    case Op::Not: {
      const bool v = graph.tensor(node.inputs[0]).data.data()[0] == 0;
      outputs.push_back(*Bytes::copy_of(&v, 1));
      return {};
    }
    case Op::Equal: {
      const bool v = in[0] == in[1];
      outputs.push_back(*Bytes::copy_of(&v, 1));
      return {};
    }
    case Op::Gather:
      for (int64_t i : in[1]) out.push_back(in[0][size_t(i)]);
      break;
    case Op::Concat:
      for (auto& v : in) out.insert(out.end(), v.begin(), v.end());
      break;
    case Op::Mul:
      out = {in[0][0] * in[1][0]};
      break;
    case Op::Unsqueeze:
    case Op::Identity:
      out = in[0];
      break;
    default:
      return unsupported("not in this test");
  }
  outputs.push_back(*Bytes::copy_of(out.data(), out.size() * 8));
  return {};
}

TEST(Fold, ShapeArithmeticFeedsReshape) {
  // y = Reshape(x, [Shape(x)[0], Shape(x)[1] * 2, -1]) as exporters spell it.
  ModelIr model;
  Builder b(model);
  const TensorId x = b.input("x", {4, 6, 8});
  const TensorId shape = b.call(Op::Shape, {x});
  auto dim = [&](int64_t i) { return b.call(Op::Gather, {shape, b.scalar(i)}); };
  auto vector = [&](TensorId s) { return b.call(Op::Unsqueeze, {s, b.ints({0})}); };
  const TensorId twice = b.call(Op::Mul, {dim(1), b.scalar(2)});
  const TensorId target = b.call(Op::Concat, {vector(dim(0)), vector(twice), b.ints({-1})});
  const TensorId y = b.call(Op::Reshape, {x, target});
  b.graph().outputs = {y};

  int calls = 0;
  const Evaluator evaluator{evaluate_ints, &calls};
  const Status s = infer_shapes(model, &evaluator);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(b.graph().tensor(y).shape, (Shape{4, 12, 4}));
  ASSERT_EQ(b.graph().nodes.size(), 1u);  // only the Reshape is left
  EXPECT_EQ(b.graph().nodes[0].op, Op::Reshape);
  EXPECT_EQ(calls, 6);  // Shape itself needs no evaluation
  EXPECT_EQ(constant_ints(b.graph(), target), (std::vector<int64_t>{4, 12, -1}));
}

TEST(Fold, UnknownDimsStayOpen) {
  ModelIr model;
  Builder b(model);
  const TensorId x = b.input("x", {-1, 6, 8});
  schema::ShapeAttrsT tail;
  tail.start = 1;
  const TensorId known = b.call(Op::Shape, {x}, tail);
  const TensorId unknown = b.call(Op::Shape, {x});
  const TensorId size = b.call(Op::Size, {x});
  const Evaluator evaluator{evaluate_ints, nullptr};
  ASSERT_TRUE(infer_shapes(model, &evaluator).ok());
  EXPECT_EQ(constant_ints(b.graph(), known), (std::vector<int64_t>{6, 8}));
  EXPECT_FALSE(b.graph().tensor(unknown).is_constant());
  EXPECT_FALSE(b.graph().tensor(size).is_constant());
}

TEST(Fold, QuantizedConstantsAreNeverDequantizedAway) {
  ModelIr model;
  Builder b(model);
  const TensorId w = b.constant<int8_t>(DType::Int8, {2}, {1, -1});
  b.graph().tensor(w).quant = per_channel_weights({0.5f, 0.25f}, 0);
  const TensorId f = b.call(Op::DequantizeLinear, {w});
  b.graph().outputs = {f};
  int calls = 0;
  const Evaluator evaluator{evaluate_ints, &calls};
  ASSERT_TRUE(infer_shapes(model, &evaluator).ok());
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(b.graph().nodes.size(), 1u);
  EXPECT_EQ(b.graph().tensor(f).dtype, DType::Float32);
}

TEST(Fold, BudgetAndUnsupportedKeepTheNode) {
  ModelIr model;
  Builder b(model);
  const TensorId a = b.call(Op::Expand, {b.ints({1}), b.ints({int64_t(FoldBudget::kSmall) / 8 + 1})});
  const TensorId f = b.call(Op::Exp, {b.floats({1})});  // the evaluator answers kUnsupported
  b.graph().outputs = {a, f};
  const Evaluator evaluator{evaluate_ints, nullptr};
  ASSERT_TRUE(infer_shapes(model, &evaluator).ok());
  EXPECT_EQ(b.graph().nodes.size(), 2u);
}

/// if (cond) { y = x + w; z = x } else { y = -x; z = 7 }; out = exp(y)
struct IfModel {
  ModelIr model;
  TensorId x, cond, y, z, out;
  IfModel(bool constant_condition, bool value) {
    model.graphs.resize(3);
    Builder b(model), then(model, 1), otherwise(model, 2);
    x = b.input("x", {2, 3});
    const TensorId w = b.floats({1, 2, 3});
    cond =
        constant_condition ? b.constant<uint8_t>(DType::Bool, {}, {uint8_t(value)}) : b.input("cond", {}, DType::Bool);
    y = b.tensor("y");
    z = b.tensor("z");
    Node& n = b.node(Op::If, {cond, x, w}, {y, z});
    n.name = "choose";
    n.subgraphs = {1, 2};
    out = b.call(Op::Exp, {y});
    b.call(Op::Neg, {z});
    b.graph().outputs = {out, z};
    for (Builder* g : {&then, &otherwise}) {
      g->graph().inputs = {g->tensor("x", DType::Float32), g->tensor("w", DType::Float32)};
    }
    then.graph().outputs = {then.call(Op::Add, {0, 1}), 0};
    otherwise.graph().outputs = {otherwise.call(Op::Neg, {0}), otherwise.constant<float>(DType::Float32, {1}, {7})};
  }
};

TEST(If, KnownConditionIsReplacedByItsBranch) {
  IfModel m(true, true);
  const Evaluator evaluator{evaluate_ints, nullptr};
  const Status s = infer_shapes(m.model, &evaluator);
  ASSERT_TRUE(s.ok()) << s.message();
  const Graph& g = m.model.main();
  EXPECT_EQ(m.model.graphs.size(), 1u);
  ASSERT_EQ(g.nodes.size(), 4u) << to_string(g);
  EXPECT_EQ(g.nodes[0].op, Op::Add);
  EXPECT_EQ(g.nodes[0].outputs[0], m.y);
  EXPECT_EQ(g.nodes[1].op, Op::Identity);  // z is a graph output and returns the captured x
  EXPECT_EQ(g.nodes[1].outputs[0], m.z);
  EXPECT_EQ(g.nodes[2].op, Op::Exp);
  EXPECT_EQ(g.nodes[3].inputs[0], m.x);  // other readers of z read x itself
  EXPECT_EQ(g.tensor(m.out).shape, (Shape{2, 3}));
  EXPECT_EQ(g.tensor(m.y).name, "y");
}

TEST(If, OtherBranchReturnsAConstant) {
  IfModel m(true, false);
  const Evaluator evaluator{evaluate_ints, nullptr};
  ASSERT_TRUE(infer_shapes(m.model, &evaluator).ok());
  const Graph& g = m.model.main();
  EXPECT_EQ(g.nodes[0].op, Op::Neg);
  EXPECT_EQ(constant_floats(g, m.z), (std::vector<float>{7}));
  EXPECT_EQ(g.tensor(m.z).name, "z");
}

TEST(If, UnknownConditionInfersBothBranches) {
  IfModel m(false, false);
  ASSERT_TRUE(infer_shapes(m.model, nullptr).ok());
  ASSERT_EQ(m.model.graphs.size(), 3u);
  const Graph& then = m.model.graphs[1];
  EXPECT_EQ(then.tensor(then.outputs[0]).shape, (Shape{2, 3}));
  EXPECT_EQ(constant_floats(then, then.inputs[1]), (std::vector<float>{1, 2, 3}));  // a captured constant is one inside
  EXPECT_EQ(m.model.main().tensor(m.out).shape, (Shape{2, 3}));
  EXPECT_FALSE(m.model.main().tensor(m.z).ranked);  // [2,3] in one branch, [1] in the other
}

TEST(If, ConditionComputedFromShapesAndNested) {
  // if (Shape(x)[0] == 2) { if (cond') ... } with the inner condition constant in the branch.
  ModelIr model;
  model.graphs.resize(5);
  Builder b(model), then(model, 1), otherwise(model, 2), inner_then(model, 3), inner_else(model, 4);
  const TensorId x = b.input("x", {2, 3});
  const TensorId dim = b.call(Op::Gather, {b.call(Op::Shape, {x}), b.scalar(0)});
  const TensorId cond = b.call(Op::Equal, {dim, b.scalar(2)});
  const TensorId y = b.tensor("y");
  b.node(Op::If, {cond, x}, {y}).subgraphs = {1, 2};
  b.graph().outputs = {y};
  for (Builder* g : {&then, &otherwise, &inner_then, &inner_else}) g->graph().inputs = {g->tensor("x")};
  const TensorId no = then.call(Op::Not, {then.constant<uint8_t>(DType::Bool, {}, {1})});
  const TensorId inner = then.tensor("inner");
  then.node(Op::If, {no, 0}, {inner}).subgraphs = {3, 4};
  then.graph().outputs = {inner};
  otherwise.graph().outputs = {otherwise.call(Op::Neg, {0})};
  inner_then.graph().outputs = {inner_then.call(Op::Exp, {0})};
  inner_else.graph().outputs = {inner_else.call(Op::Log, {0})};
  const Evaluator evaluator{evaluate_ints, nullptr};
  const Status s = infer_shapes(model, &evaluator);
  ASSERT_TRUE(s.ok()) << s.message();
  ASSERT_EQ(model.main().nodes.size(), 1u) << to_string(model.main());
  EXPECT_EQ(model.main().nodes[0].op, Op::Log);
  EXPECT_EQ(model.main().nodes[0].outputs[0], y);
  EXPECT_EQ(model.main().tensor(y).shape, (Shape{2, 3}));
}

// MatMul of x [2,3] with itself: inner dims 3 and 2 differ, so the then branch is invalid (ONNX MatMul, as numpy).
TEST(If, BranchThatDoesNotFitIsMarkedInASession) {
  IfModel m(false, false);
  Builder then(m.model, 1);
  then.graph().nodes[0].op = Op::MatMul;
  then.graph().nodes[0].name = "mm";
  then.graph().nodes[0].inputs = {0, 0};
  const Evaluator evaluator{evaluate_ints, nullptr};
  ModelIr strict = m.model;
  EXPECT_THAT(infer_shapes(strict, &evaluator).message(), HasSubstr("MatMul 'mm'"));  // the toolchain writes it back
  for (int call = 0; call < 2; ++call) {
    const Status s = infer_session_shapes(m.model, evaluator);
    ASSERT_TRUE(s.ok()) << s.message();
    ASSERT_EQ(m.model.graphs.size(), 3u);
    EXPECT_THAT(m.model.graphs[1].unusable, HasSubstr("MatMul 'mm'"));
    EXPECT_TRUE(m.model.graphs[1].nodes.empty());
    EXPECT_EQ(m.model.graphs[2].unusable, "");
    EXPECT_EQ(m.model.main().tensor(m.out).shape, (Shape{2, 3}));  // as the else branch gives them
    EXPECT_EQ(m.model.main().tensor(m.z).shape, (Shape{1}));
  }
  // A condition that becomes known later and chooses the marked branch is an error then.
  m.model.main().tensor(m.cond).data = *Bytes::copy_of("\1", 1);
  const std::string message = infer_session_shapes(m.model, evaluator).message();
  EXPECT_THAT(message, HasSubstr("then branch"));
  EXPECT_THAT(message, HasSubstr("MatMul 'mm'"));
}

TEST(If, BothBranchesFailingIsAnErrorInASessionToo) {
  IfModel m(false, false);
  for (size_t g : {1, 2}) {
    Node& node = m.model.graphs[g].nodes[0];
    node.op = Op::MatMul;
    node.name = g == 1 ? "first" : "second";
    node.inputs = {0, 0};
  }
  const Evaluator evaluator{evaluate_ints, nullptr};
  const std::string message = infer_session_shapes(m.model, evaluator).message();
  EXPECT_THAT(message, HasSubstr("If 'choose'"));
  EXPECT_THAT(message, HasSubstr("MatMul 'first'"));
  EXPECT_THAT(message, HasSubstr("MatMul 'second'"));
}

TEST(Infer, ErrorsNameTheNode) {
  ModelIr model;
  Builder b(model);
  b.call(Op::Add, {b.input("a", {2}), b.input("b", {3})});
  b.graph().nodes[0].name = "sum";
  EXPECT_EQ(infer_shapes(model, nullptr).message(), "Add 'sum': shapes [2] and [3] do not broadcast");
  ModelIr branches;
  Builder c(branches);
  branches.graphs.resize(2);
  c.node(Op::If, {c.input("c", {}, DType::Bool)}, {c.tensor("y")}).subgraphs = {1, 0};
  EXPECT_THAT(infer_shapes(branches, nullptr).message(), HasSubstr("branch"));
}

TEST(Infer, FusedOperatorsKeepTheirQuantizedType) {
  ModelIr model;
  Builder b(model);
  const TensorId x = b.input("x", {1, 8, 4, 4}, DType::Int8);
  b.graph().tensor(x).quant = per_tensor_params(DType::Int8, 0.5f, 3);
  const TensorId w = b.constant<int8_t>(DType::Int8, {2, 8, 1, 1}, std::vector<int8_t>(16, 1));
  b.graph().tensor(w).quant = per_channel_weights({1, 1}, 0);
  const TensorId bias = b.constant<int32_t>(DType::Int32, {2}, {1, 2});
  const TensorId y = b.call(Op::Conv, {x, w, bias}), f = b.call(Op::Conv, {x, w, bias});
  b.graph().tensor(y).quant = per_tensor_params(DType::Int8, 1, 0);
  const Status s = infer_shapes(model, nullptr);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(b.graph().tensor(y).dtype, DType::Int8);
  EXPECT_EQ(b.graph().tensor(f).dtype, DType::Float32);
  EXPECT_EQ(b.graph().tensor(f).shape, (Shape{1, 2, 4, 4}));
}

}  // namespace
}  // namespace lq
