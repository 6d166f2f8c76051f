// Shapes of operators that move data: Concat, Split, Slice, Gather, Pad, Resize, Reshape and their kin.
// Expected shapes are worked out by hand from the ONNX operator text (opset 17, Resize 18/19); the derivation stands
// beside each where it is not plain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "shape_after.h"

namespace lq {
namespace {

using test::axis;
using test::Builder;
using test::shape_after;
using testing::HasSubstr;
constexpr TensorId kNone = kNoTensor;

TEST(MoveShape, ConcatTransposeTileExpand) {
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::Concat, {g.input("a", {2, 3, -1}), g.input("b", {2, 5, 4})}, axis(-2));
            }),
            "float32[2,8,4]");
  EXPECT_THAT(shape_after([](Builder& g) {
                return g.call(Op::Concat, {g.input("a", {2, 3}), g.input("b", {3, 3})}, axis(1));
              }),
              HasSubstr("2 and 3 differ"));
  schema::TransposeAttrsT t;
  t.perm = {0, 2, 3, 1};
  EXPECT_EQ(shape_after([&](Builder& g) {
              return g.call(Op::Transpose, {g.input("a", {1, 3, 4, 5})}, t);
            }),
            "float32[1,4,5,3]");
  EXPECT_EQ(shape_after([&](Builder& g) {
              return g.call(Op::Transpose, {g.input("a", {1, 3, 4})});
            }),
            "float32[4,3,1]");
  t.perm = {0, 0};
  EXPECT_THAT(shape_after([&](Builder& g) {
                return g.call(Op::Transpose, {g.input("a", {1, 3})}, t);
              }),
              HasSubstr("not a permutation"));
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::Tile, {g.input("a", {2, 3}), g.ints({1, 4})});
            }),
            "float32[2,12]");
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::Expand, {g.input("a", {3, 1}), g.ints({2, 1, 6})});
            }),
            "float32[2,3,6]");
  EXPECT_THAT(shape_after([](Builder& g) {
                return g.call(Op::Tile, {g.input("a", {1 << 20}), g.ints({1 << 20})});
              }),
              HasSubstr("exceed 2^31"));
}

TEST(MoveShape, DepthToSpace) {
  schema::BlockAttrsT a;
  a.block_size = 2;
  EXPECT_EQ(shape_after([&](Builder& g) {
              return g.call(Op::DepthToSpace, {g.input("a", {1, 8, 2, 3})}, a);
            }),
            "float32[1,2,4,6]");
  EXPECT_EQ(shape_after([&](Builder& g) {
              return g.call(Op::SpaceToDepth, {g.input("a", {1, 2, 4, 6})}, a);
            }),
            "float32[1,8,2,3]");
  EXPECT_THAT(shape_after([&](Builder& g) {
                return g.call(Op::DepthToSpace, {g.input("a", {1, 6, 2, 3})}, a);
              }),
              HasSubstr("not a multiple of 4"));
}

TEST(IndexShape, SplitEvenUnevenSizes) {
  auto split = [](int64_t dim, std::vector<int64_t> sizes, int outputs, int which) {
    return shape_after([&](Builder& g) {
      std::vector<TensorId> out;
      for (int i = 0; i < outputs; ++i) out.push_back(g.tensor(test::numbered("o", size_t(i))));
      std::vector<TensorId> in = {g.input("x", {2, dim})};
      if (!sizes.empty()) in.push_back(g.ints(sizes));
      g.node(Op::Split, in, out).attrs.Set(axis(1));
      return out[size_t(which)];
    });
  };
  EXPECT_EQ(split(6, {}, 3, 2), "float32[2,2]");
  EXPECT_EQ(split(7, {}, 4, 0), "float32[2,2]");  // opset 18: ceil(7/4) = 2, the last one 1
  EXPECT_EQ(split(7, {}, 4, 3), "float32[2,1]");
  EXPECT_EQ(split(7, {2, 5}, 2, 1), "float32[2,5]");
  EXPECT_THAT(split(7, {2, 4}, 2, 1), HasSubstr("6 and 7 differ"));
  EXPECT_THAT(split(2, {}, 4, 0), HasSubstr("cannot be split"));
}

std::string slice(Shape x, std::vector<int64_t> starts, std::vector<int64_t> ends, std::vector<int64_t> axes,
                  std::vector<int64_t> steps) {
  return shape_after([&](Builder& g) {
    return g.call(Op::Slice, {g.input("x", x), g.ints(starts), g.ints(ends), axes.empty() ? kNone : g.ints(axes),
                              steps.empty() ? kNone : g.ints(steps)});
  });
}

