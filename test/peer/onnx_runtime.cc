#include "peer/onnx_runtime.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace lq::peer {
namespace {

namespace fs = std::filesystem;
constexpr const char* kVersion = "1.30.0";  // as tools/install_dependencies.sh installs it
constexpr const char* kMinutesAtMost = "5m";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path module_folder() {
  if (const std::string given = environment("LIBQUANT_ONNXRUNTIME_NODE"); !given.empty()) return given;
  const std::string cache = environment("XDG_CACHE_HOME");
  const fs::path base = cache.empty() ? fs::path(environment("HOME")) / ".cache" : fs::path(cache);
  return base / "libquant" / (std::string("onnxruntime-node-") + kVersion);
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Plainly: these files need no fsync.
void write_text(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

nlohmann::json description(const Stream& s, const fs::path& file) {
  return {{"name", s.name}, {"type", dtype_name(s.dtype)}, {"dims", s.shape}, {"file", file.string()}};
}

}  // namespace

std::string why_absent() {
  if (std::system("node --version >/dev/null 2>&1") != 0) return "node is not installed";
  const fs::path folder = module_folder();
  if (!fs::exists(folder / "node_modules" / "onnxruntime-node")) {
    return "onnxruntime-node is not in " + folder.string() + " (tools/install_dependencies.sh tests)";
  }
  return "";
}

Status run_onnx_runtime(const std::string& model, const std::vector<Stream>& inputs, size_t samples,
                        const fs::path& folder, std::vector<Stream>& outputs, bool literal) {
  fs::create_directories(folder);
  const fs::path model_file = folder / "model.onnx", job_file = folder / "job.json", log = folder / "log";
  nlohmann::json job = {{"model", model_file.string()}, {"samples", samples}, {"literal", literal}};
  write_text(model_file, model);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const fs::path file = folder / ("in" + std::to_string(i));
    write_text(file, inputs[i].data);
    job["inputs"].push_back(description(inputs[i], file));
  }
  const auto output_file = [&](size_t i) { return folder / ("out" + std::to_string(i)); };
  for (size_t i = 0; i < outputs.size(); ++i) job["outputs"].push_back(description(outputs[i], output_file(i)));
  write_text(job_file, job.dump());
  const std::string command = std::string("timeout ") + kMinutesAtMost + " node " +
                              quoted(LQ_SOURCE_DIR "/test/peer/ort_run.js") + " " + quoted(module_folder().string()) +
                              " " + quoted(job_file.string()) + " >" + quoted(log.string()) + " 2>&1";
  if (std::system(command.c_str()) != 0) return internal_error("ONNX Runtime failed: " + read_text(log));
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].data = read_text(output_file(i));
    const size_t expected = size_t(element_count(outputs[i].shape)) * dtype_size(outputs[i].dtype) * samples;
    if (outputs[i].data.size() != expected)
      return internal_error(outputs[i].name + ": ONNX Runtime gave it another size");
  }
  return {};
}

}  // namespace lq::peer
