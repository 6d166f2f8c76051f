// Resizing against PIL 9.4 (values and CRC-32 of the raw pixels), geometry against torchvision's formulas, options.
#include "calibration/preprocess.h"

#include <zlib.h>

#include "calibration_test_util.h"
#include "image/resize.h"

namespace lq::calibration {
namespace {

std::vector<uint8_t> pixels_of(const Result<PixelBuffer>& image) {
  EXPECT_TRUE(image.ok()) << image.status().message();
  if (!image.ok()) return {};
  return {image->row(0), image->row(0) + image->row_bytes() * size_t(image->height)};
}

uint32_t crc_of(const Result<PixelBuffer>& image) {
  const std::vector<uint8_t> pixels = pixels_of(image);
  return uint32_t(crc32(0, pixels.data(), uInt(pixels.size())));
}

/// The pixels of a decoded image as the buffer that ships.
PixelBuffer buffer(const Image& image) {
  auto pixels = convert_color(view_of(image), image.channels == 1 ? schema::Color::Gray : schema::Color::Rgb);
  EXPECT_TRUE(pixels.ok());
  return std::move(*pixels);
}

Image small_image() {
  Image image = make_image(7, 5, 3);
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < 7; ++x)
      for (int c = 0; c < 3; ++c) image.row(y)[3 * x + c] = uint8_t((x * 37 + y * 91 + c * 53) % 256);
  return image;
}

Image large_image(int channels) {
  Image image = make_image(320, 213, channels);
  for (int y = 0; y < 213; ++y)
    for (int x = 0; x < 320; ++x)
      for (int c = 0; c < channels; ++c)
        image.row(y)[channels * x + c] = uint8_t(((x * x * 7 + y * 131 + c * 29) >> 2) % 256);
  return image;
}

TEST(Resize, SmallImageGivesPilsPixels) {
  // Image.fromarray(a).resize((3, 4), Image.BILINEAR)
  EXPECT_EQ(
      pixels_of(resize_bilinear(buffer(small_image()), 3, 4)),
      (std::vector<uint8_t>{55, 108, 147, 130, 168, 168, 163, 134, 104, 138, 145, 128, 131, 142, 99,  95, 116, 169,
                            95, 102, 117, 96,  143, 152, 169, 169, 126, 117, 170, 182, 140, 114, 103, 83, 114, 125}));
  // resize((2, 5)): horizontal pass only
  EXPECT_EQ(pixels_of(resize_bilinear(buffer(small_image()), 2, 5)),
            (std::vector<uint8_t>{59, 112, 165, 163, 163, 139, 150, 185, 130, 124, 111, 104, 115, 91, 91,
                                  89, 142, 195, 76,  129, 164, 180, 180, 90,  149, 160, 147, 75,  86, 121}));
  EXPECT_EQ(crc_of(resize_bilinear(buffer(small_image()), 11, 9)), 0xea6da35bu);
  EXPECT_EQ(crc_of(resize_bilinear(buffer(small_image()), 7, 2)), 0x82ea0e9bu);
}

TEST(Resize, LargeImageGivesPilsBits) {
  const struct {
    int width, height;
    uint32_t crc;
  } cases[] = {{256, 170, 0x125e6ebe}, {64, 64, 0xbf3171b6}, {320, 100, 0x65c808f5},
               {500, 400, 0x37730be0}, {1, 1, 0x5b6b248b},   {224, 224, 0x1ae95eb9}};
  const Image image = large_image(3);
  for (const auto& c : cases)
    EXPECT_EQ(crc_of(resize_bilinear(buffer(image), c.width, c.height)), c.crc) << c.width << "x" << c.height;
  EXPECT_EQ(crc_of(resize_bilinear(buffer(large_image(1)), 64, 64)), 0x9bb142acu);
  EXPECT_EQ(pixels_of(resize_bilinear(buffer(image), 320, 213)), image.pixels);
}

TEST(Resize, ShorterSideAsTorchvision) {
  // int(size * long / short): 256·320/213 = 384.6 -> 384
  auto out = resize_shorter(buffer(large_image(1)), 256);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->width, 384);
  EXPECT_EQ(out->height, 256);
  auto tall = resize_shorter(buffer(make_image(10, 25, 1)), 4);
  ASSERT_TRUE(tall.ok());
  EXPECT_EQ(tall->width, 4);
  EXPECT_EQ(tall->height, 10);
  EXPECT_FALSE(resize_shorter(buffer(make_image(1, 20000, 1)), 60000).ok());
}

