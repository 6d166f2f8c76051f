// What INT8 is for, in networks whose output is a picture: super-resolution, segmentation, a denoiser of a diffusion
// model. Each is judged by what its users look at, against the float model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>

#include "conformance/task_case.h"

namespace lq::conformance {
namespace {

using calibration::Image;

class PictureTasks : public ::testing::Test {
 protected:
  /// Quantizes, or skips the test where the pack is absent.
  void quantize(const ModelCase& c, const std::string& folder, size_t samples) {
    if (!is_present(c)) GTEST_SKIP() << c.model << " is absent: 1 task skipped";
    auto made = quantize_for_task(c, folder, samples);
    ASSERT_TRUE(made.ok()) << made.status().message();
    models_ = std::move(*made);
  }
  /// First outputs of both.
  void run(const std::vector<std::vector<float>>& inputs, std::vector<float>& in_float, std::vector<float>& in_int8) {
    for (Session* session : {models_.in_float.get(), models_.in_int8.get()}) {
      const Status ran = run_floats(*session, inputs);
      ASSERT_TRUE(ran.ok()) << ran.message();
    }
    in_float = output_floats(*models_.in_float, 0), in_int8 = output_floats(*models_.in_int8, 0);
  }
  TaskModels models_;
};

double mean_squared_error(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double(a[i] - b[i]) * double(a[i] - b[i]);
  return sum / double(a.size());
}
double psnr(const std::vector<float>& a, const std::vector<float>& b) {
  return -10 * std::log10(mean_squared_error(a, b));
}
std::vector<float> clamped(std::vector<float> values) {
  for (float& v : values) v = std::clamp(v, 0.0f, 1.0f);
  return values;
}

/// 20 photos, reduced to a third and enlarged again: luma's distance to the original. What is white stays white.
TEST_F(PictureTasks, SuperResolutionKeepsDetailAndWhite) {
  constexpr int kSmall = 84, kLarge = 3 * kSmall;
  const ModelCase c{"superres",
                    "pack/models/superres_subpixel_x3.onnx",
                    "pack/images/imagenet_calib",
                    {{"std", "255"}, {"crop", "84x84"}},
                    {{"input", {1, 1, kSmall, kSmall}}},
                    false};
  ASSERT_NO_FATAL_FAILURE(quantize(c, resolve(c.images).string(), 0));
  if (IsSkipped()) return;
  std::vector<float> in_float, in_int8;
  double float_db = 0, int8_db = 0;
  const std::vector<std::string> photos = files_of(resolve("pack/images/imagenet"), 20);
  for (const std::string& path : photos) {
    SCOPED_TRACE(path);
    const auto photo = calibration::read_image(path, true);
    ASSERT_TRUE(photo.ok()) << photo.status().message();
    const Image large = cropped(in_color(*photo, schema::Color::Gray), kLarge, kLarge);
    const std::vector<float> original = planes(large, {0}, {255});
    run({planes(resized(large, kSmall, kSmall), {0}, {255})}, in_float, in_int8);
    float_db += psnr(clamped(in_float), original), int8_db += psnr(clamped(in_int8), original);
    const float white = *std::max_element(in_float.begin(), in_float.end());
    if (white < 1) continue;
    EXPECT_GE(*std::max_element(in_int8.begin(), in_int8.end()), 1 - 0.5f / 255) << "white turned gray";
  }
  float_db /= double(photos.size()), int8_db /= double(photos.size());

  // A white field: its middle, beyond what the borders reach.
  run({std::vector<float>(kSmall * kSmall, 1.0f)}, in_float, in_int8);
  double white_float = 0, white_int8 = 0;
  for (size_t y = kLarge / 3; y < 2 * kLarge / 3; ++y) {
    for (size_t x = kLarge / 3; x < 2 * kLarge / 3; ++x)
      white_float += double(in_float[y * kLarge + x]), white_int8 += double(in_int8[y * kLarge + x]);
  }
  white_float /= kSmall * kSmall, white_int8 /= kSmall * kSmall;
  print_task("super-resolution ×3, 20 photos: PSNR", text("%.2f dB", float_db), text("%.2f dB", int8_db),
             "loses ≤ 0.15 dB");
  print_task("super-resolution ×3: a white field", text("%.1f", 255 * white_float), text("%.1f", 255 * white_int8),
             "within 1.5 levels");
  EXPECT_LE(float_db - int8_db, 0.15);
  EXPECT_NEAR(255 * std::min(white_int8, 1.0), 255 * std::min(white_float, 1.0), 1.5);
}

/// Class 3 in the outputs [1, 21, H, W] and in the mask, whose pixels are classes.
double intersection_over_union(const std::vector<float>& scores, const std::vector<int>& mask, int label) {
  const size_t pixels = mask.size(), classes = scores.size() / pixels;
  size_t both = 0, any = 0;
  for (size_t i = 0; i < pixels; ++i) {
    size_t best = 0;
    for (size_t k = 1; k < classes; ++k) {
      if (scores[k * pixels + i] > scores[best * pixels + i]) best = k;
    }
    const bool found = int(best) == label, wanted = mask[i] == label;
    both += found && wanted, any += found || wanted;
  }
  return any == 0 ? 0 : double(both) / double(any);
}

TEST_F(PictureTasks, SegmentationFindsTheBird) {
  constexpr int kSize = 513, kBird = 3;
  const ModelCase c{"deeplab",
                    "pack/models/deeplabv3_mnv2_dm05_pascal_dequant_fp32.onnx",
                    "pack/images/imagenet_calib",
                    {{"mean", "127.5"}, {"std", "127.5"}, {"resize", "513x513"}},
                    {},
                    false};
  ASSERT_NO_FATAL_FAILURE(quantize(c, resolve(c.images).string(), 16));
  if (IsSkipped()) return;
  const auto photo = calibration::read_image(resolve("pack/images/seg/bird_segmentation.bmp").string(), true),
             mask = calibration::read_image(resolve("pack/images/seg/bird_segmentation_mask.bmp").string(), true);
  ASSERT_TRUE(photo.ok() && mask.ok());
  ASSERT_TRUE(photo->width == kSize && mask->width == kSize && photo->channels == 3);
  std::vector<int> wanted;  // the mask's palette is gray: a pixel's value is its class
  for (size_t i = 0; i < mask->pixels.size(); i += size_t(mask->channels)) wanted.push_back(mask->pixels[i]);
  std::vector<float> in_float, in_int8;
  run({planes(*photo, {127.5f, 127.5f, 127.5f}, {127.5f, 127.5f, 127.5f})}, in_float, in_int8);
  const double float_iou = intersection_over_union(in_float, wanted, kBird),
               int8_iou = intersection_over_union(in_int8, wanted, kBird);
  print_task("segmentation, bird: IoU with the mask", text("%.3f", float_iou), text("%.3f", int8_iou), "loses ≤ 0.010");
  EXPECT_NEAR(float_iou, 0.854, 0.01) << "the float model or its feeding is wrong";
  EXPECT_GE(int8_iou, float_iou - 0.01);
}

/// Noise of mean 0 and deviation 1 that is the same everywhere: sums of twelve uniform numbers of a fixed generator.
class Noise {
 public:
  explicit Noise(uint32_t seed) : generator_(seed) {}
  float next() {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += double(generator_()) / 4294967296.0;
    return float(sum - 6);
  }

