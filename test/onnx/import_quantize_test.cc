// QuantizeLinear and DequantizeLinear of imported QDQ models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/model_maker.h"

namespace lq {
namespace {

using test::ModelMaker;
using test::ops_of;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kU8 = onnx::TensorProto::UINT8, kS8 = onnx::TensorProto::INT8, kS32 = onnx::TensorProto::INT32;

std::vector<int> int8s(const Tensor& t) {
  const int8_t* p = t.data.as<int8_t>();
  return std::vector<int>(p, p + t.data.size());
}

/// x -> Q -> DQ -> Conv(w from DQ, b from DQ) -> Q -> DQ -> y, as exporters write it.
ModelMaker conv_model(int weight_type, const std::vector<int>& w, int weight_zero) {
  ModelMaker m(13);
  m.input("x", {1, 1, 2, 2});
  m.floats("sx", {}, {0.5f});
  m.bytes("zx", {}, kU8, {128});
  m.floats("sw", {1}, {0.25f});  // [1]-shaped, as some exporters write per-tensor scales
  m.bytes("zw", {1}, weight_type, {weight_zero});
  m.floats("sb", {2}, {0.125f, 0.125f});
  m.bytes("w", {2, 1, 1, 1}, weight_type, w);
  m.bytes("b", {2}, kS32, {7, -7});
  m.node("QuantizeLinear", {"x", "sx", "zx"}, {"xq"});
  m.node("DequantizeLinear", {"xq", "sx", "zx"}, {"xd"});
  m.node("DequantizeLinear", {"w", "sw", "zw"}, {"wd"});
  m.node("DequantizeLinear", {"b", "sb"}, {"bd"});  // no zero point, default axis
  m.node("Conv", {"xd", "wd", "bd"}, {"c"});
  m.node("QuantizeLinear", {"c", "sx", "zx"}, {"cq"});
  m.node("DequantizeLinear", {"cq", "sx", "zx"}, {"y"});
  m.output("y");
  return m;
}

TEST(ImportQuantize, Uint8BecomesInt8) {
  const auto model = conv_model(kU8, {130, 2}, 130).import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Graph& g = model->main();
  for (const Tensor& t : g.tensors) EXPECT_NE(t.dtype, DType::UInt8) << t.name;
  const Tensor& xq = g.tensor(g.nodes[0].outputs[0]);
  ASSERT_TRUE(xq.quant);
  EXPECT_EQ(xq.quant->zero_point[0], 0);
  EXPECT_EQ(xq.quant->qmin, -128);
  EXPECT_EQ(xq.quant->qmax, 127);
  const Node* conv = nullptr;
  for (const Node& n : g.nodes) conv = n.op == Op::Conv ? &n : conv;
  ASSERT_NE(conv, nullptr);
  const auto producers = producers_of(g);
  // (130 − 130, 2 − 130) = (0, −128): no int8 weight of zero point 0 within ±127, but all even: half at twice the
  // scale.
  const Tensor& w = g.tensor(g.nodes[size_t(producers[size_t(conv->inputs[1])])].inputs[0]);
  EXPECT_THAT(int8s(w), ElementsAre(0, -64));
  EXPECT_EQ(w.quant->scale[0], 0.5f);
  EXPECT_EQ(zero_point_at(*w.quant, 0), 0);
  const Tensor& b = g.tensor(g.nodes[size_t(producers[size_t(conv->inputs[2])])].inputs[0]);
  EXPECT_EQ(b.dtype, DType::Int32);
  EXPECT_EQ(b.quant->axis, 0);
  EXPECT_THAT(b.quant->scale, ElementsAre(0.125f, 0.125f));
}

TEST(ImportQuantize, WeightsWithoutExactFormRunInFloat) {
  const auto model = conv_model(kS8, {-128, 5}, 0).import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Graph& g = model->main();
  for (const Node& n : g.nodes) {
    if (n.op == Op::Conv) EXPECT_THAT(*constant_floats(g, n.inputs[1]), ElementsAre(-32.0f, 1.25f));
  }
}

TEST(ImportQuantize, PublicUint8StaysUint8) {
  ModelMaker m(13);
  m.input("x", {4}, kU8);
  m.floats("s", {}, {0.5f});
  m.bytes("z", {}, kU8, {10});
  m.node("DequantizeLinear", {"x", "s", "z"}, {"d"});
  m.node("Relu", {"d"}, {"r"});
  m.node("QuantizeLinear", {"r", "s", "z"}, {"y"});
  m.node("DequantizeLinear", {"y", "s", "z"}, {"also"});
  m.output("y", kU8);
  m.output("also");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Graph& g = model->main();
  EXPECT_EQ(g.tensor(g.inputs[0]).dtype, DType::UInt8);
  EXPECT_EQ(g.tensor(g.outputs[0]).dtype, DType::UInt8);
  EXPECT_EQ(g.tensor(g.outputs[0]).name, "y");
  EXPECT_EQ(g.tensor(g.outputs[0]).quant->zero_point[0], 10);
  EXPECT_EQ(g.tensor(g.outputs[0]).quant->qmax, 255);
}

TEST(ImportQuantize, MovesCarryParameters) {
  ModelMaker m(13);
  m.input("x", {4});
  m.floats("s", {}, {0.5f});
  m.bytes("z", {}, kU8, {10});
  m.ints("shape", {2}, {2, 2});
  m.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  m.node("Reshape", {"q", "shape"}, {"r"});
  m.node("DequantizeLinear", {"r", "s", "z"}, {"y"});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(ops_of(model->main()), ElementsAre(Op::QuantizeLinear, Op::DequantizeLinear, Op::Reshape,
                                                 Op::QuantizeLinear, Op::DequantizeLinear));
  EXPECT_EQ(model->main().tensor(model->main().nodes[3].outputs[0]).quant->zero_point[0], -118);
  m.node("Cast", {"q"}, {"c"}, "raw");
  test::set_int(*m.proto.mutable_graph()->mutable_node(3), "to", 1);
  m.output("c");
  EXPECT_THAT(m.import().status().message(), HasSubstr("Cast 'raw': computes on a quantized tensor"));
}

/// A scale known at run time only is literal arithmetic; per channel it is refused.
TEST(ImportQuantize, DynamicScale) {
  for (bool scalar : {true, false}) {
    ModelMaker m(13);
    m.input("x", {4});
    m.input("s", scalar ? std::vector<int64_t>{} : std::vector<int64_t>{4});
    m.node("QuantizeLinear", {"x", "s"}, {"y"}, "q");
    m.output("y", kU8);
    const auto model = m.import();
    if (scalar) {
      ASSERT_TRUE(model.ok()) << model.status().message();
      EXPECT_THAT(ops_of(model->main()), ElementsAre(Op::Div, Op::Round, Op::Clip, Op::Cast));
    } else {
      EXPECT_THAT(model.status().message(),
                  HasSubstr("QuantizeLinear 'q': a scale computed at run time must be one number"));
    }
  }
}

/// One scale an axis-1 slice in ONNX, one an output channel (group · M/g + slice) here.
TEST(ImportQuantize, GroupedConvTransposeScales) {
  ModelMaker m(13);
  m.input("x", {1, 4, 2, 2});
  m.floats("sw", {3}, {1, 2, 3});
  m.bytes("w", {4, 3, 1, 1}, kS8, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  m.bytes("zw", {3}, kS8, {0, 0, 0});
  test::set_int(m.node("DequantizeLinear", {"w", "sw", "zw"}, {"wd"}), "axis", 1);
  test::set_int(m.node("ConvTranspose", {"x", "wd"}, {"y"}), "group", 2);
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Graph& g = model->main();
  EXPECT_THAT(g.tensor(g.nodes[0].inputs[0]).quant->scale, ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_EQ(g.tensor(g.outputs[0]).shape, (Shape{1, 6, 2, 2}));
}

TEST(ImportQuantize, Refusals) {
  for (float scale : {0.0f, -1.0f, 1e-40f, INFINITY, NAN}) {
    ModelMaker bad(13);
    bad.input("x", {4});
    bad.floats("s", {}, {scale});
    bad.node("QuantizeLinear", {"x", "s"}, {"y"}, "q");
    bad.output("y", kU8);
    EXPECT_THAT(bad.import().status().message(), HasSubstr("is not positive, finite and normal"));
  }
}

}  // namespace
}  // namespace lq
