// Shapes and types of elementwise operators, reductions and norms; and what holds for every operator.
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
