// Sessions on small models: values by hand, memory sharing, resize, errors a user meets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graphs.h"

namespace lq {
namespace {

using ::testing::ElementsAre;
using testing::get_output;
using testing::GraphBuilder;
using ::testing::HasSubstr;
using testing::make_model;
using testing::make_session;
using testing::set_input;

TEST(Session, ElementwiseChain) {
  GraphBuilder g;
  const TensorId x = g.input("x", {4});
  g.output(g.node(Op::Relu, {g.node(Op::Add, {x, g.floats("c", {4}, {1, -3, 0, 2})}, {4})}, {4}));
  auto s = make_session(make_model(g.model));
  set_input<float>(*s, 0, {1, 2, 3, -4});
  ASSERT_TRUE(s->run().ok());
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(2, 0, 3, 0));
  EXPECT_EQ(s->steps().size(), 1u);  // the Relu is in the Add
}

// 1x1 Conv by hand: y0 = 1·x0 + 2·x1 + 10, y1 = 3·x0 + 4·x1 + 20.
TEST(Session, ConvInBlockedLayout) {
  GraphBuilder g;
  const TensorId x = g.input("x", {1, 2, 1, 2});
  const TensorId y =
      g.node(Op::Conv, {x, g.floats("w", {2, 2, 1, 1}, {1, 2, 3, 4}), g.floats("b", {2}, {10, 20})}, {1, 2, 1, 2});
  g.output(y);
  auto s = make_session(make_model(g.model));
  set_input<float>(*s, 0, {1, 2, 10, 20});
  ASSERT_TRUE(s->run().ok());
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(31, 52, 63, 106));
}

// The same Conv in int8: scales of x 1, w 1, y 2; y = rint(acc / 2), ties to even.
TEST(Session, Int8ConvWithReluAndShare) {
  GraphBuilder g;
  const TensorId x = g.through_int8(g.input("x", {1, 2, 1, 2}), 1.0f, 0);
  const TensorId w = g.weights("w", {2, 2, 1, 1}, {1, 2, -3, -4}, {1, 1}, 0);
  const TensorId y = g.node(Op::Conv, {x, w, g.bias("b", {10, 20}, {1, 1})}, {1, 2, 1, 2});
  const TensorId relu = g.node(Op::Relu, {y}, {1, 2, 1, 2});
  g.output(g.dequantize(g.quantize(relu, per_tensor_params(DType::Int8, 2.0f, -128))));
  auto s = make_session(make_model(g.model));
  set_input<float>(*s, 0, {1, 2, 10, 20});
  ASSERT_TRUE(s->run().ok());
  // acc: 31, 52, 20 − 3 − 40 = −23, 20 − 6 − 80 = −66 -> rint(15.5) = 16, 26, 0, 0, times 2.
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(32, 52, 0, 0));
  EXPECT_EQ(s->int8_mac_share(), 1.0);
}

TEST(Session, ReshapesShareStorageAndOutputsStayApart) {
  GraphBuilder g;
  const TensorId x = g.input("x", {2, 3});
  const TensorId a = g.node(Op::Neg, {x}, {2, 3});
  const TensorId b = g.node(Op::Reshape, {a, g.ints("shape", {3, 2})}, {3, 2});
  const TensorId c = g.node(Op::Flatten, {b}, {1, 6});
  g.output(g.node(Op::Abs, {c}, {1, 6}));
  g.output(c);                                 // a view as graph output: Neg writes into its buffer
  g.output(g.node(Op::Flatten, {x}, {1, 6}));  // a view of an input needs a copy
  g.output(x);                                 // so does an input itself
  auto s = make_session(make_model(g.model));
  set_input<float>(*s, 0, {1, -2, 3, -4, 5, -6});
  ASSERT_TRUE(s->run().ok());
  set_input<float>(*s, 0, {0, 0, 0, 0, 0, 0});  // outputs must not see this
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(get_output<float>(*s, 1), ElementsAre(-1, 2, -3, 4, -5, 6));
  EXPECT_THAT(get_output<float>(*s, 2), ElementsAre(1, -2, 3, -4, 5, -6));
  EXPECT_THAT(get_output<float>(*s, 3), ElementsAre(1, -2, 3, -4, 5, -6));
  EXPECT_EQ(s->steps().size(), 4u);  // Neg, Abs, two copies of x
}

TEST(Session, ConstantAndRepeatedOutputs) {
  GraphBuilder g;
  const TensorId y = g.node(Op::Neg, {g.input("x", {2})}, {2});
  g.output(y);
  g.output(y);
  g.output(g.floats("k", {2}, {7, 8}));
  auto s = make_session(make_model(g.model));
  set_input<float>(*s, 0, {1, 2});
  ASSERT_TRUE(s->run().ok());
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(-1, -2));
  EXPECT_THAT(get_output<float>(*s, 1), ElementsAre(-1, -2));
  EXPECT_THAT(get_output<float>(*s, 2), ElementsAre(7, 8));
}

