#include "model_args.h"

#include <thread>

#include "base/file.h"
#include "calibration/collector.h"
#include "format/model_file.h"
#include "onnx/importer.h"

namespace lq::tools {
namespace {

constexpr int kMaxThreads = 256;

/// "NAME=VALUE" at the first '='.
Result<std::pair<std::string, std::string>> split_assignment(const std::string& text, const char* option) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0) return invalid_argument(std::string(option) + " '" + text + "': expected NAME=VALUE");
  return std::make_pair(text.substr(0, at), text.substr(at + 1));
}

Result<Shape> parse_shape(const std::string& text, const std::string& option) {
  Shape shape;
  size_t at = 0;
  while (at <= text.size()) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    char* end = nullptr;
    const long long dim = std::strtoll(part.c_str(), &end, 10);
    if (part.empty() || *end != '\0' || dim < 1 || dim > InferContext::kMaxDim) {
      return invalid_argument(option + ": '" + part + "' is not a dimension; expected NAME:1,3,224,224");
    }
    shape.push_back(dim);
    at = comma + 1;
  }
  return shape;
}

}  // namespace

void ModelArgs::add_model(CLI::App& app, const char* description) {
  app.add_option("MODEL", path_, description)->required();
  app.add_option("--input-shape", shapes_, "shape of a dynamic input, e.g. input:1,3,224,224 (repeatable)")
      ->type_name("NAME:DIMS")->take_all()->expected(1)->allow_extra_args(false);
  app.add_option("--fix-input", fixed_, "make an input of an ONNX model a constant (repeatable)")
      ->type_name("NAME=VALUE")->take_all()->expected(1)->allow_extra_args(false);
}

void ModelArgs::add_preprocessing(CLI::App& app) {
  app.add_option("--preprocess", preset_, std::string("preset (") + calibration::preprocess_preset_names() + ") or a JSON file")
      ->type_name("NAME|FILE")->group("Image preprocessing");
  auto ordered = [&](const char* key, const char* type, const char* description) {
    app.add_option_function<std::string>(
           std::string("--") + key, [this, key](const std::string& value) { preprocess_.emplace_back(key, value); }, description)
        ->type_name(type)->group("Image preprocessing")->trigger_on_parse()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  ordered("color", "rgb|bgr|gray", "channel order (default: gray for one channel, rgb for three)");
  ordered("mean", "A,B,C", "subtracted from pixels 0...255 (default 0)");
  ordered("std", "A,B,C", "divides after the mean (default 1)");
  ordered("resize", "WxH|shorter:N", "bilinear with anti-aliasing");
  ordered("crop", "WxH", "centre crop");
  ordered("layout", "nchw|nhwc", "layout of the model's input (default: told from its shape)");
  ordered("exif", "apply|ignore", "orientation of JPEG files (default apply)");
  app.add_flag_callback("--letterbox", [this] { preprocess_.emplace_back("letterbox", ""); },
                        "fit into the input keeping the aspect ratio, pad right and below with 0")
      ->group("Image preprocessing")->trigger_on_parse();
}

void ModelArgs::add_isa(CLI::App& app) {
  app.add_option("--isa", isa_, "kernels to use: scalar, sse41, avx2, avxvnni, avx512vnni … (default: the best this processor has)")->type_name("NAME");
}

Result<std::optional<Isa>> ModelArgs::isa() const {
  if (isa_.empty()) return std::optional<Isa>();
  LQ_ASSIGN_OR_RETURN(const Isa isa, parse_isa(isa_));
  return std::optional<Isa>(isa);
}

Result<std::map<std::string, Shape>> ModelArgs::input_shapes() const {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : shapes_) {
    const size_t colon = text.rfind(':');  // names may hold colons, dimensions don't
    if (colon == std::string::npos || colon == 0) return invalid_argument("--input-shape '" + text + "': expected NAME:1,3,224,224");
    LQ_ASSIGN_OR_RETURN(shapes[text.substr(0, colon)], parse_shape(text.substr(colon + 1), "--input-shape '" + text + "'"));
  }
  return shapes;
}

Result<calibration::PreprocessOptions> ModelArgs::preprocess_options() const {
  calibration::PreprocessOptions options;
  if (!preset_.empty()) {
    LQ_ASSIGN_OR_RETURN(options, calibration::preprocess_preset(preset_));
  }
  for (const auto& [key, value] : preprocess_) LQ_RETURN_IF_ERROR(calibration::set_preprocess_option(options, key, value));
  return options;
}

Status ModelArgs::attach_preprocessing(ModelIr& model, const std::string& path) const {
  const bool asked = !preset_.empty() || !preprocess_.empty();
  LQ_ASSIGN_OR_RETURN(const calibration::PreprocessOptions options, preprocess_options());
  LQ_ASSIGN_OR_RETURN(const auto shapes, input_shapes());
  bool attached = false;
  for (TensorId id : model.main().inputs) {
    const Tensor& input = model.main().tensor(id);
    const auto given = shapes.find(input.name);
    const Shape& shape = given != shapes.end() ? given->second : input.shape;
    Result<schema::PreprocessingT> resolved = calibration::resolve_preprocessing(options, input.name, shape);
    if (!resolved.ok()) {
      // Not an image input: fine as long as nobody asked for preprocessing of the model's only input.
      if (asked && model.main().inputs.size() == 1) return resolved.status().with_context(path);
      continue;
    }
    schema::InputInfoT info;
    info.name = input.name;
    info.preprocessing = std::make_unique<schema::PreprocessingT>(std::move(*resolved));
    model.inputs.push_back(std::move(info));
    attached = true;
  }
  if (asked && !attached) return invalid_argument(path + ": preprocessing options given, but the model has no image input (rank 4 with 1 or 3 channels)");
  return {};
}

Result<ModelIr> ModelArgs::load() const { return load(path_); }

Result<ModelIr> ModelArgs::load(const std::string& path) const {
  LQ_ASSIGN_OR_RETURN(const Bytes file, map_file(path));
  if (is_model_file(file.data(), file.size())) {
    if (path == path_) {
      if (!preset_.empty() || !preprocess_.empty()) {
        return invalid_argument(path + ": a .lqm carries its own preprocessing; leave the preprocessing options out");
      }
      if (!fixed_.empty()) return invalid_argument(path + ": --fix-input is for ONNX models; fix the input when quantizing");
    }
    Result<ModelIr> model = read_model(file);
    if (!model.ok()) return model.status().with_context(path);
    return model;
  }
  ImportOptions options;
  options.logger.write = [](void*, LogLevel level, const char* message) {
    if (level >= LogLevel::kWarning) std::fprintf(stderr, "warning: %s\n", message);
  };
  for (const std::string& text : fixed_) {
    LQ_ASSIGN_OR_RETURN(const auto assignment, split_assignment(text, "--fix-input"));
    options.fixed_inputs[assignment.first].text = assignment.second;
  }
  LQ_ASSIGN_OR_RETURN(ModelIr model, import_onnx(path, options));
  LQ_RETURN_IF_ERROR(attach_preprocessing(model, path));
  return model;
}

int thread_count(int given) {
  if (given > 0) return std::min(given, kMaxThreads);
  return std::max(1, std::min(int(std::thread::hardware_concurrency()), kMaxThreads));
}

}  // namespace lq::tools
