// What the application's pixels become. Resizing against PIL and torchvision: test/calibration/preprocess_test.cc.
#include "image/preprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes8 = std::vector<uint8_t>;

Bytes8 pixels_of(const Result<PixelBuffer>& image) {
  EXPECT_TRUE(image.ok()) << image.status().message();
  if (!image.ok()) return {};
  return {image->row(0), image->row(0) + image->row_bytes() * size_t(image->height)};
}

PixelView view(const Bytes8& pixels, int width, int height, PixelFormat format, size_t stride = 0) {
  return {pixels.data(), width, height, stride != 0 ? stride : size_t(width * bytes_per_pixel(format)), format};
}

schema::PreprocessingT preprocessing(schema::Color color, std::vector<float> mean, std::vector<float> std) {
  schema::PreprocessingT p;
  p.color = color, p.mean = std::move(mean), p.std = std::move(std);
  return p;
}

TEST(ConvertColor, GrayIsPilsL) {
  // PIL 9.4: Image.convert("L") of these seven colors.
  const Bytes8 rgb = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255, 10, 200, 77, 1, 2, 3, 128, 127, 126};
  EXPECT_THAT(pixels_of(convert_color(view(rgb, 7, 1, PixelFormat::kRgb), schema::Color::Gray)),
              ElementsAre(76, 150, 29, 255, 129, 2, 127));
}

TEST(ConvertColor, EveryFormatToEveryColor) {
  // One pixel of red 10, green 200, blue 77 (gray 129, see above) in each order; alpha 5 must not matter.
  const struct {
    PixelFormat format;
    Bytes8 bytes;
  } colors[] = {{PixelFormat::kRgb, {10, 200, 77}},
                {PixelFormat::kBgr, {77, 200, 10}},
                {PixelFormat::kRgba, {10, 200, 77, 5}},
                {PixelFormat::kBgra, {77, 200, 10, 5}}};
  for (const auto& c : colors) {
    const PixelView v = view(c.bytes, 1, 1, c.format);
    EXPECT_THAT(pixels_of(convert_color(v, schema::Color::Rgb)), ElementsAre(10, 200, 77)) << int(c.format);
    EXPECT_THAT(pixels_of(convert_color(v, schema::Color::Bgr)), ElementsAre(77, 200, 10)) << int(c.format);
    EXPECT_THAT(pixels_of(convert_color(v, schema::Color::Gray)), ElementsAre(129)) << int(c.format);
  }
  const Bytes8 gray = {9};
  const PixelView v = view(gray, 1, 1, PixelFormat::kGray);
  EXPECT_THAT(pixels_of(convert_color(v, schema::Color::Bgr)), ElementsAre(9, 9, 9));
  EXPECT_THAT(pixels_of(convert_color(v, schema::Color::Gray)), ElementsAre(9));
}

TEST(ConvertColor, RowsMayHaveAStride) {
  // Two rows of two pixels, three bytes of something else behind each; the last row ends with its pixels.
  const Bytes8 rgb = {1, 2, 3, 4, 5, 6, 99, 99, 99, 7, 8, 9, 10, 11, 12};
  EXPECT_THAT(pixels_of(convert_color(view(rgb, 2, 2, PixelFormat::kRgb, 9), schema::Color::Rgb)),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  EXPECT_THAT(pixels_of(convert_color(view(rgb, 2, 2, PixelFormat::kRgb, 9), schema::Color::Bgr)),
              ElementsAre(3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10));
}

TEST(ConvertColor, BadViewsAreErrors) {
  const Bytes8 rgb(12);
  PixelView v = view(rgb, 2, 2, PixelFormat::kRgb, 5);
  EXPECT_THAT(convert_color(v, schema::Color::Rgb).status().message(), HasSubstr("stride of 5"));
  v = view(rgb, 0, 2, PixelFormat::kRgb);
  EXPECT_THAT(convert_color(v, schema::Color::Rgb).status().message(), HasSubstr("empty"));
  v = {nullptr, 2, 2, 6, PixelFormat::kRgb};
  EXPECT_THAT(convert_color(v, schema::Color::Rgb).status().message(), HasSubstr("empty"));
  v = view(rgb, 65536, 65536, PixelFormat::kRgb);
  EXPECT_THAT(convert_color(v, schema::Color::Rgb).status().message(), HasSubstr("128 Mpixel"));
}

TEST(Preprocess, AllocationFailureIsAnError) {
  const Allocator none{[](void*, size_t, size_t) -> void* { return nullptr; }, [](void*, void*, size_t) {}, nullptr};
  const Bytes8 gray(4);
  const auto p = preprocessing(schema::Color::Gray, {0}, {1});
  const auto out = preprocess_pixels(view(gray, 2, 2, PixelFormat::kGray), p, "x", {1, 1, 2, 2}, none);
  EXPECT_EQ(out.status().code(), StatusCode::kOutOfMemory);
}

TEST(PixelsToTensor, FloatInBothLayouts) {
  const Bytes8 rgb = {1, 2, 3, 4, 5, 6};
  auto p = preprocessing(schema::Color::Rgb, {1, 1, 1}, {1, 2, 4});
  auto image = preprocess_pixels(view(rgb, 2, 1, PixelFormat::kRgb), p, "x", {1, 3, 1, 2});
  ASSERT_TRUE(image.ok()) << image.status().message();
  std::vector<float> out(6);
  ASSERT_TRUE(pixels_to_tensor(*image, p, "x", DType::Float32, out.data()).ok());
  EXPECT_THAT(out, ElementsAre(0, 3, 0.5f, 2, 0.5f, 1.25f));
  p.layout = schema::DataLayout::Nhwc;
  ASSERT_TRUE(pixels_to_tensor(*image, p, "x", DType::Float32, out.data()).ok());
  EXPECT_THAT(out, ElementsAre(0, 0.5f, 0.5f, 3, 2, 1.25f));
}

TEST(PixelsToTensor, BytesWhereTheValuesAreWhole) {
  const Bytes8 gray = {4, 6, 250, 255};
  auto p = preprocessing(schema::Color::Gray, {0}, {2});
  auto image = preprocess_pixels(view(gray, 4, 1, PixelFormat::kGray), p, "x", {1, 1, 1, 4});
  ASSERT_TRUE(image.ok());
  Bytes8 out(4);
  const Status odd = pixels_to_tensor(*image, p, "x", DType::UInt8, out.data());  // 255 / 2
  EXPECT_EQ(odd.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(odd.message(), HasSubstr("uint8"));
  image->row(0)[3] = 0;
  ASSERT_TRUE(pixels_to_tensor(*image, p, "x", DType::UInt8, out.data()).ok());
  EXPECT_THAT(out, ElementsAre(2, 3, 125, 0));
  EXPECT_EQ(pixels_to_tensor(*image, p, "x", DType::Int8, out.data()).code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace lq
