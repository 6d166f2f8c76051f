#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/passes.h"
#include "passes/runtime_graphs.h"

namespace lq {
namespace {

using ::testing::ElementsAre;
using testing::GraphBuilder;
using testing::ops_of;

/// x -> Reshape to `split` -> Transpose by `perm` -> Reshape back; all shapes as given.
GraphBuilder grouped_shuffle(const Shape& x, const Shape& split, const std::vector<int32_t>& perm) {
  GraphBuilder g;
  const TensorId a = g.node(Op::Reshape, {g.input("x", x), g.ints("to", split)}, split);
  Shape swapped;
  for (int32_t axis : perm) swapped.push_back(split[size_t(axis)]);
  const TensorId b = g.node(Op::Transpose, {a}, swapped);
  g.attrs<schema::TransposeAttrsT>().perm = perm;
  g.output(g.node(Op::Reshape, {b, g.ints("back", x)}, x));
  return g;
}

TEST(FuseChannelShuffle, BecomesOneGather) {
  for (const Shape& split : {Shape{2, 3, 2, 4, 5}, Shape{2, 3, 2, 20}}) {
    GraphBuilder g =
        grouped_shuffle({2, 6, 4, 5}, split,
                        split.size() == 5 ? std::vector<int32_t>{0, 2, 1, 3, 4} : std::vector<int32_t>{0, 2, 1, 3});
    ASSERT_TRUE(passes::fuse_channel_shuffle(g.model).ok());
    EXPECT_THAT(ops_of(g.graph()), ElementsAre(Op::Gather));
    const Node& node = g.graph().nodes[0];
    EXPECT_EQ(g.graph().tensor(node.inputs[0]).name, "x");
    EXPECT_EQ(attrs_as<schema::AxisAttrsT>(node).axis, 1);
    // Channels [[0, 1], [2, 3], [4, 5]] read by columns.
    EXPECT_THAT(constant_ints(g.graph(), node.inputs[1]).value(), ElementsAre(0, 2, 4, 1, 3, 5));
  }
}

/// Of two images of six channels: Reshape [2·3, 2, 20], exchange, Reshape [2, 2, 3, 4, 5], slices of the first axis.
GraphBuilder interleaved(const std::vector<int64_t>& slices, const Shape& index_shape, int64_t axis) {
  GraphBuilder g;
  const Shape pairs = {6, 2, 20}, swapped = {2, 6, 20}, halves = {2, 2, 3, 4, 5};
  const TensorId a = g.node(Op::Reshape, {g.input("x", {2, 6, 4, 5}), g.ints("pairs", pairs)}, pairs);
  const TensorId b = g.node(Op::Transpose, {a}, swapped);
  g.attrs<schema::TransposeAttrsT>().perm = {1, 0, 2};
  const TensorId c = g.node(Op::Reshape, {b, g.ints("halves", halves)}, halves);
  for (const int64_t slice : slices) {
    const TensorId index =
        g.graph().add_constant("i" + std::to_string(g.graph().tensors.size()), DType::Int64, index_shape, &slice);
    g.output(g.node(Op::Gather, {c, index}, index_shape.empty() ? Shape{2, 3, 4, 5} : Shape{1, 2, 3, 4, 5}));
    g.attrs<schema::AxisAttrsT>().axis = axis;
  }
  return g;
}

TEST(FuseChannelShuffle, EveryOtherChannel) {
  GraphBuilder g = interleaved({1, -2}, {}, 0);
  ASSERT_TRUE(passes::fuse_channel_shuffle(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Op::Gather, Op::Gather));
  for (const Node& node : g.graph().nodes) {
    EXPECT_EQ(g.graph().tensor(node.inputs[0]).name, "x");
    EXPECT_EQ(attrs_as<schema::AxisAttrsT>(node).axis, 1);
  }
  EXPECT_THAT(constant_ints(g.graph(), g.graph().nodes[0].inputs[1]).value(), ElementsAre(1, 3, 5));
  EXPECT_THAT(constant_ints(g.graph(), g.graph().nodes[1].inputs[1]).value(), ElementsAre(0, 2, 4));

  GraphBuilder kept = interleaved({1, 0}, {1}, 0);  // slices that keep their axis
  ASSERT_TRUE(passes::fuse_channel_shuffle(kept.model).ok());
  EXPECT_EQ(ops_of(kept.graph()).size(), 5u);
  GraphBuilder images = interleaved({1, 0}, {}, 1);
  ASSERT_TRUE(passes::fuse_channel_shuffle(images.model).ok());
  EXPECT_EQ(ops_of(images.graph()).size(), 5u);
}

TEST(FuseChannelShuffle, OtherMovesStay) {
  const auto stays = [](GraphBuilder g) {
    ASSERT_TRUE(passes::fuse_channel_shuffle(g.model).ok());
    EXPECT_THAT(ops_of(g.graph()), ElementsAre(Op::Reshape, Op::Transpose, Op::Reshape));
  };
  stays(grouped_shuffle({2, 6, 4, 5}, {2, 3, 2, 4, 5}, {0, 2, 1, 4, 3}));  // rows and columns swapped as well
  stays(grouped_shuffle({2, 6, 4, 5}, {2, 3, 2, 4, 5}, {0, 1, 2, 3, 4}));
  stays(grouped_shuffle({2, 6, 4, 5}, {2, 3, 4, 2, 5}, {0, 2, 1, 3, 4}));  // pixels among the channels
  stays(grouped_shuffle({2, 6, 4, 5}, {2, 12, 2, 5}, {0, 2, 1, 3}));
  GraphBuilder read = grouped_shuffle({2, 6, 4, 5}, {2, 3, 2, 4, 5}, {0, 2, 1, 3, 4});
  read.output(read.graph().nodes[1].outputs[0]);  // somebody else wants what is between
  stays(std::move(read));
}

}  // namespace
}  // namespace lq
