// Shape functions, one case an operator and rule. Expected shapes are worked out by hand from the ONNX operator text
// (opset 17, Resize 18/19); the derivation stands beside each where it is not plain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "graph_builder.h"

namespace lq {
namespace {

using test::Builder;
using testing::HasSubstr;
constexpr TensorId kNone = kNoTensor;

/// Shape of output 0 after inference; its failure message instead when it fails.
std::string shape_after(const std::function<TensorId(Builder&)>& build) {
  ModelIr model;
  Builder b(model);
  const TensorId out = build(b);
  const Status s = infer_shapes(model, nullptr);
  if (!s.ok()) return s.message();
  const Tensor& t = model.main().tensor(out);
  return t.ranked ? std::string(dtype_name(t.dtype)) + shape_string(t.shape) : "unranked";
}

schema::ConvAttrsT conv(std::vector<int32_t> strides, std::vector<int32_t> pads = {},
                        std::vector<int32_t> dilations = {}, int groups = 1) {
  schema::ConvAttrsT a;
  a.strides = std::move(strides);
  a.pads = std::move(pads);
  a.dilations = std::move(dilations);
  a.groups = groups;
  return a;
}
schema::AxisAttrsT axis(int value) {
  schema::AxisAttrsT a;
  a.axis = value;
  return a;
}

std::string conv_shape(Op op, Shape x, Shape w, schema::ConvAttrsT a) {
  return shape_after([&](Builder& b) { return b.call(op, {b.input("x", x), b.input("w", w)}, a); });
}

TEST(ConvShape, StridesPadsDilationsGroups) {
  EXPECT_EQ(conv_shape(Op::Conv, {1, 3, 224, 224}, {32, 3, 3, 3}, conv({2, 2}, {1, 1, 1, 1})), "float32[1,32,112,112]");
  // Asymmetric pads (0 begin, 1 end): (224 + 1 - 3) / 2 + 1 = 112.
  EXPECT_EQ(conv_shape(Op::Conv, {1, 3, 224, 224}, {8, 3, 3, 3}, conv({2, 2}, {0, 0, 1, 1})), "float32[1,8,112,112]");
  // Dilation 2: extent 5; (10 - 5) / 1 + 1 = 6.
  EXPECT_EQ(conv_shape(Op::Conv, {1, 4, 10, 10}, {4, 1, 3, 3}, conv({}, {}, {2, 2}, 4)), "float32[1,4,6,6]");
  EXPECT_EQ(conv_shape(Op::Conv, {2, 4, 100}, {6, 4, 5}, conv({3})), "float32[2,6,32]");  // (100 - 5) / 3 + 1
  EXPECT_EQ(conv_shape(Op::Conv, {-1, 3, -1, 8}, {4, 3, 3, 3}, conv({})), "float32[?,4,?,6]");
}

TEST(ConvShape, Refusals) {
  EXPECT_THAT(conv_shape(Op::Conv, {1, 3, 3, 3}, {4, 3, 5, 5}, conv({})), HasSubstr("kernel 5 does not fit input 3"));
  EXPECT_THAT(conv_shape(Op::Conv, {1, 3, 8, 8}, {4, 2, 3, 3}, conv({})), HasSubstr("input channels"));
  EXPECT_THAT(conv_shape(Op::Conv, {1, 4, 8, 8}, {3, 2, 3, 3}, conv({}, {}, {}, 2)),
              HasSubstr("cannot be split into 2 groups"));
  EXPECT_THAT(conv_shape(Op::Conv, {1, 3, 8, 8}, {4, 3, 3, 3}, conv({0, 1})), HasSubstr("must be positive"));
  EXPECT_THAT(conv_shape(Op::Conv, {1, 3, 8, 8}, {4, 3, 3, 3}, conv({}, {1, 1})),
              HasSubstr("pads has 2 entries, expected 4"));
}

TEST(ConvTransposeShape, OutputPaddingShapeAndAutoPad) {
  // ONNX test_convtranspose_kernel_shape family: x [1,1,3,3], w [1,2,3,3], strides [3,2].
  auto a = conv({3, 2});
  EXPECT_EQ(conv_shape(Op::ConvTranspose, {1, 1, 3, 3}, {1, 2, 3, 3}, a), "float32[1,2,9,7]");  // (3-1)*3+3, (3-1)*2+3
  a.output_padding = {1, 1};
  EXPECT_EQ(conv_shape(Op::ConvTranspose, {1, 1, 3, 3}, {1, 2, 3, 3}, a), "float32[1,2,10,8]");
  a.output_padding.clear();
  a.output_shape = {10, 8};
  EXPECT_EQ(conv_shape(Op::ConvTranspose, {1, 1, 3, 3}, {1, 2, 3, 3}, a), "float32[1,2,10,8]");
  auto same = conv({2, 2});
  same.auto_pad = schema::AutoPad::SameUpper;
  EXPECT_EQ(conv_shape(Op::ConvTranspose, {1, 1, 3, 3}, {1, 2, 3, 3}, same), "float32[1,2,6,6]");  // in * stride
  EXPECT_EQ(conv_shape(Op::ConvTranspose, {1, 8, 5, 5}, {8, 3, 4, 4}, conv({2, 2}, {1, 1, 1, 1}, {}, 4)),
            "float32[1,12,10,10]");
}

TEST(GemmShape, TransposesAndBias) {
  schema::GemmAttrsT t;
  t.trans_b = true;
  auto gemm = [&](Shape a, Shape b, Shape c) {
    return shape_after([&](Builder& g) {
      return g.call(Op::Gemm, {g.input("a", a), g.input("b", b), g.input("c", c)}, t);
    });
  };
  EXPECT_EQ(gemm({2, 8}, {5, 8}, {5}), "float32[2,5]");
  EXPECT_EQ(gemm({-1, 8}, {5, 8}, {5}), "float32[?,5]");
  EXPECT_EQ(gemm({2, 8}, {5, 8}, {2, 1}), "float32[2,5]");
  EXPECT_THAT(gemm({2, 7}, {5, 8}, {5}), HasSubstr("inner dimensions: 7 and 8 differ"));
  EXPECT_THAT(gemm({2, 8}, {5, 8}, {3, 5}), HasSubstr("broadcast"));
  EXPECT_THAT(gemm({1, 8}, {5, 8}, {2, 5}), HasSubstr("does not broadcast to"));
}

TEST(MatMulShape, NumpyRules) {
  auto matmul = [](Shape a, Shape b) {
    return shape_after([&](Builder& g) { return g.call(Op::MatMul, {g.input("a", a), g.input("b", b)}); });
  };
  EXPECT_EQ(matmul({2, 1, 3, 4}, {5, 4, 6}), "float32[2,5,3,6]");
  EXPECT_EQ(matmul({4}, {4, 6}), "float32[6]");
  EXPECT_EQ(matmul({3, 4}, {4}), "float32[3]");
  EXPECT_EQ(matmul({4}, {4}), "float32[]");
  EXPECT_THAT(matmul({}, {4}), HasSubstr("at least one axis"));
}

TEST(EinsumShape, ExplicitImplicitEllipsis) {
  auto einsum = [](std::string equation, std::vector<Shape> shapes) {
    return shape_after([&](Builder& g) {
      std::vector<TensorId> in;
      for (auto& s : shapes) in.push_back(g.input(test::numbered("x", in.size()), s));
      schema::EinsumAttrsT a;
      a.equation = equation;
      return g.call(Op::Einsum, in, a);
    });
  };
  EXPECT_EQ(einsum("bij, bjk -> bik", {{5, 2, 3}, {5, 3, 4}}), "float32[5,2,4]");
  EXPECT_EQ(einsum("ij,jk", {{2, 3}, {3, 4}}), "float32[2,4]");
  EXPECT_EQ(einsum("ba", {{2, 3}}), "float32[3,2]");  // implicit output is alphabetical: a transpose
  EXPECT_EQ(einsum("...ii->...i", {{3, 5, 5}}), "float32[3,5]");
  EXPECT_EQ(einsum("i...,j...", {{2, 7, 1}, {3, 8}}), "float32[7,8,2,3]");
  EXPECT_EQ(einsum("i,i", {{5}, {5}}), "float32[]");
  EXPECT_THAT(einsum("ij,jk->ik", {{2, 3}}), HasSubstr("number of terms"));
  EXPECT_THAT(einsum("ij->ii", {{2, 3}}), HasSubstr("occurs twice"));
  EXPECT_THAT(einsum("i?->i", {{2, 3}}), HasSubstr("unexpected character"));
}

TEST(BroadcastShape, UnknownDims) {
  auto add = [](Shape a, Shape b) {
    return shape_after([&](Builder& g) { return g.call(Op::Add, {g.input("a", a), g.input("b", b)}); });
  };
  EXPECT_EQ(add({2, 1, 3}, {4, 1}), "float32[2,4,3]");
  EXPECT_EQ(add({-1, 1}, {3}), "float32[?,3]");
  EXPECT_EQ(add({-1, -1}, {4, 1}), "float32[4,?]");
  EXPECT_EQ(add({0, 1}, {1, 3}), "float32[0,3]");
  EXPECT_THAT(add({2}, {3}), HasSubstr("do not broadcast"));
}

TEST(ElementwiseShape, TypesOfResults) {
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::Less, {g.input("a", {2}), g.input("b", {2})});
            }),
            "bool[2]");
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::Where, {g.input("c", {2, 1}, DType::Bool), g.input("a", {3}), g.input("b", {})});
            }),
            "float32[2,3]");
  EXPECT_THAT(shape_after([](Builder& g) {
                return g.call(Op::Add, {g.input("a", {2}), g.input("b", {2}, DType::Int64)});
              }),
              HasSubstr("types float32 and int64"));
  EXPECT_EQ(shape_after([](Builder& g) {
              schema::CastAttrsT a;
              a.to = DType::Int32;
              return g.call(Op::Cast, {g.input("a", {2, -1})}, a);
            }),
            "int32[2,?]");
  EXPECT_THAT(shape_after([](Builder& g) {
                return g.call(Op::PRelu, {g.input("a", {2, 3}), g.input("s", {2, 2, 3})});
              }),
              HasSubstr("does not broadcast"));
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::PRelu, {g.input("a", {2, 3, 4}), g.input("s", {3, 1})});
            }),
            "float32[2,3,4]");
}

