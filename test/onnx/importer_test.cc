// The importer's structure: names, scopes, order, constants, captures, quantized tensors, canonical forms.
#include "onnx/importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/op_def.h"
#include "onnx/model_maker.h"

namespace lq {
namespace {

using test::ModelMaker;
using test::ops_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Importer, ConvKeepsAttributesAndNames) {
  ModelMaker m(11);
  m.input("x", {1, 1, 4, 4});
  m.floats("w", {2, 1, 3, 3}, std::vector<float>(18, 0.5f));
  auto& n = m.node("Conv", {"x", "w"}, {"y"}, "conv1");
  test::set_ints(n, "pads", {0, 1, 2, 3});
  test::set_ints(n, "strides", {2, 1});
  test::set_int(n, "group", 1);
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Graph& g = model->main();
  ASSERT_EQ(g.nodes.size(), 1u);
  const auto& attrs = attrs_as<schema::ConvAttrsT>(g.nodes[0]);
  EXPECT_THAT(attrs.pads, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(attrs.strides, ElementsAre(2, 1));
  EXPECT_EQ(g.nodes[0].name, "conv1");
  EXPECT_EQ(g.tensor(g.outputs[0]).name, "y");
  // (4 + 0 + 2 - 3) / 2 + 1 = 2 rows, 4 + 1 + 3 - 3 + 1 = 6 columns
  EXPECT_EQ(g.tensor(g.outputs[0]).shape, (Shape{1, 2, 2, 6}));
}

TEST(Importer, OutOfOrderNodesAreSorted) {
  ModelMaker m(13);
  m.input("x", {2});
  m.node("Tanh", {"b"}, {"y"});
  m.node("Exp", {"a"}, {"b"});
  m.node("Relu", {"x"}, {"a"});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(ops_of(model->main()), ElementsAre(Op::Relu, Op::Exp, Op::Tanh));
}

TEST(Importer, InitializerListedAsInputIsAConstant) {
  ModelMaker m(13);
  m.input("x", {2});
  m.input("w", {2});
  m.floats("w", {2}, {1, 2});
  m.node("Add", {"x", "w"}, {"y"});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->main().inputs.size(), 1u);
}

TEST(Importer, OutputThatIsAnInputOrAConstantGetsAnIdentity) {
  ModelMaker m(13);
  m.input("x", {2});
  m.floats("c", {1}, {3});
  m.node("Relu", {"x"}, {"y"});
  for (const char* name : {"y", "x", "c"}) m.output(name);
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Graph& g = model->main();
  EXPECT_THAT(ops_of(g), ElementsAre(Op::Relu, Op::Identity, Op::Identity));
  ASSERT_EQ(g.outputs.size(), 3u);
  EXPECT_EQ(g.tensor(g.outputs[1]).name, "x");
  EXPECT_EQ(g.tensor(g.outputs[2]).name, "c");
  EXPECT_FALSE(g.tensor(g.outputs[2]).is_constant());
}

TEST(Importer, IdentityBeforeAWeightVanishes) {
  ModelMaker m(13);
  m.input("x", {1, 2});
  m.floats("w0", {2, 2}, {1, 2, 3, 4});
  m.node("Identity", {"w0"}, {"w"});
  m.node("MatMul", {"x", "w"}, {"y"});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(ops_of(model->main()), ElementsAre(Op::MatMul));
  EXPECT_TRUE(model->main().tensor(model->main().nodes[0].inputs[1]).is_constant());
}

TEST(Importer, NarrowFloatsBecomeFloat32) {
  ModelMaker m(13);
  m.input("x", {3}, onnx::TensorProto::FLOAT16);
  m.bytes("h", {3}, onnx::TensorProto::FLOAT16, {0x3c00, 0xc000, 0x0001});  // 1, −2, 2⁻²⁴
  auto& d = m.initializer("d", {1}, onnx::TensorProto::DOUBLE);
  d.add_double_data(0.1);
  m.bytes("b", {1}, onnx::TensorProto::BFLOAT16, {0x4049});  // 3.140625
  m.node("Add", {"x", "h"}, {"a"});
  m.node("Add", {"a", "d"}, {"c"});
  m.node("Add", {"c", "b"}, {"e"});
  test::set_int(m.node("Cast", {"e"}, {"y"}), "to", onnx::TensorProto::DOUBLE);
  m.output("y", onnx::TensorProto::DOUBLE);
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Graph& g = model->main();
  EXPECT_EQ(g.tensor(g.inputs[0]).dtype, DType::Float32);
  EXPECT_THAT(*constant_floats(g, g.nodes[0].inputs[1]), ElementsAre(1.0f, -2.0f, 0x1p-24f));
  EXPECT_THAT(*constant_floats(g, g.nodes[1].inputs[1]), ElementsAre(0.1f));
  EXPECT_THAT(*constant_floats(g, g.nodes[2].inputs[1]), ElementsAre(3.140625f));
  EXPECT_EQ(ops_of(g), (std::vector<Op>{Op::Add, Op::Add, Op::Add, Op::Identity}));  // float32 to float32: no Cast
  EXPECT_EQ(g.tensor(g.outputs[0]).dtype, DType::Float32);
}

TEST(Importer, FreeDimensionsKeepTheirNames) {
  ModelMaker m(13);
  m.input("x", {0, 3});
  m.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("N");
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Tensor& x = model->main().tensor(model->main().inputs[0]);
  EXPECT_EQ(x.shape, (Shape{kUnknownDim, 3}));
  EXPECT_THAT(x.dim_names, ElementsAre("N", ""));
}

TEST(Importer, FixedInputBecomesAConstant) {
  ModelMaker m(13);
  m.input("x", {2});
  m.input("sr", {}, onnx::TensorProto::INT64);
  test::set_int(m.node("Cast", {"sr"}, {"f"}), "to", onnx::TensorProto::FLOAT);
  m.node("Mul", {"x", "f"}, {"y"});
  m.output("y");
  ImportOptions options;
  options.fixed_inputs["sr"].text = "16000";
  const auto model = m.import(options);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->main().inputs.size(), 1u);
  EXPECT_THAT(*constant_ints(model->main(), model->main().nodes[0].inputs[0]), ElementsAre(16000));