GraphBuilder dynamic_conv() {
  GraphBuilder g;
  const TensorId x = g.input("x", {-1, 2, -1, -1});
  g.graph().tensor(x).dim_names = {"N", "", "height", ""};
  const TensorId y = g.node(Op::Conv, {x, g.floats("w", {2, 2, 1, 1}, {1, 2, 3, 4})}, {-1, 2, -1, -1});
  // Flatten by shape arithmetic, as exporters write it: Reshape to [Shape(x)[0], -1].
  const TensorId shape = g.node(Op::Shape, {y}, {4}, DType::Int64);
  const TensorId n = g.node(Op::Slice, {shape, g.ints("s0", {0}), g.ints("s1", {1})}, {1}, DType::Int64);
  const TensorId target = g.node(Op::Concat, {n, g.ints("rest", {-1})}, {2}, DType::Int64);
  g.output(g.node(Op::Reshape, {y, target}, {-1, -1}));
  return g;
}

TEST(Session, FreeDimensionsAreResolvedAndResized) {
  GraphBuilder g = dynamic_conv();
  auto model = make_model(g.model);
  SessionOptions options;
  options.input_shapes["x"] = {1, 2, 1, 2};
  auto s = make_session(model, options);
  set_input<float>(*s, 0, {1, 2, 10, 20});
  ASSERT_TRUE(s->run().ok());
  EXPECT_EQ(s->output(0).shape, (Shape{1, 4}));
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(21, 42, 43, 86));

  ASSERT_TRUE(s->resize({{"x", {2, 2, 1, 1}}}).ok());
  set_input<float>(*s, 0, {1, 10, 2, 20});
  ASSERT_TRUE(s->run().ok());
  EXPECT_EQ(s->output(0).shape, (Shape{2, 2}));
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(21, 43, 42, 86));

  const Status bad = s->resize({{"x", {2, 3, 1, 1}}});  // channels are fixed
  EXPECT_EQ(bad.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(bad.message(), HasSubstr("dimension 1 must be 2"));
  ASSERT_TRUE(s->run().ok());  // the old plan still stands
  EXPECT_EQ(s->output(0).shape, (Shape{2, 2}));
}

TEST(Session, FreeDimensionMustBeGiven) {
  GraphBuilder g = dynamic_conv();
  const auto s = Session::create(make_model(g.model), {});
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.status().message(), HasSubstr("input 'x'"));
  EXPECT_THAT(s.status().message(), HasSubstr("dimension 2 ('height')"));
}

TEST(Session, UnknownInputNameListsTheRealOnes) {
  GraphBuilder g = dynamic_conv();
  SessionOptions options;
  options.input_shapes["y"] = {1};
  const auto s = Session::create(make_model(g.model), options);
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.status().message(), HasSubstr("'x'"));
}

TEST(Session, AllocatorFailureIsAStatusWithTheSize) {
  GraphBuilder g;
  g.output(g.node(Op::Neg, {g.input("x", {1000})}, {1000}));
  SessionOptions options;
  options.allocator.allocate = [](void*, size_t, size_t) -> void* { return nullptr; };
  options.allocator.release = [](void*, void*, size_t) {};
  const auto s = Session::create(make_model(g.model), options);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.status().code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(s.status().message(), ::testing::ContainsRegex("4[0-9]+"));  // 4000 bytes and padding
}

TEST(Session, HugeTensorsAreRefusedNotOverflown) {
  GraphBuilder g;
  constexpr int64_t kSide = int64_t(1) << (sizeof(size_t) == 8 ? 20 : 14);  // more, and 32 bits refuse the model
  const TensorId x = g.input("x", {kSide, kSide});
  g.output(g.node(Op::Neg, {x}, {kSide, kSide}));
  SessionOptions options;
  options.allocator.allocate = [](void*, size_t, size_t) -> void* { return nullptr; };
  const auto s = Session::create(make_model(g.model), options);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.status().code(), StatusCode::kOutOfMemory);
}

TEST(Session, ProfileHasOneTimeAStep) {
  GraphBuilder g;
  const TensorId x = g.input("x", {2, 2});
  g.output(g.node(Op::Softmax, {g.node(Op::MatMul, {x, g.floats("w", {2, 2}, {1, 0, 0, 1})}, {2, 2})}, {2, 2}));
  auto s = make_session(make_model(g.model));
  std::vector<StepTime> times;
  ASSERT_TRUE(s->run_profiled(times).ok());
  ASSERT_EQ(times.size(), s->steps().size());
  for (const StepTime& t : times) EXPECT_GE(t.milliseconds, 0);
  EXPECT_EQ(s->int8_mac_share(), 0.0);
}