std::string pool(Op op, Shape x, schema::PoolAttrsT a) {
  return shape_after([&](Builder& g) { return g.call(op, {g.input("x", x)}, a); });
}

TEST(PoolShape, CeilModeAndAutoPad) {
  schema::PoolAttrsT a;
  a.kernel_shape = {3, 3};
  a.strides = {2, 2};
  EXPECT_EQ(pool(Op::MaxPool, {1, 8, 8, 8}, a), "float32[1,8,3,3]");
  a.ceil_mode = true;
  EXPECT_EQ(pool(Op::MaxPool, {1, 8, 8, 8}, a), "float32[1,8,4,4]");
  // kernel 1, stride 2, 2 wide: ceil((2-1)/2)+1 = 2, but the second window would start at 2, outside: 1.
  a.kernel_shape = {1, 1};
  EXPECT_EQ(pool(Op::MaxPool, {1, 1, 2, 2}, a), "float32[1,1,1,1]");
  a = {};
  a.kernel_shape = {3, 3};
  a.strides = {2, 2};
  a.auto_pad = schema::AutoPad::SameLower;
  EXPECT_EQ(pool(Op::AveragePool, {1, 3, 33, 32}, a), "float32[1,3,17,16]");
  a.auto_pad = schema::AutoPad::NotSet;
  a.pads = {3, 3, 3, 3};
  EXPECT_THAT(pool(Op::AveragePool, {1, 3, 32, 32}, a), HasSubstr("nothing but padding"));
  a.pads = {-1, 0, 0, 0};
  EXPECT_THAT(pool(Op::AveragePool, {1, 3, 32, 32}, a), HasSubstr("must not be negative"));
  EXPECT_EQ(pool(Op::GlobalAveragePool, {2, 7, 5, 6}, {}),
            "GlobalAveragePool #0 (-> 't1'): has attributes of kind PoolAttrs, expected NONE");
}

