// Each pattern of docs/NUMERICS.md, its near misses, and what is shared between patterns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/passes.h"
#include "passes/runtime_graphs.h"

namespace lq {
namespace {

using ::testing::ElementsAre;
using testing::find_node;
using testing::GraphBuilder;
using testing::ops_of;

constexpr auto Q = Op::QuantizeLinear;
constexpr auto DQ = Op::DequantizeLinear;

/// x[1,2,4,4] -> Q -> DQ -> 1x1 Conv to 2 channels with bias; scales 0.5 (x), {0.25, 0.125} (w).
struct ConvGraph : GraphBuilder {
  TensorId x = input("x", {1, 2, 4, 4});
  TensorId qx = quantize(x, per_tensor_params(DType::Int8, 0.5f, 3));
  TensorId dqx = dequantize(qx);
  TensorId w = weights("w", {2, 2, 1, 1}, {1, 2, 3, 4}, {0.25f, 0.125f}, 0);
  TensorId b = bias("b", {10, 20}, {0.125f, 0.0625f});
  TensorId y = node(Op::Conv, {dqx, w, b}, {1, 2, 4, 4});
};

TEST(FuseQdq, ConvReluBecomesIntegerWithNarrowedBounds) {
  ConvGraph g;
  const TensorId relu = g.node(Op::Relu, {g.y}, {1, 2, 4, 4});
  const TensorId q = g.quantize(relu, per_tensor_params(DType::Int8, 0.1f, -5));
  g.graph().tensor(q).name = "q";
  g.output(g.dequantize(q));
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Q, Op::Conv, DQ));
  const Node& conv = g.graph().nodes[1];
  EXPECT_EQ(g.graph().tensor(conv.inputs[0]).dtype, DType::Int8);
  EXPECT_EQ(g.graph().tensor(conv.inputs[1]).dtype, DType::Int8);
  EXPECT_EQ(g.graph().tensor(conv.inputs[2]).dtype, DType::Int32);
  const Tensor& out = g.graph().tensor(conv.outputs[0]);
  EXPECT_EQ(out.name, "q");
  EXPECT_EQ(out.quant->qmin, -5);  // Relu's 0 is the zero point
  EXPECT_EQ(out.quant->qmax, 127);
}

TEST(FuseQdq, ClipNarrowsBothBounds) {
  ConvGraph g;
  const TensorId clip = g.node(Op::Clip, {g.y, g.floats("lo", {}, {0}), g.floats("hi", {}, {6})}, {1, 2, 4, 4});
  const TensorId q = g.quantize(clip, per_tensor_params(DType::Int8, 0.1f, -20));
  g.output(q);  // a graph output that is quantized is as good as any
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Q, Op::Conv));
  const QuantParams& p = *g.graph().tensor(g.graph().outputs[0]).quant;
  EXPECT_EQ(p.qmin, -20);
  EXPECT_EQ(p.qmax, 40);  // rint(6 / 0.1) - 20
}

TEST(FuseQdq, ClipWithoutZeroStaysAsTable) {
  ConvGraph g;
  const TensorId clip = g.node(Op::Clip, {g.y, g.floats("lo", {}, {1}), g.floats("hi", {}, {6})}, {1, 2, 4, 4});
  g.output(g.quantize(clip, per_tensor_params(DType::Int8, 0.1f, 0)));
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Q, Op::Conv, Op::Clip));
  const Node& clip_node = g.graph().nodes[2];
  const Tensor &in = g.graph().tensor(clip_node.inputs[0]), &out = g.graph().tensor(clip_node.outputs[0]);
  EXPECT_EQ(in.dtype, DType::Int8);
  EXPECT_EQ(out.dtype, DType::Int8);
  EXPECT_EQ(in.quant->qmin, -128);  // the padding lanes of the Conv can hold the zero point
  EXPECT_EQ(out.quant->qmin, -128);
}

TEST(FuseQdq, SecondReaderOrGraphOutputLeavesTheProductFloat) {
  for (const bool as_output : {false, true}) {
    ConvGraph g;
    const TensorId q = g.quantize(g.y, per_tensor_params(DType::Int8, 0.1f, 0));
    g.output(q);
    g.output(as_output ? g.y : g.node(Op::Sigmoid, {g.y}, {1, 2, 4, 4}));
    ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
    const Node* conv = find_node(g.graph(), Op::Conv);
    ASSERT_NE(conv, nullptr);
    EXPECT_EQ(g.graph().tensor(conv->inputs[0]).dtype, DType::Int8);  // still int8 × int8
    EXPECT_EQ(g.graph().tensor(conv->outputs[0]).dtype, DType::Float32);
    EXPECT_EQ(find_node(g.graph(), DQ), nullptr);
  }
}

