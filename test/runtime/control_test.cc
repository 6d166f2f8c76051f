// If: two planned branches, one region of the arena, chosen in run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graphs.h"
#include "runtime/pack_cache.h"
#include "runtime/plan.h"

namespace lq {
namespace {

using ::testing::ElementsAre;
using testing::get_output;
using testing::GraphBuilder;
using ::testing::HasSubstr;
using testing::make_graph;
using testing::make_model;
using testing::make_session;
using testing::set_input;

TensorId add_if(GraphBuilder& g, std::vector<TensorId> inputs, Shape shape) {
  const TensorId y = g.node(Op::If, std::move(inputs), std::move(shape));
  g.graph().nodes.back().subgraphs = {1, 2};
  return y;
}

/// cond ? (x·w) + 1 : -x, with w an outer constant: captured, so a branch input (public fault: such weights got lost).
ModelIr if_model(Shape else_shape = {2, 2}) {
  GraphBuilder g;
  const TensorId cond = g.input("cond", {}, DType::Bool);
  const TensorId x = g.input("x", {2, 2});
  const TensorId w = g.floats("w", {2, 2}, {1, 2, 3, 4});
  const TensorId y = add_if(g, {cond, g.node(Op::Abs, {x}, {2, 2}), w}, {2, 2});
  g.output(g.node(Op::Neg, {y}, {2, 2}));
  g.model.graphs.push_back(make_graph([](GraphBuilder& b) {
    const TensorId bx = b.input("x_then", {2, 2}), bw = b.input("w_then", {2, 2});
    b.output(b.node(Op::Add, {b.node(Op::MatMul, {bx, bw}, {2, 2}), b.floats("one", {1}, {1})}, {2, 2}));
  }));
  g.model.graphs.push_back(make_graph([&](GraphBuilder& b) {
    const TensorId bx = b.input("x_else", {2, 2});
    b.input("w_else", {2, 2});
    const TensorId y = b.node(Op::Neg, {bx}, {2, 2});
    b.output(else_shape == Shape{2, 2} ? y : b.node(Op::Flatten, {y}, else_shape));
  }));
  return g.model;
}

TEST(If, BranchIsChosenInRun) {
  auto s = make_session(make_model(if_model()));
  set_input<float>(*s, 1, {1, -1, 2, 0});
  set_input<uint8_t>(*s, 0, {1});
  ASSERT_TRUE(s->run().ok());
  // |x| = [1 1; 2 0], times w = [4 6; 2 4], + 1, negated.
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(-5, -7, -3, -5));
  set_input<uint8_t>(*s, 0, {0});
  ASSERT_TRUE(s->run().ok());
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(1, 1, 2, 0));
}

TEST(If, BranchesOfDifferentShapeAreAnErrorAtPlanning) {
  const auto s = Session::create(make_model(if_model({1, 4})), {});
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.status().message(), HasSubstr("If"));
}

TEST(If, KnownConditionLeavesNoIf) {
  ModelIr ir = if_model();
  Graph& g = ir.main();
  const uint8_t yes = 1;
  g.tensor(g.inputs[0]).data = *Bytes::copy_of(&yes, 1);
  g.inputs.erase(g.inputs.begin());
  auto s = make_session(make_model(ir));
  for (const Step& step : s->steps()) EXPECT_NE(step.op, Op::If);
  set_input<float>(*s, 0, {1, -1, 2, 0});
  ASSERT_TRUE(s->run().ok());
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(-5, -7, -3, -5));
}