TEST(Resize, CenterCropRoundsHalfToEven) {
  Image row = make_image(7, 1, 1);
  row.pixels = {0, 1, 2, 3, 4, 5, 6};
  EXPECT_EQ(pixels_of(center_crop(buffer(row), 3, 1)), (std::vector<uint8_t>{2, 3, 4}));           // (7 − 3)/2 = 2
  EXPECT_EQ(pixels_of(center_crop(buffer(row), 4, 1)), (std::vector<uint8_t>{2, 3, 4, 5}));        // 1.5 -> 2
  EXPECT_EQ(pixels_of(center_crop(buffer(row), 2, 1)), (std::vector<uint8_t>{2, 3}));              // 2.5 -> 2
  EXPECT_EQ(pixels_of(center_crop(buffer(row), 6, 1)), (std::vector<uint8_t>{0, 1, 2, 3, 4, 5}));  // 0.5 -> 0
  EXPECT_EQ(pixels_of(center_crop(buffer(row), 10, 1)),
            (std::vector<uint8_t>{0, 0, 1, 2, 3, 4, 5, 6, 0, 0}));  // 1 in front, 2 behind
}

TEST(Resize, LetterboxStandsTopLeft) {
  Image image = make_image(4, 2, 1);
  image.pixels.assign(8, 200);
  const auto out = letterbox(buffer(image), 4, 4);
  EXPECT_EQ(pixels_of(out), (std::vector<uint8_t>{200, 200, 200, 200, 200, 200, 200, 200, 0, 0, 0, 0, 0, 0, 0, 0}));
  const auto wide = letterbox(buffer(image), 8, 2);
  EXPECT_EQ(pixels_of(wide), (std::vector<uint8_t>{200, 200, 200, 200, 0, 0, 0, 0, 200, 200, 200, 200, 0, 0, 0, 0}));
  const auto thin = letterbox(buffer(make_image(1000, 1, 1)), 10, 10);
  EXPECT_EQ(pixels_of(thin).size(), 100u);
}

TEST(Preprocess, TorchPresetNormalises) {
  auto options = preprocess_preset("imagenet-torch");
  ASSERT_TRUE(options.ok());
  auto p = resolve_preprocessing(*options, "x", {-1, 3, 224, 224});
  ASSERT_TRUE(p.ok()) << p.status().message();
  Image image = make_image(300, 256, 3);
  image.pixels.assign(image.pixels.size(), 255);
  auto tensor = preprocess_image(image, *p, "x", {-1, 3, 224, 224});
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ(tensor->shape, (Shape{1, 3, 224, 224}));
  // (1 − 0.485)/0.229, (1 − 0.456)/0.224, (1 − 0.406)/0.225
  EXPECT_NEAR(tensor->as<float>()[0], 2.2489083f, 1e-5);
  EXPECT_NEAR(tensor->as<float>()[224 * 224], 2.4285714f, 1e-5);
  EXPECT_NEAR(tensor->as<float>()[2 * 224 * 224], 2.64f, 1e-5);
}

TEST(Preprocess, LayoutsAndColors) {
  Image image = make_image(2, 1, 3);
  image.pixels = {1, 2, 3, 4, 5, 6};
  PreprocessOptions options;
  ASSERT_TRUE(set_preprocess_option(options, "color", "bgr").ok());
  auto nchw = resolve_preprocessing(options, "x", {1, 3, 1, 2});
  ASSERT_TRUE(nchw.ok());
  auto a = preprocess_image(image, *nchw, "x", {1, 3, 1, 2});
  ASSERT_TRUE(a.ok()) << a.status().message();
  EXPECT_EQ(std::vector<float>(a->as<float>(), a->as<float>() + 6), (std::vector<float>{3, 6, 2, 5, 1, 4}));
  auto nhwc = resolve_preprocessing(options, "x", {1, 1, 2, 3});
  ASSERT_FALSE(nhwc.ok()) << "1 channel as nchw against bgr";
  ASSERT_TRUE(set_preprocess_option(options, "layout", "nhwc").ok());
  nhwc = resolve_preprocessing(options, "x", {1, 1, 2, 3});
  ASSERT_TRUE(nhwc.ok()) << nhwc.status().message();
  auto b = preprocess_image(image, *nhwc, "x", {1, 1, 2, 3});
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(std::vector<float>(b->as<float>(), b->as<float>() + 6), (std::vector<float>{3, 2, 1, 6, 5, 4}));
}

