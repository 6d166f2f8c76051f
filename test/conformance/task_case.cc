#include "conformance/task_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "calibration/npy.h"
#include "image/resize.h"

namespace lq::conformance {

namespace fs = std::filesystem;

Result<TaskModels> quantize_for_task(const ModelCase& c, const std::string& folder, size_t samples, double max_drop) {
  TaskModels models;
  SessionOptions session;
  session.threads = 2;
  session.input_shapes = c.shapes;
  LQ_ASSIGN_OR_RETURN(ModelIr float_ir, import_case(c));
  LQ_ASSIGN_OR_RETURN(ModelIr int8_ir, import_case(c));
  ModelCase any_size = c;
  any_size.shapes.clear();
  LQ_RETURN_IF_ERROR(quantize_on(any_size, folder, samples, int8_ir, max_drop));
  LQ_ASSIGN_OR_RETURN(std::shared_ptr<const Model> float_model, Model::create(std::move(float_ir)));
  LQ_ASSIGN_OR_RETURN(std::shared_ptr<const Model> int8_model, Model::create(std::move(int8_ir)));
  LQ_ASSIGN_OR_RETURN(models.in_float, Session::create(float_model, session));
  LQ_ASSIGN_OR_RETURN(models.in_int8, Session::create(int8_model, session));
  return models;
}

Status run_floats(Session& session, const std::vector<std::vector<float>>& inputs) {
  if (inputs.size() != session.input_count()) return invalid_argument("another number of inputs");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (int64_t(inputs[i].size()) != element_count(session.input(i).shape))
      return invalid_argument("input '" + session.input(i).name + "' has another size");
    std::memcpy(session.input_data(i), inputs[i].data(), inputs[i].size() * sizeof(float));
  }
  return session.run();
}

std::vector<float> output_floats(const Session& session, size_t i) {
  const auto* values = static_cast<const float*>(session.output_data(i));
  return {values, values + element_count(session.output(i).shape)};
}

Status write_sample(const fs::path& folder, const std::string& input, const std::string& name, const Shape& shape,
                    const std::vector<float>& values) {
  const fs::path place = input.empty() ? folder : folder / input;
  fs::create_directories(place);
  return calibration::write_npy((place / (name + ".npy")).string(), DType::Float32, shape, values.data());
}

namespace {

calibration::Image image_of(const Result<PixelBuffer>& pixels) {
  if (!pixels.ok()) {
    ADD_FAILURE() << pixels.status().message();
    return calibration::make_image(1, 1, 1);
  }
  calibration::Image image = calibration::make_image(pixels->width, pixels->height, pixels->channels);
  std::copy_n(pixels->memory.data(), image.pixels.size(), image.pixels.data());
  return image;
}

/// The same pixels as source/image holds them.
Result<PixelBuffer> pixels_of(const calibration::Image& image) {
  return convert_color(calibration::view_of(image), image.channels == 1 ? schema::Color::Gray : schema::Color::Rgb);
}

}  // namespace

calibration::Image in_color(const calibration::Image& image, schema::Color color) {
  return image_of(convert_color(calibration::view_of(image), color));
}
calibration::Image resized(const calibration::Image& image, int width, int height) {
  Result<PixelBuffer> pixels = pixels_of(image);
  return image_of(pixels.ok() ? resize_bilinear(std::move(*pixels), width, height) : std::move(pixels));
}
calibration::Image cropped(const calibration::Image& image, int width, int height) {
  Result<PixelBuffer> pixels = pixels_of(image);
  return image_of(pixels.ok() ? center_crop(*pixels, width, height) : std::move(pixels));
}

std::vector<float> planes(const calibration::Image& image, const std::vector<float>& mean,
                          const std::vector<float>& deviation) {
  std::vector<float> values;
  for (size_t c = 0; c < size_t(image.channels); ++c) {
    for (size_t i = c; i < image.pixels.size(); i += size_t(image.channels))
      values.push_back((float(image.pixels[i]) - mean[c]) / deviation[c]);
  }
  return values;
}

std::vector<std::string> files_of(const fs::path& folder, size_t count) {
  std::vector<std::string> names, picked;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (calibration::is_image_name(entry.path().string())) names.push_back(entry.path().string());
  }
  std::sort(names.begin(), names.end());
  if (count == 0 || count >= names.size()) return names;
  for (size_t i = 0; i < count; ++i) picked.push_back(names[i * names.size() / count]);
  return picked;
}

void print_task(const std::string& task, const std::string& in_float, const std::string& in_int8,
                const std::string& wanted) {
  std::printf("task | %s | %s | %s | %s |\n", task.c_str(), in_float.c_str(), in_int8.c_str(), wanted.c_str());
}

std::string text(const char* pattern, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(buffer, sizeof(buffer), pattern, arguments);
  va_end(arguments);
  return buffer;
}

}  // namespace lq::conformance