TEST(ReduceShape, AxesKeepdimsNoop) {
  auto reduce = [](Shape x, std::vector<int64_t> axes, bool keepdims, bool noop = false) {
    return shape_after([&](Builder& g) {
      schema::ReduceAttrsT a;
      a.keepdims = keepdims;
      a.noop_with_empty_axes = noop;
      return g.call(Op::ReduceMean, {g.input("x", x), g.ints(axes)}, a);
    });
  };
  EXPECT_EQ(reduce({2, 3, 4}, {-1, 0}, true), "float32[1,3,1]");
  EXPECT_EQ(reduce({2, 3, 4}, {-1, 0}, false), "float32[3]");
  EXPECT_EQ(reduce({2, 3}, {}, false), "float32[]");
  EXPECT_EQ(reduce({2, 3}, {}, true, true), "float32[2,3]");
  EXPECT_THAT(reduce({2, 3}, {1, -1}, true), HasSubstr("given twice"));
  EXPECT_THAT(reduce({2, 3}, {2}, true), HasSubstr("out of range for rank 2"));
}

TEST(ReduceShape, ArgMaxAndTopK) {
  schema::ArgMaxAttrsT arg;
  arg.axis = -1;
  arg.keepdims = false;
  EXPECT_EQ(shape_after([&](Builder& g) { return g.call(Op::ArgMax, {g.input("x", {2, 3, 4})}, arg); }), "int64[2,3]");
  auto top_k = [](int64_t k) {
    return shape_after([&](Builder& g) {
      const TensorId values = g.tensor("v"), indices = g.tensor("i");
      g.node(Op::TopK, {g.input("x", {2, 10}), g.ints({k})}, {values, indices});
      return indices;
    });
  };
  EXPECT_EQ(top_k(3), "int64[2,3]");
  EXPECT_THAT(top_k(11), HasSubstr("k = 11 is out of range"));
}

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

