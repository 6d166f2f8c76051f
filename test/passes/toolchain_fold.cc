// Folding batch norm, bias and Pad: expected numbers are worked out in the comments.
#include <gmock/gmock.h>

#include <cmath>

#include "passes/passes.h"
#include "passes/toolchain_graph.h"

namespace lq {
namespace {

using test::GraphMaker;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;

TEST(FoldBatchNorm, ConvTakesScaleAndShift) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 1, 2, 2});
  const TensorId conv =
      m.node(Op::Conv, "conv", {x, m.constant("w", {2, 1, 1, 1}, {3, 5}), m.constant("b", {2}, {1, 2})});
  // Channel 0: scale = 2/sqrt(4) = 1, shift = 10 − 3·1 = 7. Channel 1: gamma 0 -> scale 0, shift = 20.
  m.output(m.node(Op::BatchNormalization, "bn",
                  {conv, m.constant("g", {2}, {2, 0}), m.constant("beta", {2}, {10, 20}),
                   m.constant("mean", {2}, {3, 4}), m.constant("var", {2}, {4, 1e-10f})},
                  [] {
                    schema::NormAttrsT a;
                    a.epsilon = 0;
                    return a;
                  }()));
  m.finish();
  ASSERT_TRUE(passes::fold_batch_norm(m.model).ok());
  ASSERT_THAT(m.ops(), ElementsAre("Conv"));
  const Node& node = m.graph().nodes[0];
  EXPECT_THAT(m.floats(node.inputs[1]), ElementsAre(3, 0));
  EXPECT_THAT(m.floats(node.inputs[2]), ElementsAre(8, 20));  // 1·1 + 7, 2·0 + 20
  EXPECT_EQ(m.graph().tensor(m.graph().outputs[0]).name, "bn");
}

TEST(FoldBatchNorm, TinyVarianceStaysFinite) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 1, 2, 2});
  const TensorId conv = m.node(Op::Conv, "conv", {x, m.constant("w", {1, 1, 1, 1}, {1e-3f})});
  m.output(m.node(Op::BatchNormalization, "bn",
                  {conv, m.constant("g", {1}, {1}), m.constant("beta", {1}, {0}), m.constant("mean", {1}, {0}),
                   m.constant("var", {1}, {1e-10f})},
                  [] {
                    schema::NormAttrsT a;
                    a.epsilon = 0;
                    return a;
                  }()));
  m.finish();
  ASSERT_TRUE(passes::fold_batch_norm(m.model).ok());
  ASSERT_THAT(m.ops(), ElementsAre("Conv"));
  EXPECT_THAT(m.floats(m.graph().nodes[0].inputs[1]), ElementsAre(FloatNear(100.0f, 1e-3f)));  // 1e-3 / 1e-5
}

TEST(FoldBatchNorm, ConvTransposeChannelsLieOnAxisOnePerGroup) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 2, 2, 2});
  schema::ConvAttrsT attrs;
  attrs.groups = 2;
  // w [C=2, M/g=2, 1, 1]: channel = group·2 + j, so the elements are channels 0 1 2 3 in order.
  const TensorId conv = m.node(Op::ConvTranspose, "conv", {x, m.constant("w", {2, 2, 1, 1}, {1, 1, 1, 1})}, attrs);
  m.output(m.node(Op::Mul, "mul", {conv, m.constant("s", {4, 1, 1}, {1, 2, 3, 4})}));
  m.finish();
  ASSERT_TRUE(passes::fold_batch_norm(m.model).ok());
  ASSERT_THAT(m.ops(), ElementsAre("ConvTranspose"));
  EXPECT_THAT(m.floats(m.graph().nodes[0].inputs[1]), ElementsAre(1, 2, 3, 4));
}

TEST(FoldBatchNorm, LeavesAConvolutionWithASecondReader) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 1, 2, 2});
  const TensorId conv = m.node(Op::Conv, "conv", {x, m.constant("w", {1, 1, 1, 1}, {3})});
  m.output(m.node(Op::Mul, "mul", {conv, m.scalar(2)}));
  m.output(m.node(Op::Relu, "relu", {conv}));
  m.finish();
  ASSERT_TRUE(passes::fold_batch_norm(m.model).ok());
  EXPECT_THAT(m.ops(), ElementsAre("Conv", "Mul", "Relu"));
}