// A branch may hand through what it captured, a constant, or one value twice: each If output is written all the same.
/// cond ? dq(q(x))·dq(w) : x, the product in the branch, its int8 weights w [k, 1] outside. `inner_dq`: the branch
/// dequantizes w, otherwise it captures the dequantized value.
ModelIr captured_weights(int64_t k, int8_t value, int zero_point, bool inner_dq, bool known) {
  GraphBuilder g;
  const TensorId cond = known ? TensorId(g.graph().tensors.size()) : g.input("cond", {}, DType::Bool);
  const uint8_t yes = 1;
  if (known) g.graph().add_constant("cond", DType::Bool, {}, &yes);
  const TensorId x = g.input("x", {1, k});
  const std::vector<int8_t> values(size_t(k), value);
  const TensorId w = g.graph().add_constant("w", DType::Int8, {k, 1}, values.data());
  g.graph().tensor(w).quant = per_tensor_params(DType::Int8, 0.5f, zero_point);
  const TensorId xq = g.through_int8(x, 0.25f, 127);  // |q - zp| up to 255
  g.output(add_if(g, {cond, xq, inner_dq ? w : g.dequantize(w)}, {1, 1}));
  g.model.graphs.push_back(make_graph([&](GraphBuilder& b) {
    const TensorId bx = b.input("x_then", {1, k});
    const TensorId bw = b.tensor("w_then", inner_dq ? DType::Int8 : DType::Float32, {k, 1});
    b.graph().inputs.push_back(bw);
    if (inner_dq) b.graph().tensor(bw).quant = per_tensor_params(DType::Int8, 0.5f, zero_point);
    const TensorId own = b.through_int8(bx, 0.25f, 127);
    b.output(b.node(Op::MatMul, {own, inner_dq ? b.dequantize(bw) : bw}, {1, 1}));
  }));
  g.model.graphs.push_back(make_graph([&](GraphBuilder& b) {
    const TensorId bx = b.input("x_else", {1, k});
    b.graph().inputs.push_back(b.tensor("w_else", inner_dq ? DType::Int8 : DType::Float32, {k, 1}));
    if (inner_dq) b.graph().tensor(b.graph().inputs[1]).quant = per_tensor_params(DType::Int8, 0.5f, zero_point);
    b.output(b.node(Op::ReduceSum, {bx, b.ints("axis", {1})}, {1, 1}));
  }));
  return g.model;
}

TEST(If, CapturedWeightsAreBoundByTheRulesOfProducts) {
  // 255 · 127 · 66500 > 2^31 > 255 · 127 · 66000 (2^31 / 32385 = 66311.1).
  constexpr int64_t kFits = 66000, kTooMany = 66500;
  for (const bool known : {false, true}) {
    SCOPED_TRACE(known);
    const auto refusal = [&](const ModelIr& ir) {
      const Result<std::unique_ptr<Session>> s = Session::create(make_model(ir), {});
      return s.ok() ? std::string() : s.status().message();
    };
    EXPECT_EQ(refusal(captured_weights(kFits, 127, 0, true, known)), "");
    EXPECT_THAT(refusal(captured_weights(kTooMany, 127, 0, true, known)), HasSubstr("32-bit accumulator"));
    EXPECT_THAT(refusal(captured_weights(4, 1, 3, true, known)), HasSubstr("zero point 0"));
    EXPECT_THAT(refusal(captured_weights(4, -128, 0, true, known)), HasSubstr("-127...127"));
  }
  // Dequantized outside, the product becomes one of integers once the branch stands in its If's place.
  const auto inlined = Session::create(make_model(captured_weights(kTooMany, 127, 0, false, true)), {});
  ASSERT_FALSE(inlined.ok());
  EXPECT_THAT(inlined.status().message(), HasSubstr("32-bit accumulator"));
}

TEST(If, BranchesThatComputeNothing) {
  GraphBuilder g;
  const TensorId cond = g.input("cond", {1}, DType::Bool);
  const TensorId x = g.input("x", {2});
  const TensorId y = add_if(g, {cond, x}, {2});
  const TensorId z = g.tensor("z", DType::Float32, {2});
  g.graph().nodes.back().outputs.push_back(z);
  g.output(y);
  g.output(z);
  g.model.graphs.push_back(make_graph([](GraphBuilder& b) {
    const TensorId bx = b.input("x_then", {2});
    b.output(bx);
    b.output(b.floats("k", {2}, {7, 8}));
  }));
  g.model.graphs.push_back(make_graph([](GraphBuilder& b) {
    const TensorId n = b.node(Op::Neg, {b.input("x_else", {2})}, {2});
    b.output(n);
    b.output(n);
  }));
  auto s = make_session(make_model(g.model));
  set_input<float>(*s, 1, {1, 2});
  set_input<uint8_t>(*s, 0, {1});
  ASSERT_TRUE(s->run().ok());
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(1, 2));
  EXPECT_THAT(get_output<float>(*s, 1), ElementsAre(7, 8));
  set_input<uint8_t>(*s, 0, {0});
  ASSERT_TRUE(s->run().ok());
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(-1, -2));
  EXPECT_THAT(get_output<float>(*s, 1), ElementsAre(-1, -2));
}

