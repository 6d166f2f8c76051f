// Resize of floats. Expected values: the ONNX operator documentation's examples, or worked out here.
#include <gmock/gmock.h>

#include "runtime/op_runner.h"

namespace lq {
namespace {

using schema::CoordinateMode;
using schema::NearestMode;
using schema::ResizeMode;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using testing::OpTest;
using ::testing::Pointwise;

struct Case {
  ResizeMode mode;
  CoordinateMode coordinates = CoordinateMode::HalfPixel;
  NearestMode nearest = NearestMode::RoundPreferFloor;
  std::vector<float> scales = {};
  std::vector<int64_t> sizes = {};
  std::vector<float> roi = {};
  float extrapolation = 0;
};

std::vector<float> resize(const Case& c, Shape shape, std::vector<float> x) {
  OpTest t;
  const TensorId scales = c.scales.empty() ? kNoTensor : t.floats("scales", {int64_t(c.scales.size())}, c.scales);
  const TensorId sizes = c.sizes.empty() ? kNoTensor : t.ints("sizes", c.sizes);
  t.op(Op::Resize, {t.constant<float>(shape, x), scales, sizes});
  auto& attrs = t.attrs<schema::ResizeAttrsT>();
  attrs.mode = c.mode;
  attrs.coordinate_mode = c.coordinates;
  attrs.nearest_mode = c.nearest;
  attrs.roi = c.roi;
  attrs.extrapolation_value = c.extrapolation;
  return t.result<float>();
}

const std::vector<float> kFour = {1, 2, 3, 4};

TEST(Resize, LinearDoubles) {
  EXPECT_THAT(resize({.mode = ResizeMode::Linear, .scales = {1, 1, 2, 2}}, {1, 1, 2, 2}, kFour),
              ElementsAre(1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4));
}

TEST(Resize, LinearAlignCorners) {
  const std::vector<float> y =
      resize({.mode = ResizeMode::Linear, .coordinates = CoordinateMode::AlignCorners, .scales = {1, 1, 2, 2}},
             {1, 1, 2, 2}, kFour);
  EXPECT_THAT(y, Pointwise(FloatNear(1e-6f), std::vector<float>{1, 1.33333333f, 1.66666667f, 2, 1.66666667f, 2,
                                                                2.33333333f, 2.66666667f, 2.33333333f, 2.66666667f, 3,
                                                                3.33333333f, 3, 3.33333333f, 3.66666667f, 4}));
}

TEST(Resize, LinearDownByScaleThatIsNoInteger) {
  EXPECT_THAT(
      resize({.mode = ResizeMode::Linear, .scales = {1, 1, 0.6f, 0.6f}}, {1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
      Pointwise(FloatNear(1e-6f), {2.6666665f, 4.3333331f}));
}

// Cubic, a = −0.75, at fraction 1/4 and 3/4 from a row 1 2 3 4, positions outside repeated: position 0 lies at −0.25,
// so its weights at offsets −2 … 1 (t = 1.75, 0.75, 0.25, 1.25) are −0.03515625, 0.26171875, 0.87890625, −0.10546875
// (sum 1).
TEST(Resize, CubicRow) {
  const std::vector<float> y = resize({.mode = ResizeMode::Cubic, .scales = {1, 1, 1, 2}}, {1, 1, 1, 4}, kFour);
  ASSERT_EQ(y.size(), 8u);
  EXPECT_NEAR(y[0], (-0.03515625f + 0.26171875f + 0.87890625f) * 1 - 0.10546875f * 2, 1e-6f);
  // position 3 lies at 1.25: values 1 2 3 4 with weights at t = 1.25, 0.25, 0.75, 1.75
  EXPECT_NEAR(y[3], -0.10546875f * 1 + 0.87890625f * 2 + 0.26171875f * 3 - 0.03515625f * 4, 1e-6f);
}

TEST(Resize, NearestModes) {
  const auto row = [](NearestMode mode, CoordinateMode coordinates) {
    return resize({.mode = ResizeMode::Nearest, .coordinates = coordinates, .nearest = mode, .scales = {1, 2}}, {1, 2},
                  {1, 2});
  };
  // half_pixel: −0.25, 0.25, 0.75, 1.25; asymmetric: 0, 0.5, 1, 1.5
  EXPECT_THAT(row(NearestMode::RoundPreferFloor, CoordinateMode::HalfPixel), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(row(NearestMode::Ceil, CoordinateMode::HalfPixel), ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(row(NearestMode::RoundPreferFloor, CoordinateMode::Asymmetric), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(row(NearestMode::RoundPreferCeil, CoordinateMode::Asymmetric), ElementsAre(1, 2, 2, 2));
}

TEST(Resize, NearestBySizes) {
  EXPECT_THAT(resize({.mode = ResizeMode::Nearest,
                      .coordinates = CoordinateMode::Asymmetric,
                      .nearest = NearestMode::Floor,
                      .sizes = {1, 1, 1, 3}},
                     {1, 1, 2, 2}, kFour),
              ElementsAre(1, 1, 2));
}

// Region [0, 2] of a row of 3: positions 0, 2, 4; the last lies outside.
TEST(Resize, CropTakesExtrapolationValueOutside) {
  for (ResizeMode mode : {ResizeMode::Linear, ResizeMode::Nearest}) {
    const Case c{.mode = mode,
                 .coordinates = CoordinateMode::TfCropAndResize,
                 .sizes = {1, 3},
                 .roi = {0, 0, 1, 2},
                 .extrapolation = 10};
    EXPECT_THAT(resize(c, {1, 3}, {1, 2, 3}), ElementsAre(1, 3, 10));
  }
}

TEST(Resize, BlockedEqualsLinear) {
  for (ResizeMode mode : {ResizeMode::Linear, ResizeMode::Cubic, ResizeMode::Nearest}) {
    std::vector<float> linear(2 * 3 * 5), blocked(8 * 3 * 5, 0.0f);
    for (size_t i = 0; i < linear.size(); ++i) {
      linear[i] = float(i * i % 17);
      blocked[i % 15 * 8 + i / 15] = linear[i];
    }
    const auto run = [mode](int blocked_axis, const std::vector<float>& x) {
      OpTest t;
      const TensorId in = t.input("x", {1, 2, 3, 5}), sizes = t.ints("sizes", {1, 2, 7, 4});
      const TensorId y = t.node(Op::Resize, {in, kNoTensor, sizes}, {1, 2, 7, 4});
      t.attrs<schema::ResizeAttrsT>().mode = mode;
      t.output(y);
      for (TensorId id : {in, y}) t.graph().tensor(id).blocked_axis = blocked_axis;
      return testing::run_plan(t.model, {x}, 2);
    };
    const std::vector<float> a = run(-1, linear), b = run(1, blocked);
    ASSERT_EQ(b.size(), 8u * 28);
    for (size_t i = 0; i < b.size(); ++i) EXPECT_EQ(b[i], i % 8 < 2 ? a[i % 8 * 28 + i / 8] : 0.0f);
  }
}

}  // namespace
}  // namespace lq
