// Shapes of products and pooling: convolution, Gemm, MatMul, Einsum, recurrent layers, windows.
// Expected shapes are worked out by hand from the ONNX operator text (opset 17, Resize 18/19); the derivation stands
// beside each where it is not plain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "shape_after.h"

namespace lq {
namespace {

using test::Builder;
using test::conv;
using test::shape_after;
using testing::HasSubstr;
constexpr TensorId kNone = kNoTensor;

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

}  // namespace
}  // namespace lq