// A branch that does not fit the shapes is an error when it is reached, and only then.
TEST(If, UnusableBranchFailsOnlyWhenChosen) {
  ModelIr ir = if_model();
  Graph& unusable = ir.graphs[2];
  unusable.nodes.clear();
  unusable.unusable = "LSTM 'rnn': input 0 has rank 5";
  SharedPackCache packs(default_allocator());
  auto plan = Plan::build(ir, 0, PlanOptions{Isa::kScalar, 1, &packs});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto arena = Buffer::allocate((*plan)->arena_bytes(), "arena");
  auto pool = ThreadPool::create(1);
  ASSERT_TRUE(arena.ok() && pool.ok());
  uint8_t cond = 1;
  float x[4] = {1, -1, 2, 0}, y[4] = {};
  void* inputs[] = {&cond, x};
  void* outputs[] = {y};
  (*plan)->bind(arena->data(), inputs, outputs);
  ASSERT_TRUE((*plan)->run(**pool, nullptr).ok());
  EXPECT_THAT(y, ElementsAre(-5, -7, -3, -5));
  cond = 0;
  const Status status = (*plan)->run(**pool, nullptr);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("else branch"));
  EXPECT_THAT(status.message(), HasSubstr("rank 5"));
}

/// cond ? Add(x, three) : Add(x, two); x is [n], so at most one branch fits. (ONNX broadcasting: [2] + [3] is invalid.)
ModelIr if_by_length() {
  GraphBuilder g;
  const TensorId cond = g.input("cond", {}, DType::Bool);
  const TensorId x = g.input("x", {-1});
  g.output(add_if(g, {cond, x}, {-1}));
  for (const std::vector<float>& k : {std::vector<float>{1, 2, 3}, std::vector<float>{10, 20}}) {
    g.model.graphs.push_back(make_graph([&](GraphBuilder& b) {
      const TensorId bx = b.input("bx", {-1});
      b.output(b.node(Op::Add, {bx, b.floats("k", {int64_t(k.size())}, k)}, {-1}));
      b.graph().nodes.back().name = "add" + std::to_string(k.size());
    }));
  }
  return g.model;
}

// One branch fails shape inference (public fault: a branch per sample rate): planned all the same, and a resize to the
// other branch's length swaps their roles.
TEST(If, BranchThatDoesNotFitTheInputWaitsUntilChosen) {
  const auto model = make_model(if_by_length());
  SessionOptions options;
  options.input_shapes = {{"x", {3}}};
  auto created = Session::create(model, options);
  ASSERT_TRUE(created.ok()) << created.status().message();
  Session& s = **created;
  set_input<float>(s, 1, {1, 1, 1});
  set_input<uint8_t>(s, 0, {1});
  ASSERT_TRUE(s.run().ok());
  EXPECT_THAT(get_output<float>(s, 0), ElementsAre(2, 3, 4));
  set_input<uint8_t>(s, 0, {0});
  const Status status = s.run();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("else branch"));
  EXPECT_THAT(status.message(), HasSubstr("Add 'add2'"));
  ASSERT_TRUE(s.resize({{"x", {2}}}).ok());
  set_input<float>(s, 1, {1, 1});
  set_input<uint8_t>(s, 0, {0});
  ASSERT_TRUE(s.run().ok());
  EXPECT_THAT(get_output<float>(s, 0), ElementsAre(11, 21));
  set_input<uint8_t>(s, 0, {1});
  EXPECT_THAT(s.run().message(), HasSubstr("Add 'add3'"));
}

TEST(If, NoFittingBranchIsAnErrorAtPlanning) {
  SessionOptions options;
  options.input_shapes = {{"x", {4}}};
  const auto s = Session::create(make_model(if_by_length()), options);
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.status().message(), HasSubstr("Add 'add3'"));
  EXPECT_THAT(s.status().message(), HasSubstr("Add 'add2'"));
}

// Shapes fit, but the runtime has no way to execute one branch: found while that branch is planned.
TEST(If, BranchThatCannotBePlannedWaitsUntilChosen) {
  ModelIr ir = if_model();
  Graph& otherwise = ir.graphs[2];
  Node& custom = otherwise.nodes.back();
  custom.op = Op::Custom;
  custom.name = "mystery";
  mutable_attrs<schema::CustomAttrsT>(custom).name = "Mystery";
  auto s = make_session(make_model(ir));
  set_input<float>(*s, 1, {1, -1, 2, 0});
  set_input<uint8_t>(*s, 0, {1});
  ASSERT_TRUE(s->run().ok());
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(-5, -7, -3, -5));
  set_input<uint8_t>(*s, 0, {0});
  const Status status = s->run();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("else branch"));
  EXPECT_THAT(status.message(), HasSubstr("mystery"));
}

}  // namespace
}  // namespace lq
