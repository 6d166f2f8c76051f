// Operators that move data: hand-made cases and index arithmetic written out.
#include <gmock/gmock.h>

#include <numeric>

#include "runtime/op_runner.h"

namespace lq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::OpTest;

std::vector<int32_t> iota(size_t n) {
  std::vector<int32_t> v(n);
  std::iota(v.begin(), v.end(), 0);
  return v;
}

// Every permutation of a shape large enough for the tiled path, against y[i] = x[perm⁻¹(i)] one element at a time.
TEST(Data, TransposeAllPermutations) {
  const Shape shape = {5, 40, 3, 33};
  std::vector<int32_t> perm = {0, 1, 2, 3};
  do {
    OpTest t;
    t.op(Op::Transpose, {t.constant<int32_t>(shape, iota(5 * 40 * 3 * 33))});
    t.attrs<schema::TransposeAttrsT>().perm = perm;
    const std::vector<int32_t> y = t.result<int32_t>();
    size_t at = 0;
    int64_t i[4];
    const auto extent = [&](int d) { return shape[size_t(perm[size_t(d)])]; };
    for (i[0] = 0; i[0] < extent(0); ++i[0])
      for (i[1] = 0; i[1] < extent(1); ++i[1])
        for (i[2] = 0; i[2] < extent(2); ++i[2])
          for (i[3] = 0; i[3] < extent(3); ++i[3]) {
            int64_t x[4];
            for (int d = 0; d < 4; ++d) x[perm[size_t(d)]] = i[d];
            ASSERT_EQ(y[at++], ((x[0] * 40 + x[1]) * 3 + x[2]) * 33 + x[3]);
          }
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(Data, SliceBackwardsAndClamped) {
  OpTest t;
  t.op(Op::Slice, {t.constant<int32_t>({3, 4}, iota(12)), t.ints("s", {-1, 1}), t.ints("e", {INT64_MIN, 1000}),
                   t.ints("a", {0, -1}), t.ints("st", {-2, 2})});
  EXPECT_THAT(t.result<int32_t>(), ElementsAre(9, 11, 1, 3));  // rows 2 and 0, columns 1 and 3
}

TEST(Data, SplitUnevenAndConcatBack) {
  OpTest t;
  const TensorId x = t.constant<int32_t>({2, 5}, iota(10));
  t.op(Op::Split, {x, t.ints("sizes", {1, 0, 4})}, 3);
  t.attrs<schema::AxisAttrsT>().axis = 1;
  ASSERT_TRUE(t.run().ok());
  EXPECT_THAT(t.values<int32_t>(t.graph().outputs[0]), ElementsAre(0, 5));
  EXPECT_TRUE(t.values<int32_t>(t.graph().outputs[1]).empty());
  EXPECT_THAT(t.values<int32_t>(t.graph().outputs[2]), ElementsAre(1, 2, 3, 4, 6, 7, 8, 9));
  OpTest back;
  back.op(Op::Concat, {back.constant<int32_t>({2, 1}, {0, 5}), back.constant<int32_t>({2, 0}, {}),
                       back.constant<int32_t>({2, 2}, {1, 2, 6, 7})});
  back.attrs<schema::AxisAttrsT>().axis = -1;
  EXPECT_THAT(back.result<int32_t>(), ElementsAre(0, 1, 2, 5, 6, 7));
}

TEST(Data, GatherNegativeIndexAndRange) {
  OpTest t;
  t.op(Op::Gather, {t.constant<int32_t>({2, 3}, iota(6)), t.constant<int64_t>({2, 1}, {-1, 0})});
  t.attrs<schema::AxisAttrsT>().axis = 1;
  EXPECT_THAT(t.result<int32_t>(), ElementsAre(2, 0, 5, 3));
  OpTest bad;
  bad.op(Op::Gather, {bad.constant<int32_t>({2, 3}, iota(6)), bad.constant<int32_t>({1}, {2})});
  const Status status = bad.run();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("index 2"));
}

std::vector<float> pad(schema::PadMode mode, std::vector<int64_t> pads) {
  OpTest t;
  t.op(Op::Pad, {t.constant<float>({3}, {1, 2, 3}), t.ints("pads", pads), t.constant<float>({}, {9})});
  t.attrs<schema::PadAttrsT>().mode = mode;
  return t.result<float>();
}
TEST(Data, PadModes) {
  EXPECT_THAT(pad(schema::PadMode::Constant, {1, 2}), ElementsAre(9, 1, 2, 3, 9, 9));
  EXPECT_THAT(pad(schema::PadMode::Constant, {-1, 1}), ElementsAre(2, 3, 9));
  EXPECT_THAT(pad(schema::PadMode::Reflect, {2, 2}), ElementsAre(3, 2, 1, 2, 3, 2, 1));
  EXPECT_THAT(pad(schema::PadMode::Edge, {2, 1}), ElementsAre(1, 1, 1, 2, 3, 3));
  EXPECT_THAT(pad(schema::PadMode::Wrap, {2, 1}), ElementsAre(2, 3, 1, 2, 3, 1));
}

TEST(Data, PadNamedAxesOnly) {
  OpTest t;
  t.op(Op::Pad, {t.constant<int32_t>({2, 2}, {1, 2, 3, 4}), t.ints("pads", {0, 1}), kNoTensor, t.ints("axes", {-1})});
  EXPECT_THAT(t.result<int32_t>(), ElementsAre(1, 2, 0, 3, 4, 0));
}

// Quantized data: the border is Quantize(value) with the tensor's own parameters: 1.0 / 0.5 + 10 = 12.
TEST(Data, PadOfQuantizedTensorQuantizesItsValue) {
  OpTest t;
  const TensorId x = t.input("x", {2}, DType::Int8);
  const TensorId y = t.node(Op::Pad, {x, t.ints("pads", {1, 0}), t.constant<float>({}, {1})}, {3}, DType::Int8);
  t.output(y);
  t.graph().tensor(x).quant = per_tensor_params(DType::Int8, 0.5f, 10);
  t.graph().tensor(y).quant = per_tensor_params(DType::Int8, 0.5f, 10);
  EXPECT_THAT(testing::run_plan<int8_t>(t.model, {{1, 2}}), ElementsAre(12, 1, 2));
}

// ONNX's own example of the two orders: [1, 8, 1, 1] has one value a channel, so the orders differ only in which
// channel lands where: DCR channel = b·C' + c, CRD channel = c·b² + b.
TEST(Data, DepthToSpaceOrders) {
  for (bool crd : {false, true}) {
    OpTest t;
    t.op(Op::DepthToSpace, {t.constant<int32_t>({1, 8, 1, 1}, iota(8))});
    auto& attrs = t.attrs<schema::BlockAttrsT>();
    attrs.block_size = 2;
    attrs.crd = crd;
    if (crd)
      EXPECT_THAT(t.result<int32_t>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    else
      EXPECT_THAT(t.result<int32_t>(), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  }
  OpTest s;
  s.op(Op::SpaceToDepth, {s.constant<int32_t>({1, 1, 2, 4}, iota(8))});
  s.attrs<schema::BlockAttrsT>().block_size = 2;
  EXPECT_THAT(s.result<int32_t>(), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST(Data, TileAndExpand) {
  OpTest t;
  t.op(Op::Tile, {t.constant<int32_t>({2, 2}, iota(4)), t.ints("r", {2, 2})});
  EXPECT_THAT(t.result<int32_t>(), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3));
  OpTest e;
  e.op(Op::Expand, {e.constant<int32_t>({2, 1}, {7, 8}), e.ints("s", {2, 1, 3})});
  EXPECT_THAT(e.result<int32_t>(), ElementsAre(7, 7, 7, 8, 8, 8, 7, 7, 7, 8, 8, 8));
}

TEST(Data, ShapeRangeConstantOfShape) {
  OpTest s;
  s.op(Op::Shape, {s.constant<float>({2, 3}, std::vector<float>(6))});
  s.attrs<schema::ShapeAttrsT>().start = -1;
  EXPECT_THAT(s.result<int64_t>(), ElementsAre(3));
  OpTest r;
  r.op(Op::Range, {r.constant<int32_t>({}, {10}), r.constant<int32_t>({}, {3}), r.constant<int32_t>({}, {-3})});
  EXPECT_THAT(r.result<int32_t>(), ElementsAre(10, 7, 4));
  OpTest c;
  c.op(Op::ConstantOfShape, {c.ints("shape", {2, 2}), c.constant<float>({1}, {1.5f})});
  EXPECT_THAT(c.result<float>(), ElementsAre(1.5f, 1.5f, 1.5f, 1.5f));
}

}  // namespace
}  // namespace lq
