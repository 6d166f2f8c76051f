// Images: the files in data/ were written by PIL 9.4 from the formulas below, lossless ones must come back exactly.
#include "calibration/image.h"

#include <zlib.h>

#include <cmath>

#include "calibration/image_check.h"
#include "calibration_test_util.h"

namespace lq::calibration {
namespace {

constexpr int kWidth = 24, kHeight = 16;
int red(int x, int y) { return (x * 9 + y * 2) % 256; }
int green(int x, int y) { return (x * 3 + y * 11) % 256; }
int blue(int x, int y) { return (x * 5 + y * 7 + 40) % 256; }

void expect_color(const Image& image) {
  ASSERT_EQ(image.width, kWidth);
  ASSERT_EQ(image.height, kHeight);
  ASSERT_EQ(image.channels, 3);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const uint8_t* p = image.row(y) + 3 * x;
      ASSERT_EQ(p[0], red(x, y));
      ASSERT_EQ(p[1], green(x, y));
      ASSERT_EQ(p[2], blue(x, y));
    }
  }
}

void expect_gray(const Image& image, int (*value)(int, int)) {
  ASSERT_EQ(image.width, kWidth);
  ASSERT_EQ(image.height, kHeight);
  ASSERT_EQ(image.channels, 1);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) ASSERT_EQ(image.row(y)[x], value(x, y));
  }
}

Result<Image> decode_string(const std::string& bytes) {
  return decode_image(bytes_of(bytes), bytes.size(), "file", true);
}

TEST(Image, LosslessFormatsComeBackExactly) {
  for (const char* file : {"rgb.png", "rgba.png", "rgb.bmp"}) {
    auto image = read_image(data_file(file), true);
    ASSERT_TRUE(image.ok()) << image.status().message();
    expect_color(*image);
  }
  for (const char* file : {"gray.png", "gray_alpha.png"}) {
    auto image = read_image(data_file(file), true);
    ASSERT_TRUE(image.ok()) << image.status().message();
    expect_gray(*image, red);
  }
}

TEST(Image, SixteenBitPngKeepsTheHighByte) {
  auto image = read_image(data_file("gray16.png"), true);
  ASSERT_TRUE(image.ok()) << image.status().message();
  expect_gray(*image, [](int x, int y) { return (x * 2001 + y * 257) % 65536 / 256; });
}

TEST(Image, JpegIsCloseToLibjpeg) {
  // Values of the same file decoded by libjpeg (PIL): (x 5, y 3) and (x 20, y 12); decoders may differ by a few units.
  auto image = read_image(data_file("base.jpg"), true);
  ASSERT_TRUE(image.ok()) << image.status().message();
  ASSERT_EQ(image->channels, 3);
  const int expected[2][3] = {{54, 46, 87}, {197, 192, 215}};
  for (int c = 0; c < 3; ++c) {
    EXPECT_NEAR(image->row(3)[3 * 5 + c], expected[0][c], 6);
    EXPECT_NEAR(image->row(12)[3 * 20 + c], expected[1][c], 6);
  }
  auto gray = read_image(data_file("gray.jpg"), true);
  ASSERT_TRUE(gray.ok());
  EXPECT_EQ(gray->channels, 1);
  EXPECT_NEAR(gray->row(3)[5], 51, 2);
  ASSERT_TRUE(read_image(data_file("progressive.jpg"), true).ok());
}

TEST(Image, ExifOrientationTurnsTheImage) {
  auto plain = read_image(data_file("exif6.jpg"), false);
  auto turned = read_image(data_file("exif6.jpg"), true);
  ASSERT_TRUE(plain.ok() && turned.ok());
  EXPECT_EQ(plain->width, kWidth);
  ASSERT_EQ(turned->width, kHeight);
  ASSERT_EQ(turned->height, kWidth);
  for (int y = 0; y < kWidth; ++y) {  // orientation 6: the stored left column, read upwards, is the top row
    for (int x = 0; x < kHeight; ++x) ASSERT_EQ(turned->row(y)[3 * x], plain->row(kHeight - 1 - x)[3 * y]);
  }
}

TEST(Image, EveryOrientationOfATwoByThree) {
  // 2 wide, 3 high: a b / c d / e f. Results by TIFF 6.0's description of tag 274 (row 0 / column 0 positions).
  Image image = make_image(2, 3, 1);
  image.pixels = {'a', 'b', 'c', 'd', 'e', 'f'};
  const char* const expected[9] = {"abcdef", "abcdef", "badcfe", "fedcba", "efcdab",
                                   "acebdf", "ecafdb", "fdbeca", "bdface"};
  for (int o = 0; o <= 8; ++o) {
    const Image out = apply_orientation(image, o);
    EXPECT_EQ(out.width, o >= 5 ? 3 : 2);
    EXPECT_EQ(std::string(out.pixels.begin(), out.pixels.end()), expected[o]) << o;
  }
}

TEST(Image, ExifParserSurvivesNonsense) {
  const std::string good("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x08\0\0\0\0\0\0\0", 26);
  EXPECT_EQ(exif_orientation(bytes_of(good), good.size()), 8);
  const std::string big("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x03\0\0\0\0\0\0", 26);
  EXPECT_EQ(exif_orientation(bytes_of(big), big.size()), 3);
  for (size_t n = 0; n < 22; ++n) EXPECT_EQ(exif_orientation(bytes_of(good), n), 1);
  for (size_t i = 0; i < good.size(); ++i) {
    for (int v : {0, 1, 0x7F, 0xFF}) {
      std::string bad = good;
      bad[i] = char(v);
      const int o = exif_orientation(bytes_of(bad), bad.size());
      EXPECT_TRUE(o >= 1 && o <= 8);
    }
  }
}