TEST(Session, SessionsOfOneModelShareTheirPacks) {
  GraphBuilder g;
  const TensorId x = g.input("x", {1, 8, 4, 4});
  g.output(g.node(Op::Conv, {x, g.floats("w", {8, 8, 3, 3}, std::vector<float>(576, 0.5f))}, {1, 8, 2, 2}));
  auto model = make_model(g.model);
  int fills = 0;
  auto first = make_session(model), second = make_session(model);
  // A key both have used is not filled again; a new one is.
  ASSERT_TRUE(model->packs().get("unused", 64, [&](void*) { ++fills; }).ok());
  EXPECT_EQ(fills, 1);
  for (Session* s : {first.get(), second.get()}) {
    set_input<float>(*s, 0, std::vector<float>(128, 1.0f));
    ASSERT_TRUE(s->run().ok());
    EXPECT_EQ(get_output<float>(*s, 0), std::vector<float>(32, 36.0f));  // 72 taps of 0.5
  }
}

TEST(Model, RefusesWhatItCannotRunExactly) {
  GraphBuilder g;
  g.output(g.node(Op::Neg, {g.input("x", {1})}, {1}));
  ModelIr integer = g.model;
  integer.arithmetic = schema::ArithmeticMode::IntegerRequantize;
  EXPECT_EQ(Model::create(integer).status().code(), StatusCode::kUnsupported);
  ModelIr future = g.model;
  future.semantics_version = 2;
  EXPECT_EQ(Model::create(future).status().code(), StatusCode::kUnsupported);
  ModelIr broken = g.model;
  broken.main().nodes[0].inputs[0] = 77;
  EXPECT_EQ(Model::create(broken).status().code(), StatusCode::kCorrupt);
}

TEST(Model, NamesBecomeUniqueAndConstantsAligned) {
  GraphBuilder g;
  const TensorId x = g.input("x", {2});
  alignas(16) static const uint8_t raw[16] = {0, 0, 0, 128, 63, 0, 0, 0, 64};  // 1.0f, 2.0f from byte 1 on
  const TensorId c = g.tensor("same", DType::Float32, {2});
  g.graph().tensor(c).data = Bytes(raw + 1, 8, nullptr);
  const TensorId a = g.node(Op::Add, {x, c}, {2});
  g.graph().tensor(a).name = "same";
  const TensorId b = g.node(Op::Neg, {a}, {2});
  g.graph().tensor(b).name = "";
  g.output(g.node(Op::Neg, {b}, {2}));
  g.graph().tensor(g.graph().outputs[0]).name = "same";
  auto model = make_model(g.model);
  const Graph& graph = model->ir().main();
  std::set<std::string> names;
  for (const Tensor& t : graph.tensors) EXPECT_TRUE(!t.name.empty() && names.insert(t.name).second) << t.name;
  EXPECT_EQ(graph.tensor(graph.outputs[0]).name, "same");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(graph.tensor(c).data.data()) % 4, 0u);
  auto s = make_session(model);
  set_input<float>(*s, 0, {10, 20});
  ASSERT_TRUE(s->run().ok());
  EXPECT_THAT(get_output<float>(*s, 0), ElementsAre(11, 22));
}

TEST(Session, SmallMemoryChangesNoValue) {
  GraphBuilder g;
  const TensorId x = g.through_int8(g.input("x", {1, 64, 6, 6}), 0.5f, 3);
  std::vector<float> weights(64 * 64 * 9), scales(64, 0.25f);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = float(int(i * 37 % 255) - 127);
  const TensorId y =
      g.node(Op::Conv, {x, g.weights("w", {64, 64, 3, 3}, {weights.begin(), weights.end()}, scales, 0)}, {1, 64, 4, 4});
  g.output(g.dequantize(g.quantize(y, per_tensor_params(DType::Int8, 40.0f, -7))));
  const std::shared_ptr<Model> model = make_model(g.model);
  std::vector<float> input(64 * 36), first;
  for (size_t i = 0; i < input.size(); ++i) input[i] = float(int(i * 11 % 127) - 63);
  for (const MemoryUse memory : {MemoryUse::kDefault, MemoryUse::kSmall, MemoryUse::kSmall}) {
    SessionOptions options;
    options.memory = memory;
    auto s = make_session(memory == MemoryUse::kDefault ? make_model(g.model) : model, options);
    set_input<float>(*s, 0, input);
    ASSERT_TRUE(s->run().ok());
    if (first.empty()) first = get_output<float>(*s, 0);
    EXPECT_EQ(get_output<float>(*s, 0), first);
    ASSERT_TRUE(s->resize({{"x", {1, 64, 6, 6}}}).ok());  // reads the weights again
    set_input<float>(*s, 0, input);
    ASSERT_TRUE(s->run().ok());
    EXPECT_EQ(get_output<float>(*s, 0), first);
  }
}

}  // namespace
}  // namespace lq