TEST(FuseQdq, ReluWithSecondReaderKeepsFloat) {
  ConvGraph g;
  const TensorId relu = g.node(Op::Relu, {g.y}, {1, 2, 4, 4});
  g.output(g.quantize(relu, per_tensor_params(DType::Int8, 0.1f, 0)));
  g.output(g.node(Op::Sigmoid, {relu}, {1, 2, 4, 4}));
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_EQ(g.graph().tensor(find_node(g.graph(), Op::Conv)->outputs[0]).dtype, DType::Float32);
  EXPECT_NE(find_node(g.graph(), Op::Relu), nullptr);
}

TEST(FuseQdq, FloatBiasOrWrongAxisStaysFloat) {
  ConvGraph with_float_bias;
  with_float_bias.graph().nodes.back().inputs[2] = with_float_bias.floats("fb", {2}, {1, 2});
  with_float_bias.output(with_float_bias.y);
  ASSERT_TRUE(passes::fuse_qdq(with_float_bias.model).ok());
  const Node* conv = find_node(with_float_bias.graph(), Op::Conv);
  EXPECT_EQ(with_float_bias.graph().tensor(conv->inputs[0]).dtype, DType::Float32);
  EXPECT_EQ(with_float_bias.graph().tensor(conv->inputs[1]).dtype, DType::Float32);

  GraphBuilder g;
  const TensorId x = g.through_int8(g.input("x", {1, 2, 4, 4}), 0.5f, 0);
  g.output(g.node(Op::Conv, {x, g.weights("w", {2, 2, 1, 1}, {1, 2, 3, 4}, {1, 1}, 1)}, {1, 2, 4, 4}));
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_EQ(g.graph().tensor(find_node(g.graph(), Op::Conv)->inputs[1]).dtype, DType::Float32);
}

// Four groups of 2 -> 3 channels: axis 1 of w has 3 entries, the scales 12 (public fault: axis 0 was used).
TEST(FuseQdq, GroupedConvTransposeHasOneScaleAnOutputChannel) {
  for (const size_t scales : {size_t(12), size_t(3)}) {
    GraphBuilder g;
    const TensorId x = g.through_int8(g.input("x", {1, 8, 2, 2}), 0.5f, 0);
    const TensorId w = g.weights("w", {8, 3, 1, 1}, std::vector<int8_t>(24, 1), std::vector<float>(scales, 0.5f), 1);
    g.output(g.node(Op::ConvTranspose, {x, w}, {1, 12, 2, 2}));
    g.attrs<schema::ConvAttrsT>().groups = 4;
    ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
    const DType dtype = g.graph().tensor(find_node(g.graph(), Op::ConvTranspose)->inputs[0]).dtype;
    EXPECT_EQ(dtype, scales == 12 ? DType::Int8 : DType::Float32);
  }
}

TEST(FuseQdq, GemmAxisFollowsTransB) {
  for (const bool trans_b : {false, true}) {
    GraphBuilder g;
    const TensorId x = g.through_int8(g.input("x", {1, 2}), 0.5f, 0);
    const TensorId w =
        g.weights("w", trans_b ? Shape{3, 2} : Shape{2, 3}, {1, 2, 3, 4, 5, 6}, {1, 1, 1}, trans_b ? 0 : 1);
    const TensorId y = g.node(Op::Gemm, {x, w, g.bias("b", {1, 2, 3}, {0.5f, 0.5f, 0.5f})}, {1, 3});
    g.attrs<schema::GemmAttrsT>().trans_b = trans_b;
    g.output(g.quantize(y, per_tensor_params(DType::Int8, 1, 0)));
    ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
    EXPECT_THAT(ops_of(g.graph()), ElementsAre(Q, Op::Gemm));
  }
}

