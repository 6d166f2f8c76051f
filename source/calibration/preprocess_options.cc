// From text to PreprocessOptions: single options, presets, JSON files. For the tools.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "calibration/preprocess.h"

namespace lq::calibration {
namespace {

using schema::PreprocessKind;
using schema::PreprocessStepT;
constexpr int kMaxSide = 65536;

Status bad_value(std::string_view key, std::string_view value, const char* expected) {
  return invalid_argument("--" + std::string(key) + ": '" + std::string(value) + "' is not " + expected);
}

bool parse_side(std::string_view text, int& side) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), side);
  return error == std::errc() && end == text.data() + text.size() && side >= 1 && side <= kMaxSide;
}

bool parse_size(std::string_view text, int& width, int& height) {
  const size_t x = text.find('x');
  return x != std::string_view::npos && parse_side(text.substr(0, x), width) && parse_side(text.substr(x + 1), height);
}

bool parse_floats(std::string_view text, std::vector<float>& values) {
  values.clear();
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    float value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(value)) return false;
    values.push_back(value);
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

PreprocessStepT make_step(PreprocessKind kind, int width, int height) {
  PreprocessStepT step;
  step.kind = kind, step.width = width, step.height = height;
  return step;
}

/// resize, crop, letterbox.
Result<PreprocessStepT> parse_step(std::string_view key, std::string_view value) {
  int width = 0, height = 0;
  if (key == "resize") {
    if (value.starts_with("shorter:") && parse_side(value.substr(8), width))
      return make_step(PreprocessKind::ResizeShorter, width, 0);
    if (parse_size(value, width, height)) return make_step(PreprocessKind::Resize, width, height);
    return bad_value(key, value, "WxH or shorter:N");
  }
  if (key == "crop") {
    if (parse_size(value, width, height)) return make_step(PreprocessKind::CenterCrop, width, height);
    if (parse_side(value, width)) return make_step(PreprocessKind::CenterCrop, width, width);
    return bad_value(key, value, "WxH or N");
  }
  if (value.empty()) return make_step(PreprocessKind::Letterbox, 0, 0);
  if (parse_size(value, width, height)) return make_step(PreprocessKind::Letterbox, width, height);
  return bad_value(key, value, "WxH or empty");
}

Status set_numbers(PreprocessOptions& options, std::string_view key, std::string_view value) {
  std::vector<float> list;
  if (!parse_floats(value, list)) return bad_value(key, value, "a list of numbers such as 0.5,0.5,0.5");
  if (key == "std" && !std::all_of(list.begin(), list.end(), [](float v) { return v > 0; })) {
    return bad_value(key, value, "positive");
  }
  (key == "mean" ? options.mean : options.std) = std::move(list);
  return {};
}

/// A JSON value in the spelling of the command line.
Status json_text(const std::string& key, const nlohmann::ordered_json& value, std::string& text) {
  text.clear();
  if (value.is_string()) {
    text = value.get_ref<const std::string&>();
  } else if (value.is_number()) {
    text = value.dump();
  } else if (value.is_array() && !value.empty()) {
    for (const auto& item : value) {
      if (!item.is_number()) return invalid_argument("'" + key + "' must hold numbers");
      if (!text.empty()) text.push_back(',');
      text.append(item.dump());
    }
  } else if (key != "letterbox" || value != true) {
    return invalid_argument("'" + key + "' has a value of the wrong type");
  }
  return {};
}

Status apply_json(PreprocessOptions& options, const nlohmann::ordered_json& object, bool top_level) {
  for (const auto& [key, value] : object.items()) {
    if (top_level && key == "steps") {
      if (!value.is_array()) return invalid_argument("'steps' must be an array of objects");
      for (const auto& step : value) {
        if (!step.is_object() || step.size() != 1)
          return invalid_argument("each of 'steps' must be an object with one key");
        LQ_RETURN_IF_ERROR(apply_json(options, step, false));
      }
      continue;
    }
    if (!top_level && key != "resize" && key != "crop" && key != "letterbox")
      return invalid_argument("'steps' holds resize, crop and letterbox only, not '" + key + "'");
    std::string text;
    LQ_RETURN_IF_ERROR(json_text(key, value, text));
    LQ_RETURN_IF_ERROR(set_preprocess_option(options, key, text));
  }
  return {};
}

Result<PreprocessOptions> read_json(const std::string& path) {
  auto bytes = map_file(path);
  if (!bytes.ok())
    return bytes.status().with_context("--preprocess: neither a preset (" + std::string(preprocess_preset_names()) +
                                       ") nor a readable file");
  const char* text = reinterpret_cast<const char*>(bytes->data());
  const auto json = nlohmann::ordered_json::parse(text, text + bytes->size(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return corrupt(path + ": not a JSON object");
  PreprocessOptions options;
  const Status status = apply_json(options, json, true);
  if (!status.ok()) return status.with_context(path);
  return options;
}

}  // namespace

Status set_preprocess_option(PreprocessOptions& options, std::string_view key, std::string_view value) {
  if (key == "color") {
    if (value == "rgb")
      options.color = schema::Color::Rgb;
    else if (value == "bgr")
      options.color = schema::Color::Bgr;
    else if (value == "gray")
      options.color = schema::Color::Gray;
    else
      return bad_value(key, value, "rgb, bgr or gray");
  } else if (key == "layout") {
    if (value != "nchw" && value != "nhwc") return bad_value(key, value, "nchw or nhwc");
    options.layout = value == "nchw" ? schema::DataLayout::Nchw : schema::DataLayout::Nhwc;
  } else if (key == "exif") {
    if (value != "apply" && value != "ignore") return bad_value(key, value, "apply or ignore");
    options.ignore_exif = value == "ignore";
  } else if (key == "mean" || key == "std") {
    return set_numbers(options, key, value);
  } else if (key == "resize" || key == "crop" || key == "letterbox") {
    LQ_ASSIGN_OR_RETURN(PreprocessStepT step, parse_step(key, value));
    if (options.steps_are_preset) options.steps.clear(), options.steps_are_preset = false;
    options.steps.push_back(step);
  } else {
    return invalid_argument("unknown preprocessing key '" + std::string(key) + "'");
  }
  return {};
}

const char* preprocess_preset_names() { return "imagenet-torch, imagenet-tf, caffe, raw"; }

Result<PreprocessOptions> preprocess_preset(const std::string& name) {
  PreprocessOptions o;
  o.steps_are_preset = true;
  if (name == "raw") return o;
  o.steps = {make_step(PreprocessKind::ResizeShorter, 256, 0), make_step(PreprocessKind::CenterCrop, 224, 224)};
  if (name == "imagenet-torch") {  // torchvision's reference: 0.485, 0.456, 0.406 and 0.229, 0.224, 0.225 of 255
    o.color = schema::Color::Rgb;
    o.mean = {123.675f, 116.28f, 103.53f}, o.std = {58.395f, 57.12f, 57.375f};
  } else if (name == "imagenet-tf") {  // x / 127.5 − 1
    o.color = schema::Color::Rgb;
    o.mean = {127.5f}, o.std = {127.5f};
  } else if (name ==
             "caffe") {  // BGR minus the channel means; AlexNet's kin crop 227, VGG and ResNet 224: the model says
    o.color = schema::Color::Bgr;
    o.mean = {104.0f, 117.0f, 123.0f};
    o.steps = {make_step(PreprocessKind::Resize, 256, 256), make_step(PreprocessKind::CenterCrop, 0, 0)};
  } else {
    return read_json(name);
  }
  return o;
}

}  // namespace lq::calibration
