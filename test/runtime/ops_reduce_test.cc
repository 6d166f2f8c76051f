// Reductions, normalizations, Softmax, ArgMax, TopK.
#include <gmock/gmock.h>

#include <cmath>

#include "runtime/op_runner.h"

namespace lq {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using testing::OpTest;
using ::testing::Pointwise;

// The canonical sum written out (docs/NUMERICS.md): partial i % 8, joined as a fixed tree.
float canonical_sum(const std::vector<float>& v) {
  float p[8] = {};
  for (size_t i = 0; i < v.size(); ++i) p[i % 8] += v[i];
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

// Values of very different size, so that another order gives another sum.
float rough(size_t i) { return std::ldexp(float(int(i * 2654435761u % 2001) - 1000), int(i * 7 % 23) - 11); }

TEST(Reduce, SumOrderOverEveryAxisChoice) {
  const Shape shape = {3, 19, 18};
  std::vector<float> x(3 * 19 * 18);
  for (size_t i = 0; i < x.size(); ++i) x[i] = rough(i);
  for (unsigned mask = 1; mask < 8; ++mask) {
    OpTest t;
    std::vector<int64_t> axes;
    for (int a = 0; a < 3; ++a) {
      if (mask >> a & 1) axes.push_back(a);
    }
    t.op(Op::ReduceSum, {t.constant<float>(shape, x), t.ints("axes", axes)});
    const std::vector<float> y = t.result<float>();
    // Collect, for each output, its elements in row-major order.
    std::vector<std::vector<float>> groups;
    std::vector<int64_t> keys;
    for (int64_t i = 0; i < int64_t(x.size()); ++i) {
      const int64_t at[3] = {i / (19 * 18), i / 18 % 19, i % 18};
      int64_t key = 0;
      for (int a = 0; a < 3; ++a) key = key * 100 + (mask >> a & 1 ? 0 : at[a]);
      size_t g = 0;
      while (g < keys.size() && keys[g] != key) ++g;
      if (g == keys.size()) {
        keys.push_back(key);
        groups.emplace_back();
      }
      groups[g].push_back(x[size_t(i)]);
    }
    ASSERT_EQ(y.size(), groups.size());
    for (size_t g = 0; g < groups.size(); ++g) EXPECT_EQ(y[g], canonical_sum(groups[g])) << "axes mask " << mask;
  }
}

TEST(Reduce, MeanMaxMinProdL2) {
  const auto reduce = [](Op op) {
    OpTest t;
    t.op(op, {t.constant<float>({2, 3}, {1, -2, 3, 4, 0, -5}), t.ints("axes", {-1})});
    t.attrs<schema::ReduceAttrsT>().keepdims = false;
    return t.result<float>();
  };
  EXPECT_THAT(reduce(Op::ReduceMean), ElementsAre(2.0f / 3, -1.0f / 3));
  EXPECT_THAT(reduce(Op::ReduceMax), ElementsAre(3, 4));
  EXPECT_THAT(reduce(Op::ReduceMin), ElementsAre(-2, -5));
  EXPECT_THAT(reduce(Op::ReduceProd), ElementsAre(-6, 0));
  EXPECT_THAT(reduce(Op::ReduceL2), ElementsAre(std::sqrt(14.0f), std::sqrt(41.0f)));
}

TEST(Reduce, IntegersAndEmptyAxes) {
  OpTest t;
  t.op(Op::ReduceMax, {t.constant<int8_t>({4}, {-7, -3, -128, -5})});
  EXPECT_THAT(t.result<int8_t>(), ElementsAre(-3));
  OpTest mean;
  mean.op(Op::ReduceMean, {mean.constant<int32_t>({2}, {-7, 2})});
  EXPECT_THAT(mean.result<int32_t>(), ElementsAre(-2));
  OpTest none;
  none.op(Op::ReduceL2, {none.constant<float>({2}, {-3, 4}), none.ints("axes", {})});
  none.attrs<schema::ReduceAttrsT>().noop_with_empty_axes = true;
  EXPECT_THAT(none.result<float>(), ElementsAre(-3, 4));
}

TEST(Norm, BatchInstanceLayer) {
  OpTest b;
  b.op(Op::BatchNormalization,
       {b.constant<float>({1, 2, 1, 2}, {1, 3, 5, 7}), b.constant<float>({2}, {2, 1}), b.constant<float>({2}, {0, 10}),
        b.constant<float>({2}, {1, 5}), b.constant<float>({2}, {4, 1})});
  b.attrs<schema::NormAttrsT>().epsilon = 0;
  EXPECT_THAT(b.result<float>(), ElementsAre(0, 2, 10, 12));
  OpTest i;  // mean 2, var 1 and mean 6, var 1
  i.op(Op::InstanceNormalization,
       {i.constant<float>({1, 2, 2}, {1, 3, 5, 7}), i.constant<float>({2}, {2, 1}), i.constant<float>({2}, {0, 10})});
  i.attrs<schema::NormAttrsT>().epsilon = 0;
  EXPECT_THAT(i.result<float>(), ElementsAre(-2, 2, 9, 11));
  OpTest l;
  l.op(Op::LayerNormalization,
       {l.constant<float>({2, 2}, {1, 3, 5, 15}), l.constant<float>({2}, {2, 3}), l.constant<float>({1}, {1})});
  l.attrs<schema::NormAttrsT>().epsilon = 0;
  EXPECT_THAT(l.result<float>(), ElementsAre(-1, 4, -1, 4));
}

TEST(Softmax, SumsToOneAlongEveryAxisAndSurvivesLargeNumbers) {
  for (int axis : {0, 1, -1}) {
    OpTest t;
    std::vector<float> x(7 * 5 * 21);
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 13) - 6;
    t.op(Op::Softmax, {t.constant<float>({7, 5, 21}, x)});
    t.attrs<schema::AxisAttrsT>().axis = axis;
    const std::vector<float> y = t.result<float>();
    const size_t inner = axis == 0 ? 105 : axis == 1 ? 21 : 1, n = axis == 0 ? 7 : axis == 1 ? 5 : 21;
    for (size_t start = 0; start < y.size(); ++start) {
      if (start / inner % n != 0) continue;
      double sum = 0, wanted = 0;
      for (size_t k = 0; k < n; ++k) {
        sum += double(y[start + k * inner]);
        wanted += std::exp(double(x[start + k * inner]));
      }
      EXPECT_NEAR(sum, 1, 1e-6);
      EXPECT_NEAR(y[start], std::exp(double(x[start])) / wanted, 1e-7);
    }
  }
  OpTest large;  // e^{-1}/(1 + e^{-1}) …
  large.op(Op::LogSoftmax, {large.constant<float>({1, 2}, {10000, 10001})});
  large.attrs<schema::AxisAttrsT>().axis = -1;
  EXPECT_THAT(large.result<float>(), Pointwise(FloatNear(1e-6f), {-1.3132617f, -0.3132617f}));
}

TEST(Sort, ArgMaxTies) {
  const auto arg = [](bool last, bool keep) {
    OpTest t;
    t.op(Op::ArgMax, {t.constant<float>({2, 3}, {2, 5, 5, 1, 1, 0})});
    auto& attrs = t.attrs<schema::ArgMaxAttrsT>();
    attrs.axis = 1;
    attrs.select_last_index = last;
    attrs.keepdims = keep;
    return t.result<int64_t>();
  };
  EXPECT_THAT(arg(false, true), ElementsAre(1, 0));
  EXPECT_THAT(arg(true, false), ElementsAre(2, 1));
  OpTest t;
  t.op(Op::ArgMin, {t.constant<int32_t>({2, 2}, {3, 1, 2, 1})});
  EXPECT_THAT(t.result<int64_t>(), ElementsAre(1, 0));
}

TEST(Sort, TopKTiesAndNaN) {
  OpTest t;
  t.op(Op::TopK, {t.constant<float>({6}, {1, NAN, 7, 7, -2, 3}), t.ints("k", {4})}, 2);
  ASSERT_TRUE(t.run().ok());
  EXPECT_THAT(t.values<float>(t.graph().outputs[0]), ElementsAre(7, 7, 3, 1));
  EXPECT_THAT(t.values<int64_t>(t.graph().outputs[1]), ElementsAre(2, 3, 5, 0));
  OpTest s;  // smallest, along the first axis
  s.op(Op::TopK, {s.constant<int32_t>({3, 2}, {5, 1, 4, 2, 6, 0}), s.ints("k", {2})}, 2);
  auto& attrs = s.attrs<schema::TopKAttrsT>();
  attrs.axis = 0;
  attrs.largest = false;
  ASSERT_TRUE(s.run().ok());
  EXPECT_THAT(s.values<int32_t>(s.graph().outputs[0]), ElementsAre(4, 0, 5, 1));
  EXPECT_THAT(s.values<int64_t>(s.graph().outputs[1]), ElementsAre(1, 2, 0, 0));
}

}  // namespace
}  // namespace lq