TEST(FuseQdq, ScaledGemmStaysFloat) {
  GraphBuilder g;
  const TensorId x = g.through_int8(g.input("x", {1, 2}), 0.5f, 0);
  g.output(g.node(Op::Gemm, {x, g.weights("w", {2, 3}, {1, 2, 3, 4, 5, 6}, {1, 1, 1}, 1)}, {1, 3}));
  g.attrs<schema::GemmAttrsT>().alpha = 0.5f;
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_EQ(g.graph().tensor(find_node(g.graph(), Op::Gemm)->inputs[1]).dtype, DType::Float32);
}

TEST(FuseQdq, MatMulOfTwoActivationsNeedsQuantizedOutput) {
  for (const bool quantized_output : {false, true}) {
    GraphBuilder g;
    const TensorId a = g.through_int8(g.input("a", {2, 3}), 0.5f, 1),
                   b = g.through_int8(g.input("b", {3, 4}), 0.25f, -1);
    const TensorId y = g.node(Op::MatMul, {a, b}, {2, 4});
    g.output(quantized_output ? g.quantize(y, per_tensor_params(DType::Int8, 1, 0)) : y);
    ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
    const DType dtype = g.graph().tensor(find_node(g.graph(), Op::MatMul)->inputs[1]).dtype;
    EXPECT_EQ(dtype, quantized_output ? DType::Int8 : DType::Float32);
  }
}

TEST(FuseQdq, AddWithConstantAndSharedDequantize) {
  GraphBuilder g;
  const TensorId x = g.through_int8(g.input("x", {1, 2, 2, 2}), 0.5f, 1);
  const int8_t values[] = {5, -7};
  const TensorId c = g.graph().add_constant("c", DType::Int8, {1, 2, 1, 1}, values);
  g.graph().tensor(c).quant = per_tensor_params(DType::Int8, 0.1f, 0);
  const TensorId sum = g.node(Op::Add, {x, g.dequantize(c)}, {1, 2, 2, 2});
  g.output(g.quantize(g.node(Op::Relu, {sum}, {1, 2, 2, 2}), per_tensor_params(DType::Int8, 0.3f, -100)));
  g.output(g.node(Op::Softmax, {x}, {1, 2, 2, 2}));  // the same Dequantize also feeds a float operator
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Q, DQ, Op::Add, Op::Softmax));
  const Node* add = find_node(g.graph(), Op::Add);
  EXPECT_EQ(g.graph().tensor(add->inputs[0]).dtype, DType::Int8);
  EXPECT_EQ(g.graph().tensor(add->inputs[1]).name, "c");
  EXPECT_EQ(g.graph().tensor(add->outputs[0]).quant->qmin, -100);
}

TEST(FuseQdq, AddOfInt8AndFloatStaysFloat) {
  GraphBuilder g;
  const TensorId x = g.through_int8(g.input("x", {4}), 0.5f, 1);
  g.output(g.quantize(g.node(Op::Add, {x, g.input("f", {4})}, {4}), per_tensor_params(DType::Int8, 1, 0)));
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Q, DQ, Op::Add, Q));
}

TEST(FuseQdq, TableOperatorsTakeNoActivationAfter) {
  GraphBuilder g;
  const TensorId x = g.through_int8(g.input("x", {4}), 0.5f, 1);
  g.output(g.quantize(g.node(Op::Sigmoid, {x}, {4}), per_tensor_params(DType::Int8, 1 / 256.0f, -128)));
  g.output(
      g.quantize(g.node(Op::Relu, {g.node(Op::Tanh, {x}, {4})}, {4}), per_tensor_params(DType::Int8, 1 / 128.0f, 0)));
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Q, DQ, Op::Sigmoid, Op::Tanh, Op::Relu, Q));
  EXPECT_EQ(g.graph().tensor(find_node(g.graph(), Op::Sigmoid)->inputs[0]).dtype, DType::Int8);
  EXPECT_EQ(g.graph().tensor(find_node(g.graph(), Op::Tanh)->inputs[0]).dtype, DType::Float32);
}

