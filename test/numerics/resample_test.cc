// Coordinates and Q11 weights of Resize.
#include "numerics/resample.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lq {
namespace {

using schema::CoordinateMode;
using schema::NearestMode;

ResampleAxis axis_of(int64_t in, int64_t out, Fraction scale, CoordinateMode mode) {
  ResampleAxis a;
  a.in = in;
  a.out = out;
  a.scale = scale;
  a.mode = mode;
  return a;
}

TEST(Resample, SimplestFraction) {
  const auto expect = [](float value, int64_t num, int64_t den) {
    const std::optional<Fraction> f = simplest_fraction(value);
    ASSERT_TRUE(f.has_value()) << value;
    EXPECT_EQ(f->num, num) << value;
    EXPECT_EQ(f->den, den) << value;
  };
  expect(2.0f, 2, 1);
  expect(0.5f, 1, 2);
  expect(0.6f, 3, 5);
  expect(1.0f / 3, 1, 3);
  expect(4.0f / 3, 4, 3);
  expect(416.0f / 13, 32, 1);
  expect(13.0f / 7, 13, 7);
  expect(-1.7f, -17, 10);
  expect(0.0f, 0, 1);
  for (int64_t num = 1; num < 300; num += 7) {
    for (int64_t den = 1; den < 300; den += 11) {
      const std::optional<Fraction> f = simplest_fraction(float(num) / float(den));
      ASSERT_TRUE(f.has_value());
      EXPECT_EQ(f->num * den, num * f->den);  // small fractions come back as they were
    }
  }
  EXPECT_EQ(float(double(simplest_fraction(0.7234567f)->num) / double(simplest_fraction(0.7234567f)->den)), 0.7234567f);
  EXPECT_FALSE(simplest_fraction(INFINITY).has_value());
  EXPECT_FALSE(simplest_fraction(NAN).has_value());
  EXPECT_FALSE(simplest_fraction(1e-20f).has_value());
  EXPECT_FALSE(simplest_fraction(1e20f).has_value());
}

double value_of(const ResampleAxis& axis, int64_t x) {
  const Result<Fraction> c = source_coordinate(axis, x);
  EXPECT_TRUE(c.ok());
  return double(c->num) / double(c->den);
}

// The formulas of the ONNX Resize page, worked out for x = 3, 5 -> 8.
TEST(Resample, Coordinates) {
  const Fraction s = {8, 5};
  EXPECT_DOUBLE_EQ(value_of(axis_of(5, 8, s, CoordinateMode::HalfPixel), 3), 3.5 / 1.6 - 0.5);
  EXPECT_DOUBLE_EQ(value_of(axis_of(5, 8, s, CoordinateMode::PytorchHalfPixel), 3), 3.5 / 1.6 - 0.5);
  EXPECT_DOUBLE_EQ(value_of(axis_of(5, 1, {1, 5}, CoordinateMode::PytorchHalfPixel), 0), 0);
  EXPECT_DOUBLE_EQ(value_of(axis_of(5, 8, s, CoordinateMode::AlignCorners), 3), 3.0 * 4 / 7);
  EXPECT_DOUBLE_EQ(value_of(axis_of(5, 1, {1, 5}, CoordinateMode::AlignCorners), 0), 0);
  EXPECT_DOUBLE_EQ(value_of(axis_of(5, 8, s, CoordinateMode::Asymmetric), 3), 3 / 1.6);
  EXPECT_DOUBLE_EQ(value_of(axis_of(5, 8, s, CoordinateMode::TfHalfPixelForNn), 3), 3.5 / 1.6);
  // length 5·1.7 = 8.5, adjustment 8 / 8.5
  EXPECT_DOUBLE_EQ(value_of(axis_of(5, 8, {17, 10}, CoordinateMode::HalfPixelSymmetric), 3),
                   2.5 * (1 - 8 / 8.5) + 3.5 / 1.7 - 0.5);
  ResampleAxis crop = axis_of(5, 8, s, CoordinateMode::TfCropAndResize);
  crop.roi_start = {1, 5};
  crop.roi_end = {3, 2};
  EXPECT_DOUBLE_EQ(value_of(crop, 3), 0.2 * 4 + 3 * 1.3 * 4 / 7);
  crop.out = 1;
  EXPECT_DOUBLE_EQ(value_of(crop, 0), 0.5 * 1.7 * 4);
  crop.roi_start = {(int64_t(1) << 40) + 1, int64_t(1) << 41};
  crop.roi_end = {(int64_t(1) << 40) - 1, (int64_t(1) << 41) - 1};
  EXPECT_EQ(source_coordinate(crop, 0).status().code(), StatusCode::kUnsupported);
}

TEST(Resample, NearestRoundings) {
  const auto all = [](Fraction c) {
    return std::vector<int64_t>{nearest_index(c, NearestMode::RoundPreferFloor, 10),
                                nearest_index(c, NearestMode::RoundPreferCeil, 10),
                                nearest_index(c, NearestMode::Floor, 10), nearest_index(c, NearestMode::Ceil, 10)};
  };
  EXPECT_EQ(all({5, 2}), (std::vector<int64_t>{2, 3, 2, 3}));
  EXPECT_EQ(all({12, 5}), (std::vector<int64_t>{2, 2, 2, 3}));
  EXPECT_EQ(all({13, 5}), (std::vector<int64_t>{3, 3, 2, 3}));
  EXPECT_EQ(all({4, 2}), (std::vector<int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(all({-1, 2}), (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(all({19, 2}), (std::vector<int64_t>{9, 9, 9, 9}));
}

TEST(Resample, WeightsSumAndStayClose) {
  for (int64_t in : {1, 2, 3, 7, 56}) {
    for (int64_t out : {1, 2, 5, 13, 224}) {
      for (int mode = 0; mode <= int(CoordinateMode::HalfPixelSymmetric); ++mode) {
        for (int options = 0; options < 8; ++options) {
          ResampleKernel k;
          k.cubic = options & 1;
          k.exclude_outside = options & 2;
          k.antialias = options & 4;
          const ResampleAxis axis = axis_of(in, out, {out, in}, CoordinateMode(mode));
          const Result<ResampleTaps> t = resample_taps(axis, k);
          ASSERT_TRUE(t.ok()) << t.status().message();
          for (int64_t x = 0; x < out; ++x) {
            int32_t sum = 0;
            for (int i = 0; i < t->taps; ++i) {
              const size_t at = size_t(x * t->taps + i);
              sum += t->weight[at];
              ASSERT_GE(t->index[at], 0);
              ASSERT_LT(t->index[at], in);
            }
            ASSERT_EQ(sum, 2048);
            if (k.cubic || k.exclude_outside || k.antialias) continue;
            const double c = value_of(axis, x), f = c - std::floor(c);
            ASSERT_NEAR(t->weight[size_t(2 * x + 1)], 2048 * f, 0.5 + 1e-9);
          }
        }
      }
    }
  }
}

// Cubic halves with a = −0.75: −3/32, 19/32, 19/32, −3/32, by hand.
TEST(Resample, CubicHalf) {
  ResampleKernel k;
  k.cubic = true;
  const ResampleTaps t = *resample_taps(axis_of(4, 8, {2, 1}, CoordinateMode::Asymmetric), k);
  const std::vector<int32_t> half(t.weight.begin() + 4, t.weight.begin() + 8),
      whole(t.weight.begin(), t.weight.begin() + 4);
  EXPECT_EQ(half, (std::vector<int32_t>{-192, 1216, 1216, -192}));
  EXPECT_EQ(whole, (std::vector<int32_t>{0, 2048, 0, 0}));
}

// Antialias 4 -> 2 linear: the triangle of half-width 2 around 0.5 gives 1, 3, 3, 1 eighths of positions −1…2.
TEST(Resample, AntialiasHalves) {
  ResampleKernel k;
  k.antialias = true;
  const ResampleTaps t = *resample_taps(axis_of(4, 2, {1, 2}, CoordinateMode::HalfPixel), k);
  ASSERT_EQ(t.taps, 4);
  EXPECT_EQ(std::vector<int32_t>(t.weight.begin(), t.weight.begin() + 4), (std::vector<int32_t>{256, 768, 768, 256}));
  EXPECT_EQ(std::vector<int32_t>(t.index.begin(), t.index.begin() + 4), (std::vector<int32_t>{0, 0, 1, 2}));
}

TEST(Resample, RefusesNonsense) {
  EXPECT_FALSE(resample_taps(axis_of(0, 2, {1, 1}, CoordinateMode::HalfPixel), {}).ok());
  EXPECT_FALSE(resample_taps(axis_of(2, 2, {0, 1}, CoordinateMode::HalfPixel), {}).ok());
  ResampleKernel k;
  k.cubic = true;
  k.cubic_a = 1e300;
  EXPECT_FALSE(resample_taps(axis_of(4, 7, {7, 4}, CoordinateMode::HalfPixel), k).ok());
}

}  // namespace
}  // namespace lq
