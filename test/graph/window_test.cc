// Window geometry: pads, extents and the corner cases of auto_pad, by hand.
#include <gtest/gtest.h>

#include "graph/geometry.h"
#include "graph/op_def.h"

namespace lq {
namespace {

using Dims = std::vector<int64_t>;

TEST(Window, SameUpperAndLowerSplitTheOddPad) {
  schema::ConvAttrsT a;
  a.strides = {2};
  a.auto_pad = schema::AutoPad::SameUpper;  // in 4, kernel 3, stride 2: out 2, total (2-1)*2+3-4 = 1
  auto g = conv_geometry(a, {1, 1, 4}, {1, 1, 3});
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(g->output, Dims{2});
  EXPECT_EQ(g->pads_begin, Dims{0});
  EXPECT_EQ(g->pads_end, Dims{1});
  a.auto_pad = schema::AutoPad::SameLower;
  g = conv_geometry(a, {1, 1, 4}, {1, 1, 3});
  EXPECT_EQ(g->pads_begin, Dims{1});
  EXPECT_EQ(g->pads_end, Dims{0});
}

TEST(Window, DefaultsAndPadsIgnoredUnderAutoPad) {
  schema::ConvAttrsT a;
  a.pads = {1, 1};
  a.auto_pad = schema::AutoPad::Valid;
  auto g = conv_geometry(a, {1, 1, 7}, {1, 1, 3});
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g->output, Dims{5});
  EXPECT_EQ(g->strides, Dims{1});
  EXPECT_EQ(g->dilations, Dims{1});
  EXPECT_EQ(g->pads_begin, Dims{0});
}

TEST(Window, TransposedPadsFromOutputShape) {
  // ONNX: total = stride*(in-1) + output_padding + extent - output_shape = 2*2 + 0 + 3 - 6 = 1; not SAME_UPPER: begin
  // gets it.
  schema::ConvAttrsT a;
  a.strides = {2};
  a.output_shape = {6};
  auto g = conv_transpose_geometry(a, {1, 1, 3}, {1, 1, 3});
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g->pads_begin, Dims{1});
  EXPECT_EQ(g->pads_end, Dims{0});
  // ONNX test_convtranspose_output_shape: 7 taps reach, 8 wanted, the last one is zero: nothing is cut at the start.
  a.output_shape = {8};
  g = conv_transpose_geometry(a, {1, 1, 3}, {1, 1, 3});
  EXPECT_EQ(g->output, Dims{8});
  EXPECT_EQ(g->pads_begin, Dims{0});
  EXPECT_EQ(g->pads_end, Dims{-1});
}

TEST(Window, HostileAttributes) {
  schema::PoolAttrsT a;
  EXPECT_FALSE(pool_geometry(a, {1, 1, 4}).ok());  // no kernel
  a.kernel_shape = {INT32_MAX};
  EXPECT_FALSE(pool_geometry(a, {1, 1, 4}).ok());
  a.kernel_shape = {2};
  a.dilations = {INT32_MAX};
  EXPECT_FALSE(pool_geometry(a, {1, 1, 4}).ok());
  a.dilations = {};
  a.strides = {0};
  EXPECT_FALSE(pool_geometry(a, {1, 1, 4}).ok());
  a.strides = {};
  EXPECT_FALSE(pool_geometry(a, {1, 1}).ok());
  EXPECT_FALSE(pool_geometry(a, {1, 1, 4, 4}).ok());  // one kernel axis, two spatial
  // Dilation 3, 2 taps, 2 wide with pads 1: taps at -1 and 2 both miss the image.
  a.dilations = {3};
  a.pads = {1, 1};
  EXPECT_FALSE(pool_geometry(a, {1, 1, 2}).ok());
}

TEST(Geometry, EvenSplit) {
  EXPECT_EQ(*even_split(10, 4), (Dims{3, 3, 3, 1}));
  EXPECT_EQ(*even_split(8, 4), (Dims{2, 2, 2, 2}));
  EXPECT_FALSE(even_split(5, 4).ok());  // 2, 2, 2 and -1
}

TEST(Geometry, SliceStartsAndCounts) {
  const SliceRange r = slice_range(10, -1, -100, -3);  // 9, 6, 3, 0
  EXPECT_EQ(r.start, 9);
  EXPECT_EQ(r.count, 4);
  EXPECT_EQ(slice_range(10, -3, 100, 2).start, 7);
  EXPECT_EQ(slice_range(10, -3, 100, 2).count, 2);
  EXPECT_EQ(slice_range(10, 5, 2, 1).count, 0);
}

}  // namespace
}  // namespace lq
