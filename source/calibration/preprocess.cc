#include "calibration/preprocess.h"

#include <algorithm>
#include <cmath>

#include "calibration/resize.h"

namespace lq::calibration {
namespace {

std::string join(const std::vector<float>& values) {
  std::string out;
  for (float v : values) {
    char text[32];
    std::snprintf(text, sizeof(text), "%s%.6g", out.empty() ? "" : ",", double(v));
    out += text;
  }
  return out;
}

std::string size_text(int width, int height) { return std::to_string(width) + "x" + std::to_string(height); }

schema::DataLayout default_layout(const Shape& shape) {
  auto is_channels = [](int64_t d) { return d == 1 || d == 3; };
  const size_t rank = shape.size();
  const bool last = (rank == 3 || rank == 4) && is_channels(shape[rank - 1]) && !is_channels(shape[rank - 3]);
  return last ? schema::DataLayout::Nhwc : schema::DataLayout::Nchw;
}

/// One entry a channel; `fallback` when none was given.
Result<std::vector<float>> per_channel(std::vector<float> values, int channels, float fallback,
                                       const std::string& what) {
  if (values.empty()) values = {fallback};
  if (values.size() == 1) values.resize(size_t(channels), values[0]);
  if (values.size() != size_t(channels)) {
    return invalid_argument(what + " has " + std::to_string(values.size()) + " values, the model's input has " +
                            std::to_string(channels) + " channels");
  }
  return values;
}

Result<Image> apply_step(Image image, const schema::PreprocessStepT& step) {
  switch (step.kind) {
    case schema::PreprocessKind::Resize:
      return resize_bilinear(image, step.width, step.height);
    case schema::PreprocessKind::ResizeShorter:
      return resize_shorter(image, step.width);
    case schema::PreprocessKind::CenterCrop:
      return center_crop(image, step.width, step.height);
    case schema::PreprocessKind::Letterbox:
      return letterbox(image, step.width, step.height);
  }
  return corrupt("unknown preprocessing step");
}

/// Models come from files: a step must have a size, and one that fits the pixel limit.
Status check_step(const schema::PreprocessStepT& step) {
  const int64_t height = step.kind == schema::PreprocessKind::ResizeShorter ? 1 : step.height;
  if (step.width <= 0 || height <= 0 || step.width > 65536 || height > 65536 || step.width * height > kMaxPixels) {
    return corrupt("preprocessing step has a bad size " + size_text(step.width, step.height));
  }
  return {};
}

HostTensor to_tensor(const Image& image, const schema::PreprocessingT& p, bool batch) {
  const int c = image.channels, w = image.width, h = image.height;
  const bool nhwc = p.layout == schema::DataLayout::Nhwc;
  Shape shape = nhwc ? Shape{h, w, c} : Shape{c, h, w};
  if (batch) shape.insert(shape.begin(), 1);
  HostTensor tensor{DType::Float32, shape, {}};
  const size_t plane = size_t(w) * size_t(h);
  tensor.data.resize(plane * size_t(c) * sizeof(float));
  float* out = tensor.as<float>();
  for (int ch = 0; ch < c; ++ch) {
    float table[256];
    for (int v = 0; v < 256; ++v) table[v] = (float(v) - p.mean[ch]) / p.std[ch];
    for (size_t i = 0; i < plane; ++i) out[nhwc ? i * c + ch : ch * plane + i] = table[image.pixels[i * c + ch]];
  }
  return tensor;
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
  if (height > 65536 || width > 65536) return invalid_argument(what + " is too large for images");
  return ImageInput{int(channels), width > 0 ? int(width) : 0, height > 0 ? int(height) : 0, base == 1};
}

Result<schema::PreprocessingT> resolve_preprocessing(const PreprocessOptions& options, const std::string& input_name,
                                                     const Shape& shape) {
  schema::PreprocessingT p;
  p.layout = options.layout.value_or(default_layout(shape));
  LQ_ASSIGN_OR_RETURN(const ImageInput input, image_input(input_name, shape, p.layout));
  p.color = options.color.value_or(input.channels == 1 ? schema::Color::Gray : schema::Color::Rgb);
  const int color_channels = p.color == schema::Color::Gray ? 1 : 3;
  if (color_channels != input.channels) {
    return invalid_argument("input '" + input_name + "' has " + std::to_string(input.channels) +
                            " channel(s) but color " + schema::EnumNameColor(p.color) + " has " +
                            std::to_string(color_channels) + "; use --color " +
                            (input.channels == 1 ? "gray" : "rgb or bgr"));
  }
  LQ_ASSIGN_OR_RETURN(p.mean, per_channel(options.mean, input.channels, 0.0f, "mean"));
  LQ_ASSIGN_OR_RETURN(p.std, per_channel(options.std, input.channels, 1.0f, "std"));
  for (schema::PreprocessStepT step : options.steps) {
    if (step.width == 0) {
      if (input.width == 0 || input.height == 0) {
        return invalid_argument("input '" + input_name + "' of shape " + shape_string(shape) +
                                " leaves its size free; give the size, e.g. --crop 224x224");
      }
      step.width = input.width, step.height = input.height;
    }
    p.steps.push_back(std::make_unique<schema::PreprocessStepT>(step));
  }
  p.ignore_exif = options.ignore_exif;
  return p;
}

Result<HostTensor> preprocess_image(const Image& image, const schema::PreprocessingT& preprocessing,
                                    const std::string& input_name, const Shape& shape) {
  LQ_ASSIGN_OR_RETURN(const ImageInput input, image_input(input_name, shape, preprocessing.layout));
  const int color_channels = preprocessing.color == schema::Color::Gray ? 1 : 3;
  if (color_channels != input.channels)
    return invalid_argument("input '" + input_name + "': the stored preprocessing has another channel count");
  if (preprocessing.mean.size() != size_t(input.channels) || preprocessing.std.size() != size_t(input.channels)) {
    return corrupt("input '" + input_name + "': mean and std need one value a channel");
  }
  Image current = convert_color(image, preprocessing.color);
  for (const auto& step : preprocessing.steps) {
    if (!step) return corrupt("empty preprocessing step");
    LQ_RETURN_IF_ERROR(check_step(*step));
    LQ_ASSIGN_OR_RETURN(current, apply_step(std::move(current), *step));
  }
  if ((input.width && current.width != input.width) || (input.height && current.height != input.height)) {
    return invalid_argument("the image is " + size_text(current.width, current.height) + ", input '" + input_name +
                            "' of shape " + shape_string(shape) + " wants " + size_text(input.width, input.height) +
                            "; add --resize, --crop or --letterbox");
  }
  return to_tensor(current, preprocessing, input.batch);
}

std::string describe_preprocessing(const schema::PreprocessingT& p) {
  const char* const colors[] = {"rgb", "bgr", "gray"};
  std::string out = colors[std::min(size_t(p.color), size_t(2))];
  for (const auto& step : p.steps) {
    if (!step) continue;
    switch (step->kind) {
      case schema::PreprocessKind::Resize:
        out += ", resize " + size_text(step->width, step->height);
        break;
      case schema::PreprocessKind::ResizeShorter:
        out += ", resize shorter:" + std::to_string(step->width);
        break;
      case schema::PreprocessKind::CenterCrop:
        out += ", crop " + size_text(step->width, step->height);
        break;
      case schema::PreprocessKind::Letterbox:
        out += ", letterbox " + size_text(step->width, step->height);
        break;
    }
  }
  out += ", mean " + join(p.mean) + ", std " + join(p.std);
  out += p.layout == schema::DataLayout::Nhwc ? ", nhwc" : ", nchw";
  return p.ignore_exif ? out + ", exif ignored" : out;
}

}  // namespace lq::calibration