TEST(FuseQdq, PassThroughOnlyWithEqualParameters) {
  for (const float out_scale : {0.5f, 0.25f}) {
    GraphBuilder g;
    const TensorId x = g.through_int8(g.input("x", {1, 2, 4, 4}), 0.5f, 7);
    const TensorId y = g.node(Op::MaxPool, {x}, {1, 2, 2, 2});
    g.attrs<schema::PoolAttrsT>().kernel_shape = {2, 2};
    g.output(g.quantize(y, per_tensor_params(DType::Int8, out_scale, 7)));
    ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
    if (out_scale == 0.5f) {
      EXPECT_THAT(ops_of(g.graph()), ElementsAre(Q, Op::MaxPool));
    } else {
      EXPECT_THAT(ops_of(g.graph()), ElementsAre(Q, DQ, Op::MaxPool, Q));
    }
  }
}

// The Relu narrows the Conv's output; what decides about the MaxPool behind it are the parameters in the file.
TEST(FuseQdq, NarrowingDoesNotBreakPassThrough) {
  ConvGraph g;
  const QuantParams p = per_tensor_params(DType::Int8, 0.1f, -5);
  const TensorId a = g.dequantize(g.quantize(g.node(Op::Relu, {g.y}, {1, 2, 4, 4}), p));
  g.output(g.quantize(g.node(Op::MaxPool, {a}, {1, 2, 2, 2}), p));
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Q, Op::Conv, Op::MaxPool));
}

TEST(FuseQdq, ConcatNeedsAllEqualAndSplitAllOutputs) {
  for (const float other_scale : {0.5f, 0.1f}) {
    GraphBuilder g;
    const TensorId a = g.through_int8(g.input("a", {1, 2}), 0.5f, 0),
                   b = g.through_int8(g.input("b", {1, 2}), other_scale, 0);
    const TensorId y = g.node(Op::Concat, {a, b, a}, {1, 6});
    g.output(g.quantize(y, per_tensor_params(DType::Int8, 0.5f, 0)));
    ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
    const DType dtype = g.graph().tensor(find_node(g.graph(), Op::Concat)->inputs[2]).dtype;
    EXPECT_EQ(dtype, other_scale == 0.5f ? DType::Int8 : DType::Float32);
  }
  for (const float other_scale : {0.5f, 0.1f}) {
    GraphBuilder g;
    const TensorId x = g.through_int8(g.input("x", {1, 4}), 0.5f, 0);
    const TensorId first = g.node(Op::Split, {x}, {1, 2});
    const TensorId second = g.tensor("second", DType::Float32, {1, 2});
    g.graph().nodes.back().outputs.push_back(second);
    g.output(g.quantize(first, per_tensor_params(DType::Int8, 0.5f, 0)));
    g.output(g.quantize(second, per_tensor_params(DType::Int8, other_scale, 0)));
    ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
    const DType dtype = g.graph().tensor(find_node(g.graph(), Op::Split)->inputs[0]).dtype;
    EXPECT_EQ(dtype, other_scale == 0.5f ? DType::Int8 : DType::Float32);
  }
}

TEST(FuseQdq, ChangeOfScaleIsRequantizeAndEqualScaleNothing) {
  GraphBuilder g;
  const TensorId x = g.through_int8(g.input("x", {4}), 0.5f, 1);
  g.output(g.quantize(x, per_tensor_params(DType::Int8, 0.25f, 0)));
  g.output(g.quantize(x, per_tensor_params(DType::Int8, 0.5f, 1)));
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Q, Op::Requantize, Op::Identity));
}

TEST(FuseQdq, PublicUint8IsRequantized) {
  GraphBuilder g;
  const TensorId x = g.input("x", {4}, DType::UInt8);
  g.graph().tensor(x).quant = per_tensor_params(DType::UInt8, 0.5f, 128);
  g.output(g.quantize(g.dequantize(x), per_tensor_params(DType::Int8, 0.5f, 0)));
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Op::Requantize));
}

TEST(FuseQdq, ReduceMeanOverNoAxesIsNoAverage) {
  GraphBuilder g;
  const TensorId x = g.through_int8(g.input("x", {2, 2}), 0.5f, 0);
  const TensorId y = g.node(Op::ReduceMean, {x, g.ints("axes", {})}, {2, 2});
  g.attrs<schema::ReduceAttrsT>().noop_with_empty_axes = true;
  g.output(g.quantize(y, per_tensor_params(DType::Int8, 1, 0)));
  ASSERT_TRUE(passes::fuse_qdq(g.model).ok());
  EXPECT_EQ(g.graph().tensor(find_node(g.graph(), Op::ReduceMean)->inputs[0]).dtype, DType::Float32);
}

}  // namespace
}  // namespace lq