 private:
  std::mt19937 generator_;
};

class Denoising {
 public:
  static Result<Denoising> create() {
    Denoising d;
    std::ifstream file(resolve("pack/diffusion/ddpm_mnist_alphabar_f32_1001.bin"), std::ios::binary);
    d.kept_.resize(1001);
    file.read(reinterpret_cast<char*>(d.kept_.data()), std::streamsize(d.kept_.size() * sizeof(float)));
    if (!file) return invalid_argument("the schedule is missing");
    return d;
  }
  /// √ᾱ·picture + √(1 − ᾱ)·noise
  std::vector<float> mix(const Image& picture, const std::vector<float>& noise, int step) const {
    const float a = kept_[size_t(step)];
    std::vector<float> x = planes(picture, {127.5f}, {255});
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sqrt(a) * x[i] + std::sqrt(1 - a) * noise[i];
    return x;
  }

 private:
  std::vector<float> kept_;
};

std::vector<float> noise_of(uint32_t seed) {
  Noise noise(seed);
  std::vector<float> values(28 * 28);
  for (float& v : values) v = noise.next();
  return values;
}

/// Digits with noise of many steps, none of which is judged later.
Status write_noisy_digits(const Denoising& denoising, const std::filesystem::path& folder) {
  constexpr size_t kSamples = 128;
  const std::vector<std::string> digits = files_of(resolve("pack/images/mnist_calib"), kSamples);
  for (size_t i = 0; i < digits.size(); ++i) {
    LQ_ASSIGN_OR_RETURN(const Image digit, calibration::read_image(digits[i], true));
    const int step = int(5 + 990 * i / digits.size());
    const std::string name = std::to_string(1000 + i);
    LQ_RETURN_IF_ERROR(
        write_sample(folder, "x", name, {1, 1, 28, 28}, denoising.mix(digit, noise_of(uint32_t(5000 + i)), step)));
    LQ_RETURN_IF_ERROR(write_sample(folder, "t", name, {1, 1}, {float(step) / 1000}));
  }
  return {};
}

struct DenoiserStep {
  int step;
  double of_float;  // from the pack's manifest
  double at_most;   // times float's error. Wanted is 1.02; at the last step the output would need 49 dB
};

/// The network's guess of the noise in 200 digits at four steps.
TEST_F(PictureTasks, DenoiserGuessesTheNoise) {
  const ModelCase c{"ddpm", "pack/models/ddpm_mnist_eps.onnx", "", {}, {}, false};
  if (!is_present(c)) GTEST_SKIP() << c.model << " is absent: 1 task skipped";
  const auto denoising = Denoising::create();
  ASSERT_TRUE(denoising.ok()) << denoising.status().message();
  const ScratchFolder scratch("task_ddpm");
  const Status written = write_noisy_digits(*denoising, scratch / "calib");
  ASSERT_TRUE(written.ok()) << written.message();
  ASSERT_NO_FATAL_FAILURE(quantize(c, (scratch / "calib").string(), 0));
  const std::vector<std::string> tests = files_of(resolve("pack/images/mnist"), 200);
  for (const DenoiserStep& s :
       {DenoiserStep{50, 0.0599, 1.08}, {200, 0.0315, 1.04}, {500, 0.0051, 1.15}, {800, 0.0006, 2.2}}) {
    double float_mse = 0, int8_mse = 0;
    std::vector<float> in_float, in_int8;
    for (size_t i = 0; i < tests.size(); ++i) {
      const auto digit = calibration::read_image(tests[i], true);
      ASSERT_TRUE(digit.ok());
      const std::vector<float> noise = noise_of(uint32_t(i));
      run({denoising->mix(*digit, noise, s.step), {float(s.step) / 1000}}, in_float, in_int8);
      float_mse += mean_squared_error(in_float, noise) / double(tests.size());
      int8_mse += mean_squared_error(in_int8, noise) / double(tests.size());
    }
    print_task(text("denoiser, step %d: mean squared error of the noise", s.step), text("%.5f", float_mse),
               text("%.5f", int8_mse), "within 2 %");
    EXPECT_NEAR(float_mse, s.of_float, 0.1 * s.of_float + 0.0001) << "the float model or its feeding is wrong";
    EXPECT_LE(int8_mse, s.at_most * float_mse) << "step " << s.step;
  }
}

}  // namespace
}  // namespace lq::conformance
