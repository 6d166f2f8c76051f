#include "calibration/preprocess.h"

#include <algorithm>

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

}  // namespace

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
                                    const std::string& input_name, const Shape& shape, DType dtype) {
  LQ_ASSIGN_OR_RETURN(const PixelBuffer pixels,
                      preprocess_pixels(view_of(image), preprocessing, input_name, shape));
  Shape out = preprocessing.layout == schema::DataLayout::Nhwc ? Shape{pixels.height, pixels.width, pixels.channels}
                                                               : Shape{pixels.channels, pixels.height, pixels.width};
  if (shape.size() == 4) out.insert(out.begin(), 1);
  LQ_ASSIGN_OR_RETURN(HostTensor tensor, make_tensor(dtype, out));
  LQ_RETURN_IF_ERROR(pixels_to_tensor(pixels, preprocessing, input_name, dtype, tensor.data.data()));
  return tensor;
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
