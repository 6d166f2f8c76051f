#include "conformance/quantized_case.h"

#include <unistd.h>

#include <cmath>
#include <cstring>

#include "calibration/collector.h"
#include "calibration/npy.h"
#include "calibration/preprocess.h"
#include "onnx/importer.h"

namespace lq::conformance {
namespace {

namespace fs = std::filesystem;
constexpr size_t kNoiseSamples = 4;

std::string file_name_of(std::string tensor, const char* replaced) {
  for (char& c : tensor) {
    if (std::strchr(replaced, c) != nullptr) c = '_';
  }
  return tensor;
}

Status write_noise(const calibration::InputSpec& input, const fs::path& folder) {
  const int64_t count = element_count(input.shape);
  if (count < 0) return invalid_argument(input.name + shape_string(input.shape) + ": give its shape");
  for (size_t s = 0; s < kNoiseSamples; ++s) {
    std::vector<float> floats;
    std::vector<int64_t> ints;
    for (int64_t i = 0; i < count; ++i) {
      floats.push_back(std::sin(float(i) * (0.01f + 0.03f * float(s))) + 0.3f * std::sin(float(i * i % 977)));
      ints.push_back((i * 7 + int64_t(s) * 13) % 500);
      if (input.name == "sr") ints.back() = 16000;  // silero: one branch of its If a sample rate
    }
    const bool whole = input.dtype == DType::Int64;
    const void* values = whole ? static_cast<const void*>(ints.data()) : floats.data();
    const std::string path = (folder / ("noise" + std::to_string(s) + ".npy")).string();
    LQ_RETURN_IF_ERROR(calibration::write_npy(path, input.dtype, input.shape, values));
  }
  return {};
}

}  // namespace

fs::path resolve(const std::string& path) {
  const size_t slash = path.find('/');
  const bool example = path.substr(0, slash) == "example";
  const fs::path root = example ? fs::path(LQ_SOURCE_DIR) / "examples" : fs::path(LQ_SHARED_DIR) / "pack";
  return root / path.substr(slash + 1);
}

bool is_present(const ModelCase& c) { return fs::exists(resolve(c.model)); }

ScratchFolder::ScratchFolder(const std::string& name)
    : path_(fs::temp_directory_path() / ("lq_" + name + "_" + std::to_string(getpid()))) {
  fs::remove_all(path_);
  fs::create_directories(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Result<ModelIr> import_case(const ModelCase& c) {
  ImportOptions import;
  for (const auto& [name, value] : c.fixed) import.fixed_inputs[name].text = value;
  LQ_ASSIGN_OR_RETURN(ModelIr ir, import_onnx(resolve(c.model).string(), import));
  if (c.images.empty()) return ir;
  calibration::PreprocessOptions options;
  for (const auto& [key, value] : c.preprocessing) {
    LQ_RETURN_IF_ERROR(calibration::set_preprocess_option(options, key, value));
  }
  const Tensor& input = ir.main().tensor(ir.main().inputs[0]);
  LQ_ASSIGN_OR_RETURN(schema::PreprocessingT resolved,
                      calibration::resolve_preprocessing(options, input.name, input.shape));
  schema::InputInfoT info;
  info.name = input.name;
  info.preprocessing = std::make_unique<schema::PreprocessingT>(std::move(resolved));
  ir.inputs.push_back(std::move(info));
  return ir;
}

Result<std::string> calibration_folder(const ModelCase& c, const ModelIr& ir, const ScratchFolder& scratch) {
  if (!c.images.empty() && fs::exists(resolve(c.images))) return resolve(c.images).string();
  for (const calibration::InputSpec& input : calibration::input_specs(ir, c.shapes)) {
    fs::path folder = scratch / "calib";
    if (ir.main().inputs.size() > 1) folder /= file_name_of(input.name, "/\\:");
    fs::create_directories(folder);
    const std::string reference = resolve(c.model).stem().string() + ".in." + file_name_of(input.name, ".") + ".npy";
    if (fs::exists(resolve("pack/ref") / reference)) {
      fs::copy_file(resolve("pack/ref") / reference, folder / "reference.npy");
      continue;
    }
    LQ_RETURN_IF_ERROR(write_noise(input, folder));
  }
  return (scratch / "calib").string();
}

Status quantize_on(const ModelCase& c, const std::string& folder, size_t samples, ModelIr& ir, double max_drop) {
  QuantizeOptions options;
  options.calibration_dir = folder;
  options.max_samples = samples;
  options.compare_samples = 0;
  options.input_shapes = c.shapes;
  options.threads = 2;
  if (c.for_avx2) options.target = "avx2";
  if (max_drop > 0) options.max_drop = max_drop;
  return quantize(ir, options).status();
}

Result<QuantizedCase> quantize_case(const ModelCase& c, const ScratchFolder& scratch, size_t samples) {
  QuantizedCase q;
  LQ_ASSIGN_OR_RETURN(q.ir, import_case(c));
  LQ_ASSIGN_OR_RETURN(q.calibration_folder, calibration_folder(c, q.ir, scratch));
  LQ_RETURN_IF_ERROR(quantize_on(c, q.calibration_folder, samples, q.ir));
  return q;
}

Result<calibration::DataSource> open_samples(const ModelCase& c, const ModelIr& ir, const std::string& folder,
                                             size_t at_most) {
  return calibration::DataSource::open(folder, calibration::input_specs(ir, c.shapes), at_most);
}

}  // namespace lq::conformance