TEST(FoldBatchNorm, GemmWithAlphaBetaAndTransB) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 2});
  schema::GemmAttrsT attrs;
  attrs.alpha = 2;
  attrs.beta = 3;
  attrs.trans_b = true;
  // w [N=2, K=2]. y = 2·x·wᵀ + 3·c, then · (10, 100): weights ·2·10 and ·2·100, bias 3·c·(10, 100).
  const TensorId y =
      m.node(Op::Gemm, "gemm", {x, m.constant("w", {2, 2}, {1, 2, 3, 4}), m.constant("c", {1}, {5})}, attrs);
  m.output(m.node(Op::Mul, "mul", {y, m.constant("s", {2}, {10, 100})}));
  m.finish();
  ASSERT_TRUE(passes::fold_batch_norm(m.model).ok());
  ASSERT_THAT(m.ops(), ElementsAre("Gemm"));
  const Node& node = m.graph().nodes[0];
  EXPECT_THAT(m.floats(node.inputs[1]), ElementsAre(20, 40, 600, 800));
  EXPECT_THAT(m.floats(node.inputs[2]), ElementsAre(150, 1500));
  EXPECT_EQ(attrs_as<schema::GemmAttrsT>(node).alpha, 1);
  EXPECT_EQ(attrs_as<schema::GemmAttrsT>(node).beta, 1);
}

TEST(FoldBatchNorm, ASharedWeightStaysForItsOtherReader) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 1, 2, 2}), w = m.constant("w", {1, 1, 1, 1}, {3});
  m.output(m.node(Op::Mul, "mul", {m.node(Op::Conv, "a", {x, w}), m.scalar(2)}));
  m.output(m.node(Op::Conv, "b", {x, w}));
  m.finish();
  ASSERT_TRUE(passes::fold_batch_norm(m.model).ok());
  EXPECT_THAT(m.floats(m.find("a")->inputs[1]), ElementsAre(6));
  EXPECT_THAT(m.floats(m.find("b")->inputs[1]), ElementsAre(3));
}

TEST(FuseBias, MatMulAndAddBecomeGemm) {
  GraphMaker m;
  const TensorId x = m.input("x", {kUnknownDim, 2});
  const TensorId y = m.node(Op::MatMul, "mm", {x, m.constant("w", {2, 3}, {1, 2, 3, 4, 5, 6})});
  m.output(m.node(Op::Add, "add", {m.constant("b", {1, 3}, {7, 8, 9}), y}));
  m.finish();
  ASSERT_TRUE(passes::fuse_bias(m.model).ok());
  ASSERT_THAT(m.ops(), ElementsAre("Gemm"));
  EXPECT_THAT(m.floats(m.graph().nodes[0].inputs[2]), ElementsAre(7, 8, 9));
}

TEST(FuseBias, HigherRankGoesThroughReshape) {
  GraphMaker m;
  const TensorId x = m.input("x", {kUnknownDim, 5, 2});
  const TensorId y = m.node(Op::MatMul, "mm", {x, m.constant("w", {2, 3}, {1, 2, 3, 4, 5, 6})});
  m.output(m.node(Op::Add, "add", {y, m.constant("b", {3}, {7, 8, 9})}));
  m.finish();
  ASSERT_TRUE(passes::fuse_bias(m.model).ok());
  ASSERT_THAT(m.ops(), ElementsAre("Reshape", "Gemm", "Reshape"));
  EXPECT_EQ(*constant_ints(m.graph(), m.graph().nodes[2].inputs[1]), (std::vector<int64_t>{-1, 5, 3}));
  const Status status = infer_shapes(m.model, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(FuseBias, TwoFreeDimensionsKeepTheAdd) {
  GraphMaker m;
  const TensorId x = m.input("x", {kUnknownDim, kUnknownDim, 2});
  const TensorId y = m.node(Op::MatMul, "mm", {x, m.constant("w", {2, 3}, {1, 2, 3, 4, 5, 6})});
  m.output(m.node(Op::Add, "add", {y, m.constant("b", {3}, {7, 8, 9})}));
  m.finish();
  ASSERT_TRUE(passes::fuse_bias(m.model).ok());
  EXPECT_THAT(m.ops(), ElementsAre("MatMul", "Add"));
}

schema::PadAttrsT constant_pad() { return {}; }

TEST(FusePad, IntoConvAddsToItsOwnPads) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 1, 4, 4});
  const TensorId pad = m.node(Op::Pad, "pad", {x, m.ints({0, 0, 0, 1, 0, 0, 2, 3})}, constant_pad());
  schema::ConvAttrsT attrs;
  attrs.pads = {1, 1, 1, 1};
  m.output(m.node(Op::Conv, "conv", {pad, m.constant("w", {1, 1, 1, 1}, {1})}, attrs));
  m.finish();
  ASSERT_TRUE(passes::fuse_pad(m.model).ok());
  ASSERT_THAT(m.ops(), ElementsAre("Conv"));
  EXPECT_THAT(attrs_as<schema::ConvAttrsT>(m.graph().nodes[0]).pads, ElementsAre(1, 2, 3, 4));
}

