#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "passes/passes.h"
#include "passes/runtime_graphs.h"

namespace lq {
namespace {

using ::testing::ElementsAre;
using testing::GraphBuilder;
using testing::ops_of;

TEST(FuseActivation, ReluAndClipMoveIntoTheProducer) {
  GraphBuilder g;
  const TensorId x = g.input("x", {1, 2, 4, 4});
  const TensorId conv = g.node(Op::Conv, {x, g.floats("w", {2, 2, 1, 1}, {1, 2, 3, 4})}, {1, 2, 4, 4});
  const TensorId relu = g.node(Op::Relu, {conv}, {1, 2, 4, 4});
  const TensorId sum = g.node(Op::Add, {relu, x}, {1, 2, 4, 4});
  g.output(g.node(Op::Clip, {sum, kNoTensor, g.floats("hi", {}, {6})}, {1, 2, 4, 4}));
  ASSERT_TRUE(passes::fuse_activation(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Op::Conv, Op::Add));
  EXPECT_EQ(g.graph().nodes[0].fused_clamp->min, 0.0f);
  EXPECT_EQ(g.graph().nodes[0].fused_clamp->max, HUGE_VALF);
  EXPECT_EQ(g.graph().nodes[1].fused_clamp->min, -HUGE_VALF);
  EXPECT_EQ(g.graph().nodes[1].fused_clamp->max, 6.0f);
  EXPECT_EQ(g.graph().outputs[0], g.graph().nodes[1].outputs[0]);
}

TEST(FuseActivation, NotWhenTheValueIsReadElsewhere) {
  GraphBuilder g;
  const TensorId x = g.input("x", {4});
  const TensorId sum = g.node(Op::Add, {x, x}, {4});
  g.output(g.node(Op::Relu, {sum}, {4}));
  g.output(sum);
  ASSERT_TRUE(passes::fuse_activation(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Op::Add, Op::Relu));
}

TEST(FuseActivation, NotForRunTimeOrContradictoryBounds) {
  GraphBuilder g;
  const TensorId x = g.input("x", {4});
  g.output(g.node(Op::Clip, {g.node(Op::Add, {x, x}, {4}), g.input("lo", {})}, {4}));
  g.output(g.node(Op::Clip, {g.node(Op::Add, {x, x}, {4}), g.floats("a", {}, {3}), g.floats("b", {}, {1})}, {4}));
  ASSERT_TRUE(passes::fuse_activation(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Op::Add, Op::Clip, Op::Add, Op::Clip));
}

TEST(FuseActivation, OneClampOnly) {
  GraphBuilder g;
  const TensorId x = g.input("x", {4});
  const TensorId relu = g.node(Op::Relu, {g.node(Op::Add, {x, x}, {4})}, {4});
  g.output(g.node(Op::Clip, {relu, kNoTensor, g.floats("hi", {}, {1})}, {4}));
  ASSERT_TRUE(passes::fuse_activation(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Op::Add, Op::Clip));
}

}  // namespace
}  // namespace lq