TEST(IndexShape, Slice) {
  EXPECT_EQ(slice({20, 10, 5}, {0, 0}, {3, 10}, {0, 1}, {1, 1}), "float32[3,10,5]");  // ONNX test_slice
  EXPECT_EQ(slice({20, 10, 5}, {0}, {-1}, {1}, {1}), "float32[20,9,5]");              // test_slice_neg
  EXPECT_EQ(slice({20, 10, 5}, {1000}, {1000}, {1}, {1}), "float32[20,0,5]");         // test_slice_start_out_of_bounds
  EXPECT_EQ(slice({20, 10, 5}, {20, 10, 4}, {0, 0, 1}, {0, 1, 2}, {-1, -3, -2}),
            "float32[19,3,2]");                                              // test_slice_neg_steps
  EXPECT_EQ(slice({5}, {INT64_MAX}, {INT64_MIN}, {0}, {-1}), "float32[5]");  // reversed as exporters write it
  EXPECT_EQ(slice({5}, {0}, {INT64_MAX}, {}, {INT64_MAX}), "float32[1]");
  EXPECT_EQ(slice({5}, {4}, {INT64_MIN}, {0}, {INT64_MIN}), "float32[1]");
  EXPECT_EQ(slice({0}, {0}, {5}, {0}, {-1}), "float32[0]");
  EXPECT_EQ(slice({-1, 4}, {1}, {3}, {0}, {}), "float32[?,4]");
  EXPECT_THAT(slice({5}, {0}, {5}, {0}, {0}), HasSubstr("step 0"));
  EXPECT_THAT(slice({5, 5}, {0, 0}, {5, 5}, {0, -2}, {}), HasSubstr("given twice"));
}

TEST(IndexShape, Gather) {
  auto gather = [](Shape x, std::vector<int64_t> indices, bool scalar) {
    return shape_after([&](Builder& g) {
      return g.call(Op::Gather, {g.input("x", x), scalar ? g.scalar(indices[0]) : g.ints(indices)}, axis(1));
    });
  };
  EXPECT_EQ(gather({2, 5, 3}, {0, -1}, false), "float32[2,2,3]");
  EXPECT_EQ(gather({2, 5, 3}, {4}, true), "float32[2,3]");
  EXPECT_THAT(gather({2, 5, 3}, {5}, true), HasSubstr("index 5 is out of range"));
}

TEST(IndexShape, Pad) {
  auto pad = [](Shape x, std::vector<int64_t> pads, std::vector<int64_t> axes, schema::PadMode mode) {
    return shape_after([&](Builder& g) {
      schema::PadAttrsT a;
      a.mode = mode;
      return g.call(Op::Pad, {g.input("x", x), g.ints(pads), kNone, axes.empty() ? kNone : g.ints(axes)}, a);
    });
  };
  EXPECT_EQ(pad({1, 3, 4, 5}, {0, 0, 1, 3, 0, 0, 2, 4}, {}, schema::PadMode::Constant), "float32[1,3,7,12]");
  EXPECT_EQ(pad({4, 5}, {-1, 1, 0, -2}, {}, schema::PadMode::Constant), "float32[3,4]");
  EXPECT_EQ(pad({1, 3, 4, 5}, {1, 2}, {-1}, schema::PadMode::Edge), "float32[1,3,4,8]");
  EXPECT_THAT(pad({4}, {4, 0}, {}, schema::PadMode::Reflect), HasSubstr("smaller than the axis of 4"));
  EXPECT_THAT(pad({4}, {-3, -2}, {}, schema::PadMode::Constant), HasSubstr("crop more"));
}

TEST(ResizeShape, ScalesSizesAspect) {
  auto by_scales = [](Shape x, std::vector<float> scales) {
    return shape_after([&](Builder& g) { return g.call(Op::Resize, {g.input("x", x), g.floats(scales), kNone}); });
  };
  auto by_sizes = [](Shape x, std::vector<int64_t> sizes, schema::ResizeAttrsT a) {
    return shape_after([&](Builder& g) { return g.call(Op::Resize, {g.input("x", x), kNone, g.ints(sizes)}, a); });
  };
  EXPECT_EQ(by_scales({1, 1, 2, 4}, {1, 1, 0.6f, 0.6f}), "float32[1,1,1,2]");  // floor(1.2), floor(2.4)
  EXPECT_EQ(by_scales({-1, 3, 4, 4}, {1, 1, 2, 2}), "float32[?,3,8,8]");
  EXPECT_THAT(by_scales({1, 1, 2, 4}, {1, 1, 0, 1}), HasSubstr("not positive"));
  EXPECT_THAT(by_scales({1, 1, 2, 4}, {1, 1, 1e30f, 1}), HasSubstr("no legal extent"));
  EXPECT_EQ(by_sizes({1, 1, 2, 4}, {1, 1, 7, 8}, {}), "float32[1,1,7,8]");
  // ONNX test_resize_upsample_sizes_nearest_not_larger: [2,4] to at most [7,8]: min(3.5, 2) = 2 -> [4,8].
  schema::ResizeAttrsT a;
  a.axes = {2, 3};
  a.aspect_policy = schema::AspectPolicy::NotLarger;
  EXPECT_EQ(by_sizes({1, 1, 2, 4}, {7, 8}, a), "float32[1,1,4,8]");
  a.aspect_policy = schema::AspectPolicy::NotSmaller;  // max(3.5, 2): [7, 14]
  EXPECT_EQ(by_sizes({1, 1, 2, 4}, {7, 8}, a), "float32[1,1,7,14]");
  EXPECT_THAT(by_sizes({1, 1, 2, 4}, {7}, a), HasSubstr("expected 2"));
  EXPECT_THAT(shape_after([](Builder& g) {
                return g.call(Op::Resize, {g.input("x", {1, 1, 2, 2}), kNone, kNone});
              }),
              HasSubstr("exactly one"));
}

