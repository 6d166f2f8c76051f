// int8 Resize: ONNX's float vectors within half a step, and the exact rule against naive loops in every layout.
#include "kernels/op_case.h"
#include "numerics/resample.h"

namespace lq::test {
namespace {

using schema::CoordinateMode;
using schema::ResizeMode;

schema::ResizeAttrsT attrs_of(ResizeMode mode, CoordinateMode coordinates) {
  schema::ResizeAttrsT a;
  a.mode = mode;
  a.coordinate_mode = coordinates;
  return a;
}

struct Vector {
  const char* name;  // of the ONNX node test the numbers come from
  schema::ResizeAttrsT attrs;
  int64_t height, width;  // of the input, which counts 1, 2, 3, …
  std::vector<float> scales;
  std::vector<int64_t> sizes;
  Shape out;
  std::vector<float> expected;
};

std::vector<Vector> onnx_vectors() {
  std::vector<Vector> v;
  const auto linear = [](CoordinateMode m) { return attrs_of(ResizeMode::Linear, m); };
  const auto cubic = [](CoordinateMode m) { return attrs_of(ResizeMode::Cubic, m); };
  v.push_back({"upsample_scales_linear",
               linear(CoordinateMode::HalfPixel),
               2,
               2,
               {1, 1, 2, 2},
               {},
               {1, 1, 4, 4},
               {1, 1.25f, 1.75f, 2, 1.5f, 1.75f, 2.25f, 2.5f, 2.5f, 2.75f, 3.25f, 3.5f, 3, 3.25f, 3.75f, 4}});
  v.push_back({"upsample_scales_linear_align_corners",
               linear(CoordinateMode::AlignCorners),
               2,
               2,
               {1, 1, 2, 2},
               {},
               {1, 1, 4, 4},
               {1, 1.33333f, 1.66667f, 2, 1.66667f, 2, 2.33333f, 2.66667f, 2.33333f, 2.66667f, 3, 3.33333f, 3, 3.33333f,
                3.66667f, 4}});
  v.push_back({"downsample_scales_linear",
               linear(CoordinateMode::HalfPixel),
               2,
               4,
               {1, 1, 0.6f, 0.6f},
               {},
               {1, 1, 1, 2},
               {2.66667f, 4.33333f}});
  v.push_back({"downsample_scales_linear_align_corners",
               linear(CoordinateMode::AlignCorners),
               2,
               4,
               {1, 1, 0.6f, 0.6f},
               {},
               {1, 1, 1, 2},
               {1, 3.142857f}});
  v.push_back({"downsample_sizes_linear_pytorch_half_pixel",
               linear(CoordinateMode::PytorchHalfPixel),
               4,
               4,
               {},
               {1, 1, 3, 1},
               {1, 1, 3, 1},
               {1.666667f, 7, 12.333333f}});
  v.push_back({"downsample_scales_cubic",
               cubic(CoordinateMode::HalfPixel),
               4,
               4,
               {1, 1, 0.8f, 0.8f},
               {},
               {1, 1, 3, 3},
               {1.471191f, 2.78125f, 4.08252f, 6.711426f, 8.021484f, 9.322754f, 11.916504f, 13.226563f, 14.527832f}});
  v.push_back({"downsample_sizes_cubic",
               cubic(CoordinateMode::HalfPixel),
               4,
               4,
               {},
               {1, 1, 3, 3},
               {1, 1, 3, 3},
               {1.630787f, 3.00463f, 4.378472f, 7.126157f, 8.5f, 9.873842f, 12.621528f, 13.99537f, 15.369213f}});
  v.push_back({"downsample_scales_cubic_align_corners",
               cubic(CoordinateMode::AlignCorners),
               4,
               4,
               {1, 1, 0.8f, 0.8f},
               {},
               {1, 1, 3, 3},
               {1, 2.395192f, 3.790383f, 6.580766f, 7.975958f, 9.371149f, 12.161532f, 13.556724f, 14.951916f}});
  schema::ResizeAttrsT inside = cubic(CoordinateMode::HalfPixel);
  inside.cubic_coeff_a = -0.5f;
  inside.exclude_outside = true;
  v.push_back({"downsample_scales_cubic_A_n0p5_exclude_outside",
               inside,
               4,
               4,
               {1, 1, 0.8f, 0.8f},
               {},
               {1, 1, 3, 3},
               {1.368127f, 2.669501f, 4.013337f, 6.573625f, 7.875f, 9.218835f, 11.948966f, 13.250341f, 14.594176f}});
  schema::ResizeAttrsT crop = linear(CoordinateMode::TfCropAndResize);
  crop.extrapolation_value = 10;
  crop.roi = {0, 0, 0.4f, 0.6f, 1, 1, 1.2f, 1.7f};
  v.push_back(
      {"tf_crop_and_resize", crop, 4, 4, {}, {1, 1, 3, 3}, {1, 1, 3, 3}, {7.6f, 10, 10, 12.4f, 10, 10, 10, 10, 10}});
  return v;
}

/// Attributes and the scales or sizes input.
void configure(OpCase& c, schema::ResizeAttrsT attrs, const std::vector<float>& scales,
               const std::vector<int64_t>& sizes) {
  c.node().attrs.Set(std::move(attrs));
  if (!scales.empty()) {
    c.constant<float>({int64_t(scales.size())}, scales).absent();
  } else {
    c.absent().constant<int64_t>({int64_t(sizes.size())}, sizes);
  }
}

TEST(ResizeS8, OnnxVectors) {
  const float step = 1.0f / 7;  // 16 is 112
  for (const Vector& v : onnx_vectors()) {
    std::vector<int8_t> x;
    for (int64_t i = 1; i <= v.height * v.width; ++i) x.push_back(int8_t(i - 100));
    for (bool blocked : {false, true}) {
      OpCase c(Op::Resize);
      c.input({1, 1, v.height, v.width}, x, blocked, s8(1, -100));
      configure(c, v.attrs, v.scales, v.sizes);
      c.output(DType::Int8, v.out, blocked, s8(step, 0));
      const Status status = c.run(Isa::kScalar, 1);
      ASSERT_TRUE(status.ok()) << v.name << ": " << status.message();
      const std::vector<int8_t> y = c.result<int8_t>();
      ASSERT_EQ(y.size(), v.expected.size());
      for (size_t i = 0; i < y.size(); ++i) {
        // Half a step of the output and two roundings of Q11 weights on values up to 16.
        EXPECT_NEAR(float(y[i]) * step, v.expected[i], step / 2 + 0.02f) << v.name << " " << i;
      }
    }
  }
}

/// Where floor and halves matter, by hand: 2, 6, 4 to six positions by HalfPixel are 2, 3, 5, 5.5, 4.5, 4; ties to
/// even.
TEST(ResizeS8, RoundsInsteadOfTruncating) {
  OpCase c(Op::Resize);
  c.input<int8_t>({1, 1, 1, 3}, {2, 6, 4}, false, s8(1, 0));
  configure(c, attrs_of(ResizeMode::Linear, CoordinateMode::HalfPixel), {1, 1, 1, 2}, {});
  c.output(DType::Int8, {1, 1, 1, 6}, false, s8(1, 0)).expect<int8_t>({2, 3, 5, 6, 4, 4});
}

ResampleAxis axis_of(int64_t in, int64_t out, CoordinateMode mode) {
  ResampleAxis a;
  a.in = in;
  a.out = out;
  a.scale = {out, in};
  a.mode = mode;
  return a;
}

TEST(ResizeS8, FollowsTheRuleInEveryLayout) {
  const QuantParams from = s8(0.3f, -128), to = s8(0.28f, 5, -110, 127);
  const float m = float(double(0.3f) / (double(0.28f) * 4194304.0));
  const Shape shape = {2, 11, 5, 7}, out = {2, 11, 9, 4};
  const std::vector<int8_t> x = random_s8(count_of(shape), 1);
  for (ResizeMode mode : {ResizeMode::Linear, ResizeMode::Cubic}) {
    for (int coordinates = 0; coordinates <= int(CoordinateMode::HalfPixelSymmetric); ++coordinates) {
      for (bool antialias : {false, true}) {
        schema::ResizeAttrsT attrs = attrs_of(mode, CoordinateMode(coordinates));
        attrs.antialias = antialias;
        ResampleKernel kernel;
        kernel.cubic = mode == ResizeMode::Cubic;
        kernel.antialias = antialias;
        const ResampleTaps rows = *resample_taps(axis_of(5, 9, attrs.coordinate_mode), kernel);
        const ResampleTaps cols = *resample_taps(axis_of(7, 4, attrs.coordinate_mode), kernel);
        std::vector<int8_t> y;
        for (int64_t i = 0; i < count_of(out); ++i) {
          const int64_t ow = i % 4, oh = i / 4 % 9, plane = i / 36;
          int64_t acc = 0;
          for (int r = 0; r < rows.taps; ++r) {
            for (int c = 0; c < cols.taps; ++c) {
              const size_t row = size_t(oh * rows.taps + r), col = size_t(ow * cols.taps + c);
              acc += int64_t(rows.weight[row]) * cols.weight[col] *
                     (x[size_t((plane * 5 + rows.index[row]) * 7 + cols.index[col])] + 128);
            }
          }
          ASSERT_EQ(acc, int32_t(acc));
          y.push_back(int8_t(requantize(int32_t(acc), m, 5, -110, 127)));
        }
        for (bool in_blocked : {false, true}) {
          for (bool out_blocked : {false, true}) {
            OpCase c(Op::Resize);
            c.input(shape, x, in_blocked, from);
            configure(c, attrs, {}, {2, 11, 9, 4});
            c.output(DType::Int8, out, out_blocked, to).expect(y, "coordinates " + std::to_string(coordinates));
          }
        }
      }
    }
  }
}

// One axis only, channels, and three axes: the paths beside the 2-D kernel.
TEST(ResizeS8, OtherAxes) {
  OpCase line(Op::Resize);
  line.input<int8_t>({1, 1, 2}, {-128, 126}, true, s8(1, -128));
  configure(line, attrs_of(ResizeMode::Linear, CoordinateMode::AlignCorners), {}, {1, 1, 3});
  line.output(DType::Int8, {1, 1, 3}, true, s8(1, -128)).expect<int8_t>({-128, -1, 126});
  OpCase channels(Op::Resize);
  channels.input<int8_t>({1, 2, 1, 2}, {0, 10, 20, 50}, true, s8(1, 0));
  configure(channels, attrs_of(ResizeMode::Linear, CoordinateMode::AlignCorners), {}, {1, 3, 1, 2});
  channels.output(DType::Int8, {1, 3, 1, 2}, true, s8(1, 0)).expect<int8_t>({0, 10, 10, 30, 20, 50});
  OpCase volume(Op::Resize);
  volume.input<int8_t>({1, 1, 2, 2, 2}, {0, 8, 16, 24, 32, 40, 48, 56}, false, s8(1, 0));
  configure(volume, attrs_of(ResizeMode::Linear, CoordinateMode::HalfPixel), {}, {1, 1, 1, 1, 1});
  volume.output(DType::Int8, {1, 1, 1, 1, 1}, false, s8(1, 0)).expect<int8_t>({28});
}

TEST(ResizeS8, Nearest) {
  const QuantParams q = s8(0.5f, 3);
  for (bool blocked : {false, true}) {
    OpCase up(Op::Resize);  // onnx upsample_scales_nearest
    up.input<int8_t>({1, 1, 2, 2}, {1, 2, 3, 4}, blocked, q);
    configure(up, attrs_of(ResizeMode::Nearest, CoordinateMode::HalfPixel), {1, 1, 2, 3}, {});
    up.output(DType::Int8, {1, 1, 4, 6}, !blocked, q);  // layouts differ: the int8 form's own path
    up.expect<int8_t>({1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4});
    OpCase crop(Op::Resize);  // a region reaching past the image; 4 real is q 11
    schema::ResizeAttrsT attrs = attrs_of(ResizeMode::Nearest, CoordinateMode::TfCropAndResize);
    attrs.roi = {0, 0, 0, 0, 1, 1, 1, 2};
    attrs.extrapolation_value = 4;
    crop.input<int8_t>({1, 1, 1, 3}, {7, 8, 9}, blocked, q);
    configure(crop, attrs, {}, {1, 1, 1, 3});
    crop.output(DType::Int8, {1, 1, 1, 3}, blocked, q).expect<int8_t>({7, 9, 11});
  }
}

TEST(ResizeS8, Refuses) {
  OpCase c(Op::Resize);
  c.input<int8_t>({1, 1, 1, 3}, {2, 6, 4}, false, s8(1, 0));
  configure(c, attrs_of(ResizeMode::Linear, CoordinateMode::HalfPixel), {1, 1}, {});
  c.output(DType::Int8, {1, 1, 1, 3}, false, s8(1, 0));
  EXPECT_FALSE(c.run(Isa::kScalar, 1).ok());
  OpCase roi(Op::Resize);
  roi.input<int8_t>({1, 1, 1, 3}, {2, 6, 4}, false, s8(1, 0));
  configure(roi, attrs_of(ResizeMode::Linear, CoordinateMode::TfCropAndResize), {}, {1, 1, 1, 5});
  roi.output(DType::Int8, {1, 1, 1, 5}, false, s8(1, 0));
  EXPECT_FALSE(roi.run(Isa::kScalar, 1).ok());
}

}  // namespace
}  // namespace lq::test
