// ModelIr -> ONNX: the QDQ form, and what ONNX has no operator or range for.
#include "onnx/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "onnx/model_maker.h"

namespace lq {
namespace {

using test::ModelMaker;
using testing::ElementsAre;

onnx::ModelProto exported(const ModelIr& model) {
  const auto bytes = export_onnx_bytes(model);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  onnx::ModelProto proto;
  if (bytes.ok()) EXPECT_TRUE(proto.ParseFromString(*bytes));
  return proto;
}

std::vector<std::string> op_types(const onnx::ModelProto& m) {
  std::vector<std::string> types;
  for (const auto& n : m.graph().node()) types.push_back(n.op_type());
  return types;
}

const onnx::TensorProto* initializer(const onnx::ModelProto& m, const std::string& name) {
  for (const auto& t : m.graph().initializer()) {
    if (t.name() == name) return &t;
  }
  return nullptr;
}

/// x -> Q -> DQ -> op(…) with the quantized tensor's parameters given.
ModelIr quantized(Op op, const QuantParams& params) {
  ModelIr model;
  model.graphs.emplace_back();
  Graph& g = model.main();
  auto tensor = [&](const char* name, DType dtype) {
    Tensor t;
    t.name = name;
    t.dtype = dtype;
    t.ranked = true;
    t.shape = {1, 2, 2, 2};
    return g.add_tensor(t);
  };
  const TensorId x = tensor("x", DType::Float32), q = tensor("q", DType::Int8), d = tensor("d", DType::Float32),
                 y = tensor("y", DType::Float32);
  g.tensor(q).quant = params;
  g.inputs = {x};
  g.outputs = {y};
  auto node = [&](Op o, std::vector<TensorId> in, TensorId out) {
    Node n;
    n.op = o;
    n.inputs = std::move(in);
    n.outputs = {out};
    g.nodes.push_back(std::move(n));
  };
  node(Op::QuantizeLinear, {x}, q);
  node(Op::DequantizeLinear, {q}, d);
  node(op, {d}, y);
  return model;
}

TEST(Exporter, QuantizedActivation) {
  const auto proto = exported(quantized(Op::Silu, per_tensor_params(DType::Int8, 0.5f, 3)));
  EXPECT_THAT(op_types(proto), ElementsAre("QuantizeLinear", "DequantizeLinear", "Sigmoid", "Mul"));
  const auto* scale = initializer(proto, proto.graph().node(0).input(1));
  const auto* zero = initializer(proto, proto.graph().node(0).input(2));
  ASSERT_TRUE(scale && zero);
  EXPECT_EQ(zero->data_type(), onnx::TensorProto::UINT8);
  EXPECT_EQ(zero->dims_size(), 0);
  EXPECT_EQ(zero->raw_data(), std::string("\x83"));  // 3 + 128
  float s = 0;
  std::memcpy(&s, scale->raw_data().data(), 4);
  EXPECT_EQ(s, 0.5f);
  EXPECT_EQ(proto.graph().input(0).name(), "x");
  EXPECT_EQ(proto.graph().output(0).name(), "y");
}

TEST(Exporter, NarrowedRangeBecomesAClip) {
  QuantParams params = per_tensor_params(DType::Int8, 0.5f, 0);
  params.qmin = 0;                                           // one-sided activations of --target avx2
  const auto proto = exported(quantized(Op::Relu, params));  // x -> Q -> DQ -> Relu: nothing holds x above 0
  EXPECT_THAT(op_types(proto), ElementsAre("Clip", "QuantizeLinear", "DequantizeLinear", "Relu"));
  float low = 1, high = 0;
  std::memcpy(&low, initializer(proto, proto.graph().node(0).input(1))->raw_data().data(), 4);
  std::memcpy(&high, initializer(proto, proto.graph().node(0).input(2))->raw_data().data(), 4);
  EXPECT_EQ(low, 0.0f);
  EXPECT_EQ(high, 63.5f);  // (127 − 0)·0.5
}

/// QuantizeLinear knows int16 since opset 21; what is read back is the same tensor.
TEST(Exporter, Int16IsWrittenAsOpset21) {
  ModelIr model = quantized(Op::Silu, per_tensor_params(DType::Int16, 0.25f, 0));
  model.main().tensors[1].dtype = DType::Int16;
  const auto proto = exported(model);
  EXPECT_EQ(proto.opset_import(0).version(), 21);
  EXPECT_THAT(op_types(proto), ElementsAre("QuantizeLinear", "DequantizeLinear", "Sigmoid", "Mul"));
  const auto* zero = initializer(proto, proto.graph().node(0).input(2));
  ASSERT_TRUE(zero);
  EXPECT_EQ(zero->data_type(), onnx::TensorProto::INT16);
  const std::string bytes = proto.SerializeAsString();
  const auto again = import_onnx_bytes(bytes.data(), bytes.size(), "again", "", {});
  ASSERT_TRUE(again.ok()) << again.status().message();
  bool found = false;
  for (const Tensor& t : again->main().tensors) {
    if (!t.quant) continue;
    found = true;
    EXPECT_EQ(t.dtype, DType::Int16);
    EXPECT_EQ(t.quant->scale[0], 0.25f);
    EXPECT_EQ(t.quant->qmin, -32768);
    EXPECT_EQ(t.quant->qmax, 32767);
  }
  EXPECT_TRUE(found);
}

/// x -> Relu -> Q -> DQ: 0 is the lowest value that arrives.
TEST(Exporter, ALimitThatAReluKeepsNeedsNoClip) {
  ModelMaker m(13);
  m.input("x", {1, 4});
  m.node("Relu", {"x"}, {"r"});
  m.floats("s", {}, {0.5f});
  m.bytes("z", {}, onnx::TensorProto::INT8, {0});
  m.node("QuantizeLinear", {"r", "s", "z"}, {"q"});
  m.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  m.node("Neg", {"d"}, {"y"});
  m.output("y");
  auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  for (Tensor& t : model->main().tensors) {
    if (t.quant) t.quant->qmin = 0;
  }
  EXPECT_THAT(op_types(exported(*model)), ElementsAre("Relu", "QuantizeLinear", "DequantizeLinear", "Neg"));
  for (Tensor& t : model->main().tensors) {
    if (t.quant) t.quant->qmax = 100;
  }
  EXPECT_THAT(op_types(exported(*model)), ElementsAre("Relu", "Clip", "QuantizeLinear", "DequantizeLinear", "Neg"));
}

/// A constant operand shares its type with the activation beside it: runtimes fuse nothing else.
TEST(Exporter, ConstantsBesideActivationsAreUint8Too) {
  ModelMaker m(13);
  m.input("x", {1, 2});
  m.floats("s", {}, {0.5f});
  m.bytes("z", {}, onnx::TensorProto::INT8, {0});
  m.bytes("c", {1, 2}, onnx::TensorProto::INT8, {100, -100});
  m.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  m.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  m.node("DequantizeLinear", {"c", "s", "z"}, {"cd"});
  m.node("Add", {"d", "cd"}, {"y"});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto proto = exported(*model);
  for (const auto& node : proto.graph().node()) {
    if (node.op_type() != "DequantizeLinear" || initializer(proto, node.input(0)) == nullptr) continue;
    EXPECT_EQ(initializer(proto, node.input(0))->data_type(), onnx::TensorProto::UINT8);
    EXPECT_EQ(initializer(proto, node.input(0))->raw_data(), std::string("\xe4\x1c"));  // 228, 28
    EXPECT_EQ(initializer(proto, node.input(2))->raw_data(), std::string("\x80"));
  }
}

TEST(Exporter, WeightsAndBiasKeepTheirAxis) {
  ModelMaker m(13);
  m.input("x", {1, 1, 2, 2});
  m.floats("sx", {}, {0.5f});
  m.bytes("zx", {}, onnx::TensorProto::INT8, {0});
  m.floats("sw", {2}, {0.25f, 0.5f});
  m.bytes("zw", {2}, onnx::TensorProto::INT8, {0, 0});
  m.floats("sb", {2}, {0.125f, 0.25f});
  m.bytes("w", {2, 1, 1, 1}, onnx::TensorProto::INT8, {100, -100});
  m.bytes("b", {2}, onnx::TensorProto::INT32, {7, -7});
  m.node("QuantizeLinear", {"x", "sx", "zx"}, {"xq"});
  m.node("DequantizeLinear", {"xq", "sx", "zx"}, {"xd"});
  test::set_int(m.node("DequantizeLinear", {"w", "sw", "zw"}, {"wd"}), "axis", 0);
  test::set_int(m.node("DequantizeLinear", {"b", "sb"}, {"bd"}), "axis", 0);
  m.node("Conv", {"xd", "wd", "bd"}, {"y"});
  m.output("y");
  const auto model = m.import();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto proto = exported(*model);
  EXPECT_THAT(op_types(proto),
              ElementsAre("QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv"));
  const auto& weight = proto.graph().node(2);
  EXPECT_EQ(initializer(proto, weight.input(0))->data_type(), onnx::TensorProto::INT8);
  EXPECT_EQ(initializer(proto, weight.input(1))->dims(0), 2);
  EXPECT_EQ(weight.attribute(0).name(), "axis");
  EXPECT_EQ(weight.attribute(0).i(), 0);
  EXPECT_EQ(initializer(proto, proto.graph().node(3).input(0))->data_type(), onnx::TensorProto::INT32);
  const std::string bytes = proto.SerializeAsString();
  const auto again = import_onnx_bytes(bytes.data(), bytes.size(), "again", "", {});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(test::ops_of(again->main()), test::ops_of(model->main()));
}

TEST(Exporter, CustomOperatorsAreRefused) {
  ModelIr model = quantized(Op::Custom, per_tensor_params(DType::Int8, 1, 0));
  model.main().nodes[2].name = "mine";
  EXPECT_EQ(export_onnx_bytes(model).status().message(), "Custom 'mine': has no ONNX form");
}

}  // namespace
}  // namespace lq