/// A gray baseline JPEG by hand: one DC code (0 -> category 0) and one AC code (0 -> end of block), so every 8×8 block
/// is the two bits 00 and the picture is 128 all over.
std::string hand_jpeg(int width, const std::string& scan_data, int restart_interval) {
  std::string j("\xFF\xD8", 2);
  j += std::string("\xFF\xDB\x00\x43\x00", 5) + std::string(64, '\x01');
  if (restart_interval) j += std::string("\xFF\xDD\x00\x04\x00", 5) + char(restart_interval);
  j += std::string("\xFF\xC0\x00\x0B\x08\x00\x08\x00", 8) + char(width) + std::string("\x01\x01\x11\x00", 4);
  for (char table : {'\x00', '\x10'})
    j += std::string("\xFF\xC4\x00\x14", 4) + table + std::string("\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 17);
  j += std::string("\xFF\xDA\x00\x08\x01\x01\x00\x00\x3F\x00", 10) + scan_data;
  return j + "\xFF\xD9";
}

TEST(Image, ShortJpegScansAreErrors) {
  auto whole = decode_string(hand_jpeg(16, "\x0F", 0));  // 00 00 1111
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ(whole->width, 16);
  EXPECT_EQ(whole->pixels, std::vector<uint8_t>(128, 128));
  EXPECT_FALSE(decode_string(hand_jpeg(16, "\x3F", 0)).ok()) << "one block of two";
  EXPECT_FALSE(decode_string(hand_jpeg(16, "", 0)).ok()) << "no block at all";
  EXPECT_FALSE(decode_string(hand_jpeg(64, "\x0F", 0)).ok()) << "two blocks of eight";
}

TEST(Image, JpegRestartIntervals) {
  auto whole = decode_string(hand_jpeg(16, "\x3F\xFF\xD0\x3F", 1));
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ(whole->pixels, std::vector<uint8_t>(128, 128));
  auto missing = decode_string(hand_jpeg(24, "\x3F\xFF\xD0\x3F", 1));
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.status().message().find("restart"), std::string::npos);
}

TEST(Image, EveryTruncationIsAnErrorThatNamesTheFile) {
  for (const char* file :
       {"base.jpg", "progressive.jpg", "gray.jpg", "rgb.png", "palette.png", "gray16.png", "rgb.bmp"}) {
    const std::string whole = read_file(data_file(file));
    ASSERT_FALSE(whole.empty());
    for (size_t n = 0; n < whole.size(); ++n) {
      auto image = decode_image(bytes_of(whole), n, "cut.file", true);
      ASSERT_FALSE(image.ok()) << file << " cut to " << n;
      ASSERT_TRUE(image.status().message().starts_with("cut.file: ")) << image.status().message();
    }
  }
}

TEST(Image, JpegCutInTheScanButClosedIsAnError) {
  for (const char* file : {"base.jpg", "gray.jpg"}) {
    const std::string whole = read_file(data_file(file));
    const std::string cut = whole.substr(0, whole.size() - 30) + "\xFF\xD9";
    EXPECT_FALSE(decode_string(cut).ok()) << file;
  }
}

TEST(Image, FlippedBytesNeverCrash) {
  uint64_t seed = 1;
  for (const char* file : {"base.jpg", "progressive.jpg", "exif6.jpg", "rgb.png", "palette.png", "rgb.bmp"}) {
    const std::string whole = read_file(data_file(file));
    for (int round = 0; round < 600; ++round) {
      std::string bad = whole;
      for (int k = 0; k < 1 + round % 3; ++k) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bad[size_t(seed >> 33) % bad.size()] = char(seed >> 24);
      }
      auto image = decode_string(bad);
      if (!image.ok()) continue;
      EXPECT_EQ(image->pixels.size(), size_t(image->width) * image->height * image->channels);
    }
  }
}

TEST(Image, DamagedPngIsFoundByItsChecksum) {
  std::string png = read_file(data_file("rgb.png"));
  png[png.size() - 20] ^= 1;  // in IDAT
  auto image = decode_string(png);
  ASSERT_FALSE(image.ok());
  EXPECT_NE(image.status().message().find("checksum"), std::string::npos) << image.status().message();
}

TEST(Image, Pnm) {
  auto gray = decode_string("P2 # a comment\n3 1\n15\n0 7 15\n");
  ASSERT_TRUE(gray.ok()) << gray.status().message();
  EXPECT_EQ(gray->pixels, (std::vector<uint8_t>{0, 119, 255}));  // 7·255/15
  auto color = decode_string(std::string("P6\n2 1\n255\n\x01\x02\x03\xFA\xFB\xFC", 17));
  ASSERT_TRUE(color.ok()) << color.status().message();
  EXPECT_EQ(color->pixels, (std::vector<uint8_t>{1, 2, 3, 250, 251, 252}));
  auto deep = decode_string(std::string("P5 1 1 65535 \xAB\xCD", 15));
  ASSERT_TRUE(deep.ok()) << deep.status().message();
  EXPECT_EQ(deep->pixels[0], 0xAB);
  for (const char* bad : {"P5", "P5 2 2 255\n\x01", "P2 2 1 255 3", "P2 1 1 255 256", "P2 0 1 255 1",
                          "P5 99999 99999 255 ", "P2 1 1 0 0", "P3 65536 65536 255 1"}) {
    EXPECT_FALSE(decode_string(bad).ok()) << bad;
  }
}

TEST(Image, NotAnImage) {
  EXPECT_FALSE(decode_string("").ok());
  EXPECT_FALSE(decode_string("GIF89a").ok());
  EXPECT_FALSE(read_image("/nonexistent.png", true).ok());
}

}  // namespace
}  // namespace lq::calibration
