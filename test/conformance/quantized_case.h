// A ModelCase on disk -> a float or quantized model. What every test of real models begins with.
#pragma once
#include <filesystem>

#include "calibration/data_source.h"
#include "conformance/pack_models.h"
#include "libquant/quantizer.hpp"

namespace lq::conformance {

/// "example/…" and "pack/…" as a path of this machine.
std::filesystem::path resolve(const std::string& path);
bool is_present(const ModelCase& c);

/// A temporary folder of one test; several instances of a test may run at once.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// The float model with the case's preprocessing.
Result<ModelIr> import_case(const ModelCase& c);

/// The folder to calibrate with: the case's images, or else .npy files made in `scratch` (one folder an input): the
/// pack's reference inputs where it has them, otherwise smooth values with some noise (integers: small ones).
Result<std::string> calibration_folder(const ModelCase& c, const ModelIr& ir, const ScratchFolder& scratch);

/// Default options, on at most `samples` samples of `folder` (0: all). max_drop > 0: as --max-drop.
Status quantize_on(const ModelCase& c, const std::string& folder, size_t samples, ModelIr& ir, double max_drop = 0);

struct QuantizedCase {
  ModelIr ir;
  std::string calibration_folder;
};
/// Quantized with default options on `samples` samples (0: all).
Result<QuantizedCase> quantize_case(const ModelCase& c, const ScratchFolder& scratch, size_t samples);

/// Samples of a folder as the model takes them.
Result<calibration::DataSource> open_samples(const ModelCase& c, const ModelIr& ir, const std::string& folder,
                                             size_t at_most);

}  // namespace lq::conformance
