#include "image/preprocess.h"

#include "image/resize.h"

namespace lq {
namespace {

std::string size_text(int width, int height) { return std::to_string(width) + "x" + std::to_string(height); }

Result<PixelBuffer> apply_step(PixelBuffer image, const schema::PreprocessStepT& step, const Allocator& allocator) {
  switch (step.kind) {
    case schema::PreprocessKind::Resize:
      return resize_bilinear(std::move(image), step.width, step.height, allocator);
    case schema::PreprocessKind::ResizeShorter:
      return resize_shorter(std::move(image), step.width, allocator);
    case schema::PreprocessKind::CenterCrop:
      return center_crop(image, step.width, step.height, allocator);
    case schema::PreprocessKind::Letterbox:
      return letterbox(std::move(image), step.width, step.height, allocator);
  }
  return corrupt("unknown preprocessing step");
}

/// Models come from files: a step must have a size, and one that fits the pixel limit.
Status check_step(const schema::PreprocessStepT& step) {
  const int64_t height = step.kind == schema::PreprocessKind::ResizeShorter ? 1 : step.height;
  if (step.width <= 0 || height <= 0 || step.width > kMaxImageSide || height > kMaxImageSide ||
      step.width * height > kMaxPixels) {
    return corrupt("preprocessing step has a bad size " + size_text(step.width, step.height));
  }
  return {};
}

template <typename T>
void write_channel(const PixelBuffer& image, int channel, bool nhwc, const T* table, T* out) {
  const size_t plane = size_t(image.width) * size_t(image.height), channels = size_t(image.channels);
  const uint8_t* pixels = image.row(0) + channel;
  T* to = nhwc ? out + channel : out + size_t(channel) * plane;
  const size_t step = nhwc ? channels : 1;
  for (size_t i = 0; i < plane; ++i) to[i * step] = table[pixels[i * channels]];
}

/// The table as bytes. A value that is none may stand in it as long as no pixel has it.
Status whole_numbers(const PixelBuffer& image, int channel, const float* table, uint8_t* bytes,
                     const std::string& input_name) {
  bool whole[256];
  for (int v = 0; v < 256; ++v) {
    whole[v] = table[v] >= 0 && table[v] <= 255 && table[v] == float(int(table[v]));
    bytes[v] = whole[v] ? uint8_t(table[v]) : 0;
  }
  const uint8_t* pixels = image.row(0) + channel;
  const size_t plane = size_t(image.width) * size_t(image.height);
  for (size_t i = 0; i < plane; ++i) {
    if (!whole[pixels[i * size_t(image.channels)]])
      return invalid_argument("input '" + input_name + "' is uint8: images for it take no mean and std");
  }
  return {};
}

}  // namespace

Result<ImageInput> image_input(const std::string& input_name, const Shape& shape, schema::DataLayout layout) {
  const std::string what = "input '" + input_name + "' of shape " + shape_string(shape);
  if (shape.size() != 3 && shape.size() != 4)
    return invalid_argument(what + " does not take images; give .npy, .npz or .pb samples");
  const size_t base = shape.size() - 3;  // first axis after the batch
  const bool nhwc = layout == schema::DataLayout::Nhwc;
  const int64_t channels = shape[base + (nhwc ? 2 : 0)], height = shape[base + (nhwc ? 0 : 1)],
                width = shape[base + (nhwc ? 1 : 2)];
  if (channels != 1 && channels != 3) {
    return invalid_argument(
        what + " has " + (channels == kUnknownDim ? "an unknown number of" : std::to_string(channels)) +
        " channels as " + (nhwc ? "nhwc" : "nchw") + "; images have 1 or 3 (wrong layout? or give .npy samples)");
  }
  if (height > kMaxImageSide || width > kMaxImageSide) return invalid_argument(what + " is too large for images");
  return ImageInput{int(channels), width > 0 ? int(width) : 0, height > 0 ? int(height) : 0, base == 1};
}

Result<PixelBuffer> preprocess_pixels(const PixelView& view, const schema::PreprocessingT& preprocessing,
                                      const std::string& input_name, const Shape& shape, const Allocator& allocator) {
  LQ_ASSIGN_OR_RETURN(const ImageInput input, image_input(input_name, shape, preprocessing.layout));
  const int color_channels = preprocessing.color == schema::Color::Gray ? 1 : 3;
  if (color_channels != input.channels)
    return invalid_argument("input '" + input_name + "': the stored preprocessing has another channel count");
  if (preprocessing.mean.size() != size_t(input.channels) || preprocessing.std.size() != size_t(input.channels)) {
    return corrupt("input '" + input_name + "': mean and std need one value a channel");
  }
  LQ_ASSIGN_OR_RETURN(PixelBuffer image, convert_color(view, preprocessing.color, allocator));
  for (const auto& step : preprocessing.steps) {
    if (!step) return corrupt("empty preprocessing step");
    LQ_RETURN_IF_ERROR(check_step(*step));
    LQ_ASSIGN_OR_RETURN(image, apply_step(std::move(image), *step, allocator));
  }
  if ((input.width && image.width != input.width) || (input.height && image.height != input.height)) {
    return invalid_argument("the image is " + size_text(image.width, image.height) + ", input '" + input_name +
                            "' of shape " + shape_string(shape) + " wants " + size_text(input.width, input.height) +
                            "; resize it, or quantize with --resize, --crop or --letterbox");
  }
  return image;
}

Status pixels_to_tensor(const PixelBuffer& image, const schema::PreprocessingT& preprocessing,
                        const std::string& input_name, DType dtype, void* out) {
  if (dtype != DType::Float32 && dtype != DType::UInt8)
    return unsupported("input '" + input_name + "' is " + dtype_name(dtype) + ": images need float32 or uint8");
  const bool nhwc = preprocessing.layout == schema::DataLayout::Nhwc;
  for (int c = 0; c < image.channels; ++c) {
    float table[256];
    for (int v = 0; v < 256; ++v) table[v] = (float(v) - preprocessing.mean[c]) / preprocessing.std[c];
    if (dtype == DType::Float32) {
      write_channel(image, c, nhwc, table, static_cast<float*>(out));
      continue;
    }
    uint8_t bytes[256];
    LQ_RETURN_IF_ERROR(whole_numbers(image, c, table, bytes, input_name));
    write_channel(image, c, nhwc, bytes, static_cast<uint8_t*>(out));
  }
  return {};
}

}  // namespace lq
