#include "calibration/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
  const Histogram h =
      histogram_of({0, 1e-6f, -1e-6f, 1.1e-6f, 0.99f, 1.0f, 2047.5f, 2048.0f, -0.5f, -100.0f, NAN, INFINITY, -INFINITY},
                   {-100, 2048});
  EXPECT_EQ(h.limit(), 2048);
  EXPECT_EQ(h.tiny(), 3u);
  EXPECT_EQ(h.positive()[0], 2u);
  EXPECT_EQ(h.positive()[1], 1u);
  EXPECT_EQ(h.positive()[2047], 2u);
  EXPECT_EQ(h.negative()[0], 1u);
  EXPECT_EQ(h.negative()[100], 1u);
  EXPECT_EQ(h.total(), 7u);
  EXPECT_EQ(h.fold()[0], 3u);
  EXPECT_EQ(h.upper_edge(2047), 2048.0);
}

TEST(Histogram, TinyRangeHoldsNothing) {
  const Histogram h = histogram_of({1e-7f, -1e-7f, 0}, {-1e-7f, 1e-7f});
  EXPECT_EQ(h.total(), 0u);
  EXPECT_EQ(h.tiny(), 3u);
}

/// Counts each value where it belongs, which is known once all values are.
std::vector<uint64_t> naive_positive(const std::vector<float>& values, float limit) {
  std::vector<uint64_t> bins(kBins);
  for (float v : values) {
    if (v > kTinyMagnitude) ++bins[size_t(std::min(int(double(v) * kBins / double(limit)), kBins - 1))];
  }
  return bins;
}

TEST(GrowingHistogram, ALimitThatIsNoPowerOfTwoMovesValuesByLessThanABin) {
  std::vector<float> v(200000);
  for (size_t i = 0; i < v.size(); ++i) v[i] = 5.7f * float(i) / float(v.size() - 1);
  const Histogram h = histogram_of(v, {0, 5.7f});
  const std::vector<uint64_t> expected = naive_positive(v, 5.7f);
  uint64_t sum = 0, expected_sum = 0;
  for (size_t b = 0; b < size_t(kBins); ++b) {
    // Uniform values: sharing a fine bin in proportion is right but for rounding; a bin holds 97 or 98.
    EXPECT_NEAR(double(h.positive()[b]), double(expected[b]), 3) << b;
    sum += h.positive()[b], expected_sum += expected[b];
  }
  EXPECT_EQ(sum, expected_sum);
  EXPECT_EQ(h.upper_edge(kBins - 1), double(5.7f));
}

TEST(GrowingHistogram, GrowingAndMergingDoNotShow) {
  // Parts of very different size, so that some grow late and some by many doublings at once.
  std::vector<float> v(6000);
  for (size_t i = 0; i < v.size(); ++i) v[i] = std::sin(float(i) * 0.7f) * std::ldexp(1.0f, int(i / 500) * 3 - 20);
  v[10] = 0, v[5999] = -3e4f;
  RangeStats whole;
  whole.add(v.data(), v.size(), "s");
  const Histogram expected = histogram_of(v, whole.range());
  for (const bool backwards : {false, true}) {
    GrowingHistogram first, second;
    RangeStats joined;
    for (size_t k = 0; k < 12; ++k) {
      const size_t part = backwards ? 11 - k : k;
      RangeStats own;
      own.add(v.data() + part * 500, 500, "s");
      joined.merge(own);
      (k % 3 == 0 ? first : second).add(v.data() + part * 500, 500, own.range());
    }
    EXPECT_EQ(joined.range().max, whole.range().max);
    EXPECT_EQ(joined.finite, whole.finite);
    first.merge(second);
    first.merge(GrowingHistogram());
    const Histogram h = first.over(joined.range());
    EXPECT_EQ(h.positive(), expected.positive());
    EXPECT_EQ(h.negative(), expected.negative());
    EXPECT_EQ(h.tiny(), expected.tiny());
    EXPECT_EQ(h.total() + h.tiny(), v.size());
  }
}

TEST(GrowingHistogram, APowerOfTwoFallsIntoTheSameBinBeforeAndAfterGrowing) {
  // Over [0, 2] a bin is 1/1024 wide, so 1.0 begins bin 1024 and 0.5 bin 512, whichever part comes first.
  const std::vector<std::vector<float>> parts = {{0.5f, -0.5f}, {1.0f, -1.0f}, {2.0f}};
  for (const std::vector<size_t>& order : {std::vector<size_t>{0, 1, 2}, {2, 1, 0}, {1, 0, 2}}) {
    GrowingHistogram one, merged;
    for (size_t part : order) {
      const std::vector<float>& v = parts[part];
      RangeStats own;
      own.add(v.data(), v.size(), "s");
      one.add(v.data(), v.size(), own.range());
      GrowingHistogram alone;
      alone.add(v.data(), v.size(), own.range());
      merged.merge(alone);
    }
    for (const Histogram& h : {one.over({-1, 2}), merged.over({-1, 2})}) {
      for (size_t b : {512, 1024, 2047}) EXPECT_EQ(h.positive()[b], 1u) << b;
      for (size_t b : {512, 1024}) EXPECT_EQ(h.negative()[b], 1u) << b;
      EXPECT_EQ(h.total(), 5u);
    }
  }
}

TEST(GrowingHistogram, HoldsTheLargestFloat) {
  const float most = std::numeric_limits<float>::max();
  const Histogram h = histogram_of({most, -most, 1.0f}, {-most, most});
  EXPECT_EQ(h.positive()[kBins - 1], 1u);
  EXPECT_EQ(h.negative()[kBins - 1], 1u);
  EXPECT_EQ(h.positive()[0], 1u);
}

}  // namespace
}  // namespace lq::calibration