TEST(Preprocess, ChannelsComeFromTheModel) {
  PreprocessOptions options;
  auto gray = resolve_preprocessing(options, "x", {-1, 1, 28, 28});
  ASSERT_TRUE(gray.ok());
  EXPECT_EQ(gray->color, schema::Color::Gray);
  auto last = resolve_preprocessing(options, "x", {-1, 28, 28, 3});
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->layout, schema::DataLayout::Nhwc);
  EXPECT_FALSE(resolve_preprocessing(options, "x", {1, 24, 32, 32}).ok());
  EXPECT_FALSE(resolve_preprocessing(options, "x", {1, 1000}).ok());
  EXPECT_FALSE(resolve_preprocessing(options, "x", {1, -1, 32, 32}).ok());
  ASSERT_TRUE(set_preprocess_option(options, "mean", "1,2,3").ok());
  EXPECT_FALSE(resolve_preprocessing(options, "x", {-1, 1, 28, 28}).ok());
  ASSERT_TRUE(set_preprocess_option(options, "color", "rgb").ok());
  EXPECT_FALSE(resolve_preprocessing(options, "x", {-1, 1, 28, 28}).ok());
  EXPECT_TRUE(resolve_preprocessing(options, "x", {-1, 3, 28, 28}).ok());
}

TEST(Preprocess, WrongSizeSaysWhatToDo) {
  auto p = resolve_preprocessing({}, "x", {1, 1, 28, 28});
  ASSERT_TRUE(p.ok());
  auto tensor = preprocess_image(make_image(30, 28, 1), *p, "x", {1, 1, 28, 28});
  ASSERT_FALSE(tensor.ok());
  EXPECT_NE(tensor.status().message().find("--resize"), std::string::npos);
}

TEST(Preprocess, OptionsAreChecked) {
  PreprocessOptions o;
  for (auto [key, value] : std::vector<std::pair<const char*, const char*>>{{"resize", "10"},
                                                                            {"resize", "0x4"},
                                                                            {"resize", "shorter:"},
                                                                            {"resize", "4x"},
                                                                            {"crop", "x4"},
                                                                            {"crop", "4x4x"},
                                                                            {"color", "cmyk"},
                                                                            {"layout", "hwc"},
                                                                            {"exif", "yes"},
                                                                            {"mean", ""},
                                                                            {"mean", "1,,2"},
                                                                            {"mean", "nan"},
                                                                            {"std", "1,0,1"},
                                                                            {"std", "-1"},
                                                                            {"letterbox", "big"},
                                                                            {"colour", "rgb"},
                                                                            {"resize", "99999x1"}}) {
    EXPECT_FALSE(set_preprocess_option(o, key, value).ok()) << key << " " << value;
  }
  ASSERT_TRUE(set_preprocess_option(o, "letterbox", "").ok());
  EXPECT_FALSE(resolve_preprocessing(o, "x", {1, 3, -1, -1}).ok());
  auto p = resolve_preprocessing(o, "x", {1, 3, 240, 320});
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(describe_preprocessing(*p), "rgb, letterbox 320x240, mean 0,0,0, std 1,1,1, nchw");
}

TEST(Preprocess, UserStepsReplaceThePresets) {
  auto o = preprocess_preset("imagenet-tf");
  ASSERT_TRUE(o.ok());
  ASSERT_TRUE(set_preprocess_option(*o, "resize", "100x100").ok());
  ASSERT_TRUE(set_preprocess_option(*o, "crop", "96").ok());
  auto p = resolve_preprocessing(*o, "x", {1, 3, 96, 96});
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(describe_preprocessing(*p),
            "rgb, resize 100x100, crop 96x96, mean 127.5,127.5,127.5, std 127.5,127.5,127.5, nchw");
}

TEST(Preprocess, JsonFileInItsOrder) {
  TempFolder folder;
  folder.write(
      "p.json",
      R"({"color": "bgr", "crop": "200x200", "resize": "shorter:64", "mean": [104, 117, 123.5], "std": 2, "letterbox": true, "exif": "ignore"})");
  auto o = preprocess_preset(folder / "p.json");
  ASSERT_TRUE(o.ok()) << o.status().message();
  auto p = resolve_preprocessing(*o, "x", {1, 3, 64, 64});
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(describe_preprocessing(*p),
            "bgr, crop 200x200, resize shorter:64, letterbox 64x64, mean 104,117,123.5, std 2,2,2, nchw, exif ignored");
  folder.write("s.json", R"({"steps": [{"resize": "8x8"}, {"crop": 4}, {"resize": "16x16"}]})");
  auto s = preprocess_preset(folder / "s.json");
  ASSERT_TRUE(s.ok()) << s.status().message();
  EXPECT_EQ(s->steps.size(), 3u);
  for (const char* bad : {"", "[]", "{", R"({"colour": "rgb"})", R"({"mean": ["a"]})", R"({"resize": null})",
                          R"({"steps": [{"mean": 1}]})", R"({"mean": {}})"}) {
    folder.write("bad.json", bad);
    auto b = preprocess_preset(folder / "bad.json");
    ASSERT_FALSE(b.ok()) << bad;
    EXPECT_NE(b.status().message().find("bad.json"), std::string::npos);
  }
  auto missing = preprocess_preset("imagenet-tensorflow");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.status().message().find("imagenet-torch"), std::string::npos);
}

}  // namespace
}  // namespace lq::calibration
