// The caller's memory as inputs and outputs: in place, converted, refused; and images into the model's own
// preprocessing.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <libquant/libquant.hpp>
#include <vector>

#include "capi/image_model.h"
#include "image/preprocess.h"

namespace lq::testing {
namespace {

constexpr int kSize = 6, kOut = kSize - 2, kIn = 3 * kSize * kSize, kResult = 8 * kOut * kOut;

/// 64-byte-aligned memory of exactly `bytes` bytes: AddressSanitizer sees any touch beyond.
template <typename T>
struct Aligned {
  explicit Aligned(size_t count, size_t slack = LQ_BUFFER_SLACK) : bytes(count * sizeof(T) + slack) {
    data = static_cast<T*>(::operator new(bytes, std::align_val_t(64)));
    std::memset(static_cast<void*>(data), 0x5A, bytes);
  }
  ~Aligned() { ::operator delete(data, std::align_val_t(64)); }
  size_t bytes;
  T* data;
};

class CapiBuffers : public ::testing::Test {
 protected:
  void SetUp() override {
    auto bytes = image_model(kSize);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    file_ = *bytes;
    model_ = std::make_unique<libquant::Model>(file_.data(), file_.size());
    ASSERT_TRUE(model_->ok()) << lq_last_error();
    session_ = std::make_unique<libquant::Session>(*model_);
    ASSERT_TRUE(session_->ok()) << lq_last_error();
    for (int i = 0; i < kIn; ++i) {
      q_.push_back(int8_t(i * 29 % 256 - 128));
      x_.push_back(float(q_.back() - kImageZero) * kImageScale);
    }
    std::memcpy(session_->input<float>(0), x_.data(), sizeof(float) * kIn);
    ASSERT_EQ(session_->run(), LQ_OK) << lq_last_error();
    y_.assign(session_->output<float>(0), session_->output<float>(0) + kResult);
    std::memset(session_->input<float>(0), 0, sizeof(float) * kIn);
  }
  /// Position in NHWC of element i of [channels, side, side].
  static int nhwc(int i, int channels, int side) { return i % (side * side) * channels + i / (side * side); }