TEST(RecurrentShape, LstmGru) {
  auto lstm = [](bool batch_first, int which, int64_t hidden_rows = 20) {
    return shape_after([&](Builder& g) {
      schema::RnnAttrsT a;
      a.hidden_size = 5;
      a.direction = schema::RnnDirection::Bidirectional;
      a.batch_first = batch_first;
      std::vector<TensorId> out = {g.tensor("y"), g.tensor("h"), g.tensor("c")};
      if (which != 0) out[0] = kNone;  // optional outputs may be absent
      const Shape x = batch_first ? Shape{2, 7, 3} : Shape{7, 2, 3};
      g.node(Op::LSTM, {g.input("x", x), g.input("w", {2, hidden_rows, 3}), g.input("r", {2, 20, 5})}, out)
          .attrs.Set(a);
      return g.graph().nodes.back().outputs[size_t(which)];
    });
  };
  EXPECT_EQ(lstm(false, 0), "float32[7,2,2,5]");  // [seq, directions, batch, hidden]
  EXPECT_EQ(lstm(false, 2), "float32[2,2,5]");
  EXPECT_EQ(lstm(true, 0), "float32[2,7,2,5]");  // [batch, seq, directions, hidden]
  EXPECT_THAT(lstm(false, 0, 15), HasSubstr("W has shape [2,15,3], expected [2,20,3]"));
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(
                  Op::GRU,
                  {g.input("x", {7, 2, 3}), g.input("w", {1, 15, 3}), g.input("r", {1, 15, 5}), g.input("b", {1, 30})},
                  schema::RnnAttrsT());
            }),
            "float32[7,1,2,5]");
}

TEST(NormShape, ParametersMustFit) {
  auto bn = [](int64_t channels) {
    return shape_after([&](Builder& g) {
      auto p = [&](const char* n) { return g.input(n, {channels}); };
      return g.call(Op::BatchNormalization, {g.input("x", {1, 4, 5, 5}), p("s"), p("b"), p("m"), p("v")});
    });
  };
  EXPECT_EQ(bn(4), "float32[1,4,5,5]");
  EXPECT_THAT(bn(3), HasSubstr("4 and 3 differ"));
  EXPECT_EQ(shape_after([](Builder& g) {
              return g.call(Op::LayerNormalization, {g.input("x", {2, 3, 8}), g.input("s", {8})});
            }),
            "float32[2,3,8]");
  EXPECT_THAT(shape_after([](Builder& g) {
                return g.call(Op::Softmax, {g.input("x", {2, 3})}, axis(2));
              }),
              HasSubstr("axis 2 is out of range"));
}

TEST(AllOperators, HaveARowAndOneOnly) {
  int rows = 0;
  for (Op op : schema::EnumValuesOp()) {
    if (op == Op::Undefined) {
      EXPECT_EQ(find_op(op), nullptr);
      continue;
    }
    ASSERT_NE(find_op(op), nullptr) << op_name(op);
    EXPECT_EQ(find_op(op)->op, op);
    ++rows;
  }
  EXPECT_GT(rows, 90);
  EXPECT_EQ(find_op(Op(12345)), nullptr);
}

TEST(AllOperators, UnrankedInputsAreNoError) {
  for (Op op : schema::EnumValuesOp()) {
    const OpDef* def = find_op(op);
    if (!def || def->attrs != schema::Attrs::NONE || op == Op::If) continue;
    ModelIr model;
    Builder b(model);
    std::vector<TensorId> in, out;
    for (int i = 0; i < def->min_inputs; ++i) in.push_back(b.tensor(test::numbered("x", size_t(i))));
    out.push_back(b.tensor("y"));
    if (op == Op::Requantize || op == Op::DequantizeLinear)
      b.graph().tensor(in[0]).quant = per_tensor_params(DType::Int8, 1, 0);
    if (op == Op::Requantize || op == Op::QuantizeLinear)
      b.graph().tensor(out[0]).quant = per_tensor_params(DType::Int8, 1, 0);
    b.node(op, in, out);
    const Status s = infer_shapes(model, nullptr);
    EXPECT_TRUE(s.ok()) << s.message();
  }
}

}  // namespace
}  // namespace lq