TEST(ShapeOps, Reshape) {
  auto reshape = [](Shape x, std::vector<int64_t> shape, bool allow_zero = false) {
    return shape_after([&](Builder& g) {
      schema::ReshapeAttrsT a;
      a.allow_zero = allow_zero;
      return g.call(Op::Reshape, {g.input("x", x), g.ints(shape)}, a);
    });
  };
  EXPECT_EQ(reshape({2, 3, 4}, {0, -1}), "float32[2,12]");
  EXPECT_EQ(reshape({-1, 3, 4}, {0, -1}), "float32[?,12]");
  EXPECT_EQ(reshape({-1, 3, 4}, {-1, 12}), "float32[?,12]");
  EXPECT_EQ(reshape({0, 3}, {3, 0}, true), "float32[3,0]");
  EXPECT_EQ(reshape({}, {1}), "float32[1]");
  EXPECT_THAT(reshape({2, 3}, {4, -1}), HasSubstr("does not divide"));
  EXPECT_THAT(reshape({2, 3}, {5}), HasSubstr("cannot take shape [5]"));
  EXPECT_THAT(reshape({2, 3}, {-1, -1}), HasSubstr("more than one -1"));
  EXPECT_THAT(reshape({2, 3}, {1, 1, 0}), HasSubstr("does not have"));
}

TEST(ShapeOps, FlattenSqueezeUnsqueeze) {
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::Flatten, {g.input("x", {2, 3, 4, 5})}, axis(2));
            }),
            "float32[6,20]");
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::Flatten, {g.input("x", {2, 3, 4, 5})}, axis(-1));
            }),
            "float32[24,5]");
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::Flatten, {g.input("x", {-1, 3, 4, 5})}, axis(1));
            }),
            "float32[?,60]");
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::Squeeze, {g.input("x", {1, 3, 1}), g.ints({-1})});
            }),
            "float32[1,3]");
  EXPECT_EQ(shape_after([](Builder& g) { return g.call(Op::Squeeze, {g.input("x", {1, 3, 1})}); }), "float32[3]");
  EXPECT_THAT(shape_after([](Builder& g) {
                return g.call(Op::Squeeze, {g.input("x", {1, 3}), g.ints({1})});
              }),
              HasSubstr("is not 1"));
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::Unsqueeze, {g.input("x", {3, 4}), g.ints({-1, 0})});
            }),
            "float32[1,3,4,1]");
  EXPECT_EQ(shape_after([](Builder& g) {
              schema::ShapeAttrsT a;
              a.start = -2;
              return g.call(Op::Shape, {g.input("x", {3, 4, 5})}, a);
            }),
            "int64[2]");
}

TEST(ShapeOps, RangeAndConstantOfShape) {
  auto range = [](int64_t start, int64_t limit, int64_t delta) {
    return shape_after([&](Builder& g) {
      return g.call(Op::Range, {g.scalar(start), g.scalar(limit), g.scalar(delta)});
    });
  };
  EXPECT_EQ(range(3, 9, 3), "int64[2]");
  EXPECT_EQ(range(10, 4, -2), "int64[3]");
  EXPECT_EQ(range(0, -5, 1), "int64[0]");
  EXPECT_THAT(range(0, 5, 0), HasSubstr("delta is 0"));
  EXPECT_THAT(range(INT64_MIN, INT64_MAX, 1), HasSubstr("more than 2^31"));
  EXPECT_EQ(shape_after([](Builder& g) {
              auto f = [&](float v) { return g.constant<float>(DType::Float32, {}, {v}); };
              return g.call(Op::Range, {f(1), f(2), f(0.3f)});
            }),
            "float32[4]");
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::ConstantOfShape, {g.ints({2, 3}), g.floats({1.5f})});
            }),
            "float32[2,3]");
}

}  // namespace
}  // namespace lq