  Bytes file_;
  std::unique_ptr<libquant::Model> model_;
  std::unique_ptr<libquant::Session> session_;
  std::vector<int8_t> q_;
  std::vector<float> x_, y_;  // an input and its output through the session's own buffers
};

TEST_F(CapiBuffers, InfoTellsNamesLayoutAndQuantization) {
  EXPECT_EQ(session_->find_input("x"), 0);
  EXPECT_EQ(session_->find_output("y"), 0);
  EXPECT_EQ(session_->find_input("y"), -1);
  EXPECT_EQ(lq_session_find_output(session_->get(), nullptr), -1);
  const lq_tensor_info in = session_->input_info(0), out = session_->output_info(0);
  EXPECT_EQ(in.quantized_dtype, LQ_INT8);
  EXPECT_EQ(in.scale, kImageScale);
  EXPECT_EQ(in.zero_point, kImageZero);
  EXPECT_EQ(in.layout, LQ_LAYOUT_NCHW);
  EXPECT_EQ(in.takes_images, 1);
  EXPECT_EQ(out.quantized_dtype, LQ_INT8);
  EXPECT_EQ(out.scale, kResultScale);
  EXPECT_EQ(out.zero_point, kResultZero);
  EXPECT_EQ(out.takes_images, 0);
}

TEST_F(CapiBuffers, InPlaceWhereTheBufferSuits) {
  Aligned<float> in(kIn), out(kResult);
  ASSERT_EQ(session_->bind_input(0, in.data, in.bytes), LQ_OK) << lq_last_error();
  ASSERT_EQ(session_->bind_output(0, out.data, out.bytes), LQ_OK) << lq_last_error();
  EXPECT_EQ(session_->input<float>(0), in.data);
  EXPECT_EQ(session_->output<float>(0), out.data);
  std::memcpy(in.data, x_.data(), sizeof(float) * kIn);
  ASSERT_EQ(session_->run(), LQ_OK) << lq_last_error();
  EXPECT_EQ(std::memcmp(out.data, y_.data(), sizeof(float) * kResult), 0);
}

TEST_F(CapiBuffers, CopiedWhereItDoesNot) {
  Aligned<float> in(kIn, 0), out(kResult, 0);
  std::memcpy(in.data, x_.data(), sizeof(float) * kIn);
  ASSERT_EQ(session_->bind_input(0, in.data, in.bytes, LQ_FLOAT32, LQ_LAYOUT_NCHW), LQ_OK) << lq_last_error();
  ASSERT_EQ(session_->bind_output(0, out.data, out.bytes), LQ_OK) << lq_last_error();
  EXPECT_NE(session_->input<float>(0), in.data);
  ASSERT_EQ(session_->run(), LQ_OK) << lq_last_error();
  EXPECT_EQ(std::memcmp(out.data, y_.data(), sizeof(float) * kResult), 0);
  EXPECT_EQ(std::memcmp(session_->output<float>(0), y_.data(), sizeof(float) * kResult), 0);
}

TEST_F(CapiBuffers, ChannelsLast) {
  Aligned<float> in(kIn, 0), out(kResult);
  for (int i = 0; i < kIn; ++i) in.data[nhwc(i, 3, kSize)] = x_[size_t(i)];
  ASSERT_EQ(session_->bind_input(0, in.data, in.bytes, LQ_FLOAT32, LQ_LAYOUT_NHWC), LQ_OK) << lq_last_error();
  ASSERT_EQ(session_->bind_output(0, out.data, out.bytes, LQ_FLOAT32, LQ_LAYOUT_NHWC), LQ_OK) << lq_last_error();
  ASSERT_EQ(session_->run(), LQ_OK) << lq_last_error();
  for (int i = 0; i < kResult; ++i) ASSERT_EQ(out.data[nhwc(i, 8, kOut)], y_[size_t(i)]) << i;
}

TEST_F(CapiBuffers, Int8InBothLayouts) {
  for (const lq_layout layout : {LQ_LAYOUT_NCHW, LQ_LAYOUT_NHWC}) {
    Aligned<int8_t> in(kIn, 0), out(kResult, 0);
    const bool last = layout == LQ_LAYOUT_NHWC;
    for (int i = 0; i < kIn; ++i) in.data[last ? nhwc(i, 3, kSize) : i] = q_[size_t(i)];
    ASSERT_EQ(session_->bind_input(0, in.data, in.bytes, LQ_INT8, layout), LQ_OK) << lq_last_error();
    ASSERT_EQ(session_->bind_output(0, out.data, out.bytes, LQ_INT8, layout), LQ_OK) << lq_last_error();
    ASSERT_EQ(session_->run(), LQ_OK) << lq_last_error();
    for (int i = 0; i < kResult; ++i) {
      const int q = out.data[last ? nhwc(i, 8, kOut) : i];
      ASSERT_EQ(float(q - kResultZero) * kResultScale, y_[size_t(i)]) << i;
    }
  }
}

TEST_F(CapiBuffers, UnboundByNullAndByAResize) {
  Aligned<float> in(kIn), out(kResult);
  ASSERT_EQ(session_->bind_input(0, in.data, in.bytes), LQ_OK);
  ASSERT_EQ(session_->bind_output(0, out.data, out.bytes), LQ_OK);
  ASSERT_EQ(lq_session_bind_output(session_->get(), 0, nullptr), LQ_OK);
  EXPECT_NE(session_->output<float>(0), out.data);
  std::memcpy(in.data, x_.data(), sizeof(float) * kIn);
  ASSERT_EQ(session_->run(), LQ_OK);
  EXPECT_EQ(std::memcmp(session_->output<float>(0), y_.data(), sizeof(float) * kResult), 0);
  EXPECT_NE(session_->resize("x", {1, 3, kSize + 1, kSize}), LQ_OK);
  EXPECT_EQ(session_->input<float>(0), in.data) << "a failed resize lets nothing go";
  ASSERT_EQ(session_->resize("x", {2, 3, kSize, kSize}), LQ_OK) << lq_last_error();
  EXPECT_NE(session_->input<float>(0), in.data);
}

TEST_F(CapiBuffers, ErrorsLeaveTheBindingAsItWas) {
  Aligned<float> in(kIn);
  ASSERT_EQ(session_->bind_input(0, in.data, in.bytes), LQ_OK);
  const std::string few = "buffer for 'x' has 431 bytes, 432 are needed";
  EXPECT_EQ(session_->bind_input(0, in.data, 4 * kIn - 1), LQ_INVALID_ARGUMENT);
  EXPECT_NE(std::string(lq_last_error()).find(few), std::string::npos) << lq_last_error();
  EXPECT_EQ(session_->bind_input(0, in.data, in.bytes, LQ_INT32), LQ_UNSUPPORTED);
  EXPECT_EQ(session_->bind_input(0, in.data, in.bytes, LQ_UINT8), LQ_UNSUPPORTED) << "it is int8 here";
  EXPECT_EQ(session_->bind_input(0, reinterpret_cast<char*>(in.data) + 1, in.bytes - 1), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(session_->bind_input(0, in.data, in.bytes, lq_dtype(77)), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(session_->bind_input(0, in.data, in.bytes, LQ_FLOAT32, lq_layout(3)), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(session_->bind_input(1, in.data, in.bytes), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(session_->bind_output(-1, in.data, in.bytes), LQ_INVALID_ARGUMENT);
  lq_buffer unset{};
  EXPECT_EQ(lq_session_bind_input(session_->get(), 0, &unset), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(session_->input<float>(0), in.data);
}

// The library fills the very tensor the functions of source/image make of the same pixels.
TEST_F(CapiBuffers, ImageGoesThroughTheStoredPreprocessing) {
  ASSERT_EQ(session_->resize("x", {2, 3, kSize, kSize}), LQ_OK);
  constexpr int kWidth = 17, kHeight = 13, kStride = kWidth * 4 + 12;
  std::vector<uint8_t> rgba(size_t(kStride * kHeight));
  for (size_t i = 0; i < rgba.size(); ++i) rgba[i] = uint8_t(i * i * 7 + i / 3);
  float* x = session_->input<float>(0);
  ASSERT_EQ(session_->set_image(0, rgba.data(), kWidth, kHeight, LQ_PIXEL_RGBA, kStride, 1), LQ_OK) << lq_last_error();

  const PixelView view{rgba.data(), kWidth, kHeight, kStride, PixelFormat::kRgba};
  const auto info = image_info("x", kSize);
  const auto pixels = preprocess_pixels(view, *info.preprocessing, "x", {1, 3, kSize, kSize});
  ASSERT_TRUE(pixels.ok()) << pixels.status().message();
  std::vector<float> expected(kIn);
  ASSERT_TRUE(pixels_to_tensor(*pixels, *info.preprocessing, "x", DType::Float32, expected.data()).ok());
  EXPECT_EQ(std::memcmp(x + kIn, expected.data(), sizeof(float) * kIn), 0);
  EXPECT_EQ(std::vector<float>(x, x + kIn), std::vector<float>(kIn)) << "the other image of the batch stays";
}

TEST_F(CapiBuffers, ImageErrors) {
  const std::vector<uint8_t> rgb(3 * 20 * 20);
  EXPECT_EQ(session_->set_image(0, rgb.data(), 20, 20, LQ_PIXEL_RGB, 59), LQ_INVALID_ARGUMENT);
  EXPECT_NE(std::string(lq_last_error()).find("stride"), std::string::npos);
  EXPECT_EQ(session_->set_image(0, rgb.data(), 20, 20, LQ_PIXEL_RGB, 0, 1), LQ_INVALID_ARGUMENT);
  EXPECT_NE(std::string(lq_last_error()).find("1 images"), std::string::npos);
  EXPECT_EQ(session_->set_image(0, nullptr, 20, 20, LQ_PIXEL_RGB), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(session_->set_image(0, rgb.data(), 20, -20, LQ_PIXEL_RGB), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(session_->set_image(0, rgb.data(), 20, 20, lq_pixel_format(9)), LQ_INVALID_ARGUMENT);
  EXPECT_EQ(session_->set_image(1, rgb.data(), 20, 20, LQ_PIXEL_RGB), LQ_INVALID_ARGUMENT);
  Aligned<float> in(kIn, 0);
  ASSERT_EQ(session_->bind_input(0, in.data, in.bytes), LQ_OK);
  EXPECT_EQ(session_->set_image(0, rgb.data(), 20, 20, LQ_PIXEL_RGB), LQ_INVALID_ARGUMENT) << "it would be overwritten";
}

// A float model without stored preprocessing: neither int8 nor images.
TEST(CapiFloat, HasNoInt8AndNoImages) {
  GraphBuilder g;
  const TensorId y = g.node(Op::Relu, {g.input("x", {1, 3, 2, 2})}, {1, 3, 2, 2});
  g.graph().tensor(y).name = "y";
  g.output(y);
  const auto file = serialize_model(g.model);
  ASSERT_TRUE(file.ok()) << file.status().message();
  libquant::Model model(file->data(), file->size());
  libquant::Session session(model);
  ASSERT_TRUE(session.ok()) << lq_last_error();
  EXPECT_EQ(int(session.input_info(0).quantized_dtype), 0);
  EXPECT_EQ(session.input_info(0).takes_images, 0);
  int8_t q[12];
  EXPECT_EQ(session.bind_input(0, q, sizeof q, LQ_INT8), LQ_UNSUPPORTED);
  EXPECT_EQ(session.bind_output(0, q, sizeof q, LQ_INT8), LQ_UNSUPPORTED);
  const uint8_t pixels[12] = {};
  EXPECT_EQ(session.set_image(0, pixels, 2, 2, LQ_PIXEL_RGB), LQ_NOT_FOUND);
}

}  // namespace
}  // namespace lq::testing