  options.fixed_inputs["sr"].text = "16k";
  EXPECT_THAT(m.import(options).status().message(), HasSubstr("'16k' is not a value of type int64"));
  options.fixed_inputs["sr"].text = "1,2";
  EXPECT_THAT(m.import(options).status().message(), HasSubstr("2 values are given"));
  options.fixed_inputs = {{"rate", {"1", {}}}};
  EXPECT_THAT(m.import(options).status().message(), HasSubstr("cannot fix input 'rate': the inputs are 'x', 'sr'"));
}

/// If(cond) { y = x + w } else { y = x * v } with w an outer initializer, v an outer node's output.
ModelMaker if_model() {
  ModelMaker m(13);
  m.input("cond", {}, onnx::TensorProto::BOOL);
  m.input("x", {2});
  m.floats("w", {2}, {1, 2});
  m.node("Exp", {"x"}, {"v"});
  m.node("Mul", {"x", "w"}, {"also_w"});
  auto& n = m.node("If", {"cond"}, {"y"}, "choose");
  for (bool then_branch : {true, false}) {
    auto& g = *test::attribute(n, then_branch ? "then_branch" : "else_branch", onnx::AttributeProto::GRAPH).mutable_g();
    if (then_branch)
      ModelMaker::add(g, "Add", {"x", "w"}, {"y1"});
    else
      ModelMaker::add(g, "Mul", {"x", "v"}, {"y2"});
    g.add_output()->set_name(then_branch ? "y1" : "y2");
  }
  m.output("y");
  m.output("also_w");
  return m;
}

TEST(Importer, IfCapturesBecomeInputsAndConstantsAreShared) {
  const auto model = if_model().import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ(model->graphs.size(), 3u);
  const Graph& g = model->main();
  const Node* node = nullptr;
  for (const Node& n : g.nodes) node = n.op == Op::If ? &n : node;
  ASSERT_NE(node, nullptr);
  ASSERT_EQ(node->inputs.size(), 3u);  // cond, x, v
  EXPECT_EQ(g.tensor(node->inputs[1]).name, "x");
  EXPECT_EQ(g.tensor(node->inputs[2]).name, "v");
  for (int s : node->subgraphs) EXPECT_EQ(model->graphs[size_t(s)].inputs.size(), 2u);
  const Graph& then_graph = model->graphs[size_t(node->subgraphs[0])];
  const TensorId inner = then_graph.nodes[0].inputs[1];
  for (const Tensor& t : g.tensors) {
    if (t.name == "w") EXPECT_EQ(then_graph.tensor(inner).data.data(), t.data.data());
  }
  EXPECT_EQ(g.tensor(node->outputs[0]).shape, (Shape{2}));
}

