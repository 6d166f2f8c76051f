#include "calibration/histogram.h"

#include <cmath>

#include "calibration_test_util.h"

namespace lq::calibration {
namespace {

TEST(RangeStats, CountsAndNamesWhatIsNotFinite) {
  RangeStats stats;
  const std::vector<float> a{1, -2, NAN, 3, INFINITY, -INFINITY, 0.5f, 0, 0, 4, -1};
  stats.add(a.data(), a.size(), "b.png");
  stats.add(a.data(), 2, "a.png");
  EXPECT_EQ(stats.finite, 10u);
  EXPECT_EQ(stats.nan, 1u);
  EXPECT_EQ(stats.inf, 2u);
  EXPECT_EQ(stats.first_bad_sample, "b.png");
  EXPECT_EQ(stats.range().min, -2);
  EXPECT_EQ(stats.range().max, 4);
}

TEST(RangeStats, EmptyAndAllNan) {
  RangeStats stats;
  EXPECT_EQ(stats.range().max, 0);
  const float nan = NAN;
  stats.add(&nan, 1, "x");
  EXPECT_EQ(stats.range().min, 0);
  EXPECT_EQ(stats.range().max, 0);
}

TEST(RangeStats, NegativeZeroDoesNotShow) {
  RangeStats stats;
  const std::vector<float> zeros(9, -0.0f);
  stats.add(zeros.data(), zeros.size(), "x");
  EXPECT_FALSE(std::signbit(stats.range().min));
  EXPECT_FALSE(std::signbit(stats.range().max));
}

TEST(Histogram, BinsByHand) {
  // limit 2048, so a bin is one unit wide on each side.
  Histogram h(ValueRange{-100, 2048});
  const std::vector<float> v{0,       1e-6f, -1e-6f,  1.1e-6f, 0.99f, 1.0f,    2047.5f,
                             2048.0f, -0.5f, -100.0f, 2048.5f, NAN,   INFINITY};
  h.add(v.data(), v.size());
  EXPECT_EQ(h.limit(), 2048);
  EXPECT_EQ(h.tiny(), 3u);
  EXPECT_EQ(h.positive()[0], 2u);
  EXPECT_EQ(h.positive()[1], 1u);
  EXPECT_EQ(h.positive()[2047], 2u);
  EXPECT_EQ(h.negative()[0], 1u);
  EXPECT_EQ(h.negative()[100], 1u);
  EXPECT_EQ(h.total(), 7u);
  EXPECT_EQ(h.outside(), 3u);
  EXPECT_EQ(h.fold()[0], 3u);
  EXPECT_EQ(h.upper_edge(2047), 2048.0);
}

TEST(Histogram, TinyRangeHoldsNothing) {
  Histogram h(ValueRange{-1e-7f, 1e-7f});
  const std::vector<float> v{1e-7f, -1e-7f, 0};
  h.add(v.data(), v.size());
  EXPECT_EQ(h.total(), 0u);
  EXPECT_EQ(h.tiny(), 3u);
}

TEST(Histogram, PartsMergeToTheWhole) {
  std::vector<float> v(5000);
  for (size_t i = 0; i < v.size(); ++i) v[i] = std::sin(float(i) * 0.7f) * float(i % 13);
  RangeStats whole, a, b;
  whole.add(v.data(), v.size(), "s");
  a.add(v.data(), 1234, "s");
  b.add(v.data() + 1234, v.size() - 1234, "s");
  b.merge(a);
  EXPECT_EQ(b.range().min, whole.range().min);
  EXPECT_EQ(b.range().max, whole.range().max);
  EXPECT_EQ(b.finite, whole.finite);
  Histogram one(whole.range()), first(b.range()), second(b.range());
  one.add(v.data(), v.size());
  first.add(v.data(), 1234);
  second.add(v.data() + 1234, v.size() - 1234);
  ASSERT_TRUE(second.merge(first).ok());
  EXPECT_EQ(one.positive(), second.positive());
  EXPECT_EQ(one.negative(), second.negative());
  EXPECT_EQ(one.total() + one.tiny(), v.size());
  EXPECT_FALSE(one.merge(Histogram(ValueRange{0, 1})).ok());
}

}  // namespace
}  // namespace lq::calibration
