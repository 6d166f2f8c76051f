// Command-line options that name a model, fix its inputs and say how images become tensors; the same in every tool.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "calibration/data_source.h"
#include "calibration/preprocess.h"
#include "common.h"
#include "runtime/session.h"

namespace lq::tools {

class ModelArgs {
 public:
  /// MODEL, --input-shape, --fix-input.
  void add_model(CLI::App& app, const char* description);
  /// --preprocess, --color, --mean, --std, --resize, --crop, --letterbox, --layout, --exif: kept in the order typed.
  void add_preprocessing(CLI::App& app);
  /// --isa.
  void add_isa(CLI::App& app);

  const std::string& path() const { return path_; }
  /// Reads .lqm or .onnx, told apart by content. An .onnx gets the preprocessing options; for a .lqm, which carries its own,
  /// they are an error.
  Result<ModelIr> load() const;
  /// The same for another file, with the same options for an .onnx.
  Result<ModelIr> load(const std::string& path) const;
  Result<std::map<std::string, Shape>> input_shapes() const;
  Result<std::optional<Isa>> isa() const;

 private:
  Result<calibration::PreprocessOptions> preprocess_options() const;
  Status attach_preprocessing(ModelIr& model, const std::string& path) const;

  std::string path_, isa_, preset_;
  std::vector<std::string> shapes_, fixed_;
  std::vector<std::pair<std::string, std::string>> preprocess_;  // key, value in the order typed
};

/// Threads to use: the number given, or every processor when 0.
int thread_count(int given);

}  // namespace lq::tools