TEST(Importer, NestedIfCapturesThroughBothScopes) {
  ModelMaker m(13);
  m.input("cond", {}, onnx::TensorProto::BOOL);
  m.input("x", {2});
  auto& outer = m.node("If", {"cond"}, {"y"});
  auto& then_graph = *test::attribute(outer, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
  auto& inner = ModelMaker::add(then_graph, "If", {"cond"}, {"inner_y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto& g = *test::attribute(inner, branch, onnx::AttributeProto::GRAPH).mutable_g();
    ModelMaker::add(g, "Neg", {"x"}, {"n"});
    g.add_output()->set_name("n");
  }
  then_graph.add_output()->set_name("inner_y");
  auto& else_graph = *test::attribute(outer, "else_branch", onnx::AttributeProto::GRAPH).mutable_g();
  else_graph.add_output()->set_name("x");  // an outer value directly
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->graphs.size(), 5u);
  EXPECT_EQ(model->main().tensor(model->main().outputs[0]).shape, (Shape{2}));
}

TEST(Importer, DropoutGivesInputAndTrueMask) {
  ModelMaker m(13);
  m.input("x", {2, 3});
  m.node("Dropout", {"x"}, {"d", "mask"});
  m.node("Relu", {"d"}, {"y"});
  m.output("y");
  m.output("mask", onnx::TensorProto::BOOL);
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Graph& g = model->main();
  EXPECT_EQ(g.tensor(g.outputs[1]).dtype, DType::Bool);
  EXPECT_EQ(g.tensor(g.outputs[1]).name, "mask");
}

TEST(Importer, OldSoftmaxIsPlainOnlyWhereItMayBe) {
  for (const auto& [dims, plain] :
       std::vector<std::pair<std::vector<int64_t>, bool>>{{{2, 3}, true}, {{2, 3, 1, 1}, true}, {{2, 3, 4}, false}}) {
    ModelMaker m(11);
    m.input("x", dims);
    m.node("Softmax", {"x"}, {"y"});
    m.output("y");
    const auto model = m.import();
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(model->main().nodes.size(), plain ? 1u : 3u);
    EXPECT_EQ(model->main().tensor(model->main().outputs[0]).shape, Shape(dims.begin(), dims.end()));
  }
}

TEST(Importer, AttributesOfOldOpsetsBecomeInputs) {
  ModelMaker m(9);
  m.input("x", {1, 8, 1, 1});
  auto& slice = m.node("Slice", {"x"}, {"s"});
  test::set_ints(slice, "starts", {0});
  test::set_ints(slice, "ends", {4});
  test::set_ints(slice, "axes", {1});
  test::set_ints(m.node("Squeeze", {"s"}, {"q"}), "axes", {2, 3});
  auto& clip = m.node("Clip", {"q"}, {"c"});
  test::set_float(clip, "max", 6);
  test::set_ints(m.node("ReduceMean", {"c"}, {"r"}), "axes", {1});
  auto& pad = m.node("Pad", {"r"}, {"p"});
  test::set_ints(pad, "pads", {0, 1, 0, 1});
  test::set_float(pad, "value", 2);
  auto& up = m.node("Upsample", {"p", "scales"}, {"u"});
  test::set_string(up, "mode", "nearest");
  m.floats("scales", {2}, {1, 2});
  m.output("u");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Graph& g = model->main();
  EXPECT_THAT(ops_of(g), ElementsAre(Op::Slice, Op::Squeeze, Op::Clip, Op::ReduceMean, Op::Pad, Op::Resize));
  EXPECT_THAT(*constant_ints(g, g.nodes[1].inputs[1]), ElementsAre(2, 3));
  EXPECT_EQ(g.nodes[2].input(1), kNoTensor);
  EXPECT_THAT(*constant_floats(g, g.nodes[2].inputs[2]), ElementsAre(6));
  EXPECT_EQ(attrs_as<schema::ResizeAttrsT>(g.nodes[5]).coordinate_mode, schema::CoordinateMode::Asymmetric);
  EXPECT_EQ(g.tensor(g.outputs[0]).shape, (Shape{1, 6}));
}

TEST(Importer, SqueezeAndUnsqueezeAxesMovedInOpset13) {
  for (int opset : {11, 13}) {
    ModelMaker m(opset);
    m.input("x", {1, 8, 1, 1});
    m.ints("axes", {2}, {2, 3});
    std::vector<std::string> a = {"x"}, b = {"s"};
    if (opset == 13) {
      a.push_back("axes");
      b.push_back("axes");
    }
    auto& squeeze = m.node("Squeeze", a, {"s"});
    auto& unsqueeze = m.node("Unsqueeze", b, {"y"});
    if (opset == 11)
      for (auto* n : {&squeeze, &unsqueeze}) test::set_ints(*n, "axes", {2, 3});
    m.output("y");
    const auto model = m.import();
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(model->main().tensor(model->main().outputs[0]).shape, (Shape{1, 8, 1, 1}));
  }
}

TEST(Importer, UnevenSplitByNumOutputs) {
  ModelMaker m(18);
  m.input("x", {7});
  test::set_int(m.node("Split", {"x"}, {"a", "b"}), "num_outputs", 2);
  m.output("a");
  m.output("b");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(*constant_ints(model->main(), model->main().nodes[0].inputs[1]), ElementsAre(4, 3));
}

TEST(Importer, ConstantsAndDuplicateNames) {
  ModelMaker m(13);
  m.input("x", {2});
  test::set_float(m.node("Constant", {}, {"c"}, "same"), "value_float", 2);
  test::set_ints(m.node("Constant", {}, {"shape"}, "same"), "value_ints", {1, 2});
  m.node("Mul", {"x", "c"}, {"p"}, "same");
  m.node("Reshape", {"p", "shape"}, {"y"}, "");
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(ops_of(model->main()), ElementsAre(Op::Mul, Op::Reshape));
  EXPECT_EQ(model->main().tensor(model->main().outputs[0]).shape, (Shape{1, 2}));
}

}  // namespace
}  // namespace lq