TEST(FusePad, MaxPoolOnlyBehindNonNegativeValues) {
  for (const bool relu : {false, true}) {
    GraphMaker m;
    TensorId x = m.input("x", {1, 1, 4, 4});
    if (relu) x = m.node(Op::Relu, "relu", {x});
    const TensorId pad = m.node(Op::Pad, "pad", {x, m.ints({0, 0, 1, 1, 0, 0, 1, 1})}, constant_pad());
    schema::PoolAttrsT attrs;
    attrs.kernel_shape = {3, 3};
    m.output(m.node(Op::MaxPool, "pool", {pad}, attrs));
    m.finish();
    ASSERT_TRUE(passes::fuse_pad(m.model).ok());
    EXPECT_EQ(m.find("pad") == nullptr, relu);
  }
}

TEST(FusePad, AveragePoolCountsThePaddedZeros) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 1, 4, 4});
  const TensorId pad = m.node(Op::Pad, "pad", {x, m.ints({0, 0, 1, 1, 0, 0, 1, 1})}, constant_pad());
  schema::PoolAttrsT attrs;
  attrs.kernel_shape = {3, 3};
  m.output(m.node(Op::AveragePool, "pool", {pad}, attrs));
  m.finish();
  ASSERT_TRUE(passes::fuse_pad(m.model).ok());
  ASSERT_THAT(m.ops(), ElementsAre("AveragePool"));
  EXPECT_TRUE(attrs_as<schema::PoolAttrsT>(m.graph().nodes[0]).count_include_pad);
}

TEST(FusePad, KeepsReflectNonZeroAndChannelPads) {
  const struct {
    schema::PadMode mode;
    float value;
    std::vector<int64_t> pads;
  } cases[] = {{schema::PadMode::Reflect, 0, {0, 0, 1, 1, 0, 0, 1, 1}},
               {schema::PadMode::Constant, 1, {0, 0, 1, 1, 0, 0, 1, 1}},
               {schema::PadMode::Constant, 0, {0, 1, 0, 0, 0, 0, 0, 0}}};
  for (const auto& c : cases) {
    GraphMaker m;
    const TensorId x = m.input("x", {1, 1, 4, 4});
    schema::PadAttrsT attrs;
    attrs.mode = c.mode;
    const TensorId pad = m.node(Op::Pad, "pad", {x, m.ints(c.pads), m.scalar(c.value)}, attrs);
    m.output(m.node(Op::Conv, "conv",
                    {pad, m.constant("w", {1, 1 + c.pads[1], 1, 1}, std::vector<float>(size_t(1 + c.pads[1]), 1.0f))}));
    m.finish();
    ASSERT_TRUE(passes::fuse_pad(m.model).ok());
    EXPECT_NE(m.find("pad"), nullptr);
  }
}

TEST(RemoveIdentity, KeepsTheNameOfAnOutput) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 4});
  const TensorId a = m.node(Op::Identity, "a", {x});
  const TensorId relu = m.node(Op::Relu, "relu", {a});
  m.output(m.node(Op::Identity, "y", {relu}));
  m.output(m.node(Op::Sigmoid, "z", {relu}));
  m.finish();
  ASSERT_TRUE(passes::remove_identity(m.model).ok());
  EXPECT_THAT(m.ops(), ElementsAre("Relu", "Sigmoid"));
  EXPECT_EQ(m.graph().tensor(m.graph().outputs[0]).name, "y");
  EXPECT_EQ(m.graph().nodes[1].inputs[0], m.graph().outputs[0]);
}

TEST(RemoveIdentity, AnInputThatIsAnOutputStays) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 4});
  m.output(m.node(Op::Identity, "y", {x}));
  m.finish();
  ASSERT_TRUE(passes::remove_identity(m.model).ok());
  EXPECT_THAT(m.ops(), ElementsAre("Identity"));
}

}  // namespace
}  // namespace lq
