// Expected parameters follow from scale = extent / steps and q = x / scale + zp, written out in the comments.
#include "calibration/activation_params.h"

#include <cmath>

#include "calibration_test_util.h"
#include "numerics/quantize.h"

namespace lq::calibration {
namespace {

constexpr auto kAuto = ActivationMode::kAuto;
constexpr auto kAny = Target::kAny;

QuantParams choose(ValueRange r, ActivationMode mode = kAuto, Target target = kAny) {
  return choose_params(r, r, mode, target);
}
void expect_params(const QuantParams& p, float scale, int zero_point, int qmin = -128, int qmax = 127) {
  ASSERT_TRUE(is_valid_params(p));
  EXPECT_FLOAT_EQ(p.scale[0], scale);
  EXPECT_EQ(zero_point_at(p, 0), zero_point);
  EXPECT_EQ(p.qmin, qmin);
  EXPECT_EQ(p.qmax, qmax);
  EXPECT_EQ(quantize(0.0f, p.scale[0], zero_point, p.qmin, p.qmax), zero_point);  // zero is exact
}

TEST(RangeKind, Kinds) {
  EXPECT_EQ(range_kind({0, 6}), RangeKind::kOneSided);
  EXPECT_EQ(range_kind({1, 6}), RangeKind::kOneSided);
  EXPECT_EQ(range_kind({-6, -1}), RangeKind::kOneSided);
  EXPECT_EQ(range_kind({0, 0}), RangeKind::kOneSided);
  EXPECT_EQ(range_kind({-0.375f, 8}), RangeKind::kLopsided);  // HardSwish
  EXPECT_EQ(range_kind({-8, 1}), RangeKind::kLopsided);
  EXPECT_EQ(range_kind({-5, 6}), RangeKind::kTwoSided);
}

TEST(ChooseParams, Auto) {
  expect_params(choose({0, 255}), 1.0f, -128);   // 255 steps on [0, 255]
  expect_params(choose({10, 255}), 1.0f, -128);  // 0 stays representable
  expect_params(choose({-255, 0}), 1.0f, 127);   // q(−255) = −128
  expect_params(choose({-127, 100}), 1.0f, 0);   // two-sided: T/127
  expect_params(choose({-51, 204}), 1.0f, -77);  // lopsided: −128 + 51
}

TEST(ChooseParams, SymmetricAndAsymmetric) {
  expect_params(choose({0, 254}, ActivationMode::kSymmetric), 2.0f, 0);
  expect_params(choose({-127, 128}, ActivationMode::kAsymmetric), 1.0f, -1);
  expect_params(choose({-51, 204}, ActivationMode::kSymmetric), 204.0f / 127, 0);
}

TEST(ChooseParams, Avx2KeepsTo127) {
  expect_params(choose({0, 127}, kAuto, Target::kAvx2), 1.0f, 0, 0, 127);
  expect_params(choose({-27, 100}, kAuto, Target::kAvx2), 1.0f, 27, 0, 127);
  expect_params(choose({-127, 100}, kAuto, Target::kAvx2), 1.0f, 0);  // two-sided as ever
}

TEST(ChooseParams, TheThresholdClips) {
  expect_params(choose_params({0, 1000}, {0, 255}, kAuto, kAny), 1.0f, -128);
  // The kind comes from the range: a lopsided tensor whose clipped range looks two-sided stays asymmetric.
  expect_params(choose_params({-100, 1000}, {-100, 155}, kAuto, kAny), 1.0f, -28);
}

TEST(ChooseParams, Guards) {
  expect_params(choose({0, 0}), 1.0f, -128);
  expect_params(choose({0, 0}, ActivationMode::kSymmetric), 1.0f, 0);
  expect_params(choose({0, 1e-40f}), 1.0f, -128);
  expect_params(choose({NAN, NAN}), 1.0f, -128);
  expect_params(choose({0, INFINITY}), 1.0f, -128);
  EXPECT_TRUE(is_valid_params(choose({-3e38f, 3e38f}, ActivationMode::kAsymmetric)));
  EXPECT_TRUE(is_valid_params(choose({-3.4e38f, 1})));
}

TEST(LevelsFor, ByKind) {
  EXPECT_EQ(levels_for({0, 6}, kAuto, kAny), 256);
  EXPECT_EQ(levels_for({-6, 6}, kAuto, kAny), 128);
  EXPECT_EQ(levels_for({0, 6}, ActivationMode::kSymmetric, kAny), 128);
  EXPECT_EQ(levels_for({-6, 6}, ActivationMode::kAsymmetric, kAny), 128);  // half of 256
  EXPECT_EQ(levels_for({-1, 3}, kAuto, kAny), 192);                        // 256·3/4
  EXPECT_EQ(levels_for({0, 6}, kAuto, Target::kAvx2), 128);
  EXPECT_EQ(levels_for({0, 0}, kAuto, kAny), 256);
}

TEST(ClippedShare, ByHand) {
  const Histogram h =
      histogram_of({0, 0.5f, 10.5f, 2047.5f, -2047.5f, -3.5f, 1.5f, 2.5f, 3.5f, 4.5f}, {-2048, 2048});
  EXPECT_DOUBLE_EQ(clipped_share(h, {-10, 10}), 0.3);
  EXPECT_DOUBLE_EQ(clipped_share(h, {-2048, 2048}), 0);
}

}  // namespace
}  // namespace lq::calibration
