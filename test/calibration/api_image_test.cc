// The library an application links fills an input with the bits the tools read from the same image file.
#include <libquant/libquant.hpp>

#include "calibration/data_source.h"
#include "calibration/preprocess.h"
#include "calibration_test_util.h"
#include "capi/image_model.h"

namespace lq::calibration {
namespace {

TEST(ApiImage, HasTheBitsOfTheTools) {
  constexpr int kSize = 24;
  const auto file = testing::image_model(kSize);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const libquant::Model model(file->data(), file->size());
  libquant::Session session(model);
  ASSERT_TRUE(session.ok()) << lq_last_error();
  for (const std::string name : {"rgb.bmp", "progressive.jpg", "gray.jpg", "exif6.jpg"}) {
    const std::string path = std::string(LQ_SOURCE_DIR "/test/calibration/data/") + name;
    InputSpec spec{"x", DType::Float32, {1, 3, kSize, kSize}, *testing::image_info("x", kSize).preprocessing};
    const auto tensor = load_input_file(path, spec);
    ASSERT_TRUE(tensor.ok()) << tensor.status().message();
    // What an application does: its own decoder, its own turning, then the pixels.
    const auto image = read_image(path, true);
    ASSERT_TRUE(image.ok());
    const lq_pixel_format format = image->channels == 1 ? LQ_PIXEL_GRAY : LQ_PIXEL_RGB;
    ASSERT_EQ(session.set_image(0, image->pixels.data(), image->width, image->height, format), LQ_OK)
        << lq_last_error();
    EXPECT_EQ(std::memcmp(session.input<float>(0), tensor->data.data(), tensor->data.size()), 0) << name;
  }
}

}  // namespace
}  // namespace lq::calibration
