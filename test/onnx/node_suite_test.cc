// ONNX's own node tests (Debian's libonnx-testdata): every case all of whose operators have an importer row is
// imported, planned for the scalar and the best vector ISA, run and compared as ONNX's runner does (rtol 1e-3, atol
// 1e-7; integers exactly). Prints "N run / N passed" and the rest by reason. float16 and double cases run in float32,
// as models do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "onnx/exporter.h"
#include "onnx/importer.h"
#include "onnx/tensor_proto.h"
#include "runtime/session.h"

namespace lq {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSuite = "/usr/share/libonnx-testdata/data/node";

struct Outcome {
  enum Kind { kPassed, kFailed, kLeftOut } kind;
  std::string text;  // why
};
Outcome left_out(std::string why) { return {Outcome::kLeftOut, std::move(why)}; }
Outcome failed(std::string why) { return {Outcome::kFailed, std::move(why)}; }

using Tensors = std::map<std::string, Tensor>;

/// input_0.pb, input_1.pb … belong to the names in order. Files that are absent end the list.
Status read_tensors(const fs::path& set, const char* prefix, const std::vector<std::string>& names, Tensors& tensors) {
  for (size_t i = 0; i < names.size(); ++i) {
    const fs::path file = set / (prefix + std::to_string(i) + ".pb");
    if (!fs::exists(file)) continue;
    LQ_ASSIGN_OR_RETURN(Tensor tensor, read_tensor_pb(file.string()));
    tensor.name = names[i];
    tensors[names[i]] = std::move(tensor);
  }
  return {};
}

bool close(float actual, float expected) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::fabs(double(actual) - double(expected)) <= 1e-7 + 1e-3 * std::fabs(double(expected));
}

/// "" or the first difference.
std::string compare(const Tensor& actual, const void* data, const Tensor& expected) {
  if (actual.dtype != expected.dtype) {
    return std::string("dtype ") + dtype_name(actual.dtype) + ", expected " + dtype_name(expected.dtype);
  }
  if (actual.shape != expected.shape)
    return "shape " + shape_string(actual.shape) + ", expected " + shape_string(expected.shape);
  if (expected.dtype != DType::Float32) {
    const size_t n = expected.data.size();
    return n == 0 || std::memcmp(data, expected.data.data(), n) == 0 ? "" : "integer values differ";
  }
  const float *a = static_cast<const float*>(data), *e = expected.data.as<float>();
  for (size_t i = 0; i < expected.data.size() / 4; ++i) {
    if (!close(a[i], e[i]))
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", expected " + std::to_string(e[i]);
  }
  return "";
}

/// "" or what went wrong on this ISA.
std::string run_on(const std::shared_ptr<const Model>& model, Isa isa, const Tensors& inputs, const Tensors& outputs) {
  SessionOptions options;
  options.isa = isa;
  for (const auto& [name, tensor] : inputs) options.input_shapes[name] = tensor.shape;
  for (auto it = options.input_shapes.begin(); it != options.input_shapes.end();) {
    bool is_input = false;
    for (TensorId id : model->ir().main().inputs) is_input |= model->ir().main().tensor(id).name == it->first;
    it = is_input ? std::next(it) : options.input_shapes.erase(it);
  }
  auto session = Session::create(model, options);
  if (!session.ok()) return session.status().message();
  for (size_t i = 0; i < (*session)->input_count(); ++i) {
    const auto found = inputs.find((*session)->input(i).name);
    if (found == inputs.end()) return "no data for input '" + (*session)->input(i).name + "'";
    if (found->second.dtype != (*session)->input(i).dtype) return "input type differs";
    if (found->second.data.size() != 0)
      std::memcpy((*session)->input_data(i), found->second.data.data(), found->second.data.size());
  }
  const Status ran = (*session)->run();
  if (!ran.ok()) return ran.message();
  for (size_t i = 0; i < (*session)->output_count(); ++i) {
    const auto found = outputs.find((*session)->output(i).name);
    if (found == outputs.end()) return "no reference for output '" + (*session)->output(i).name + "'";
    const std::string difference = compare((*session)->output(i), (*session)->output_data(i), found->second);
    if (!difference.empty()) return "output '" + found->first + "': " + difference;
  }
  return "";
}

struct Case {
  Tensors inputs, outputs;
  ImportOptions options;  // inputs that decide shapes are fixed to their data
};

/// The test data, or why the case is left out.
std::optional<Outcome> read_case(const fs::path& dir, const OnnxSummary& summary, Case& c) {
  for (const OnnxOperator& op : summary.operators) {
    if (!op.supported) return left_out("operator not listed");
  }
  std::vector<std::string> names[2];
  for (int side : {0, 1}) {
    for (const OnnxValue& value : side == 0 ? summary.inputs : summary.outputs) {
      if (value.declared == DType::BFloat16) {
        return left_out("bfloat16 (computed in float32; the reference is raw uint16)");
      }
      if (value.declared == DType::Undefined) return left_out("a sequence, an optional or strings");
      names[side].push_back(value.tensor.name);
    }
  }
  Status read = read_tensors(dir / "test_data_set_0", "input_", names[0], c.inputs);
  if (read.ok()) read = read_tensors(dir / "test_data_set_0", "output_", names[1], c.outputs);
  if (!read.ok()) return failed(read.message());
  for (const OnnxValue& input : summary.inputs) {
    const auto data = c.inputs.find(input.tensor.name);
    if (data == c.inputs.end()) continue;
    if (input.known_at_planning)
      c.options.fixed_inputs[data->first].tensor = data->second;
    else if (element_count(data->second.shape) == 0)
      return left_out("an input without elements");
  }
  return std::nullopt;
}

/// exported: the imported model takes the way through the exporter and the importer again before it runs.
Outcome run_case(const fs::path& dir, bool exported) {
  const std::string path = (dir / "model.onnx").string();
  const auto summary = summarize_onnx(path);
  if (!summary.ok()) return failed(summary.status().message());
  Case c;
  if (const auto outcome = read_case(dir, *summary, c)) return *outcome;
  auto ir = import_onnx(path, c.options);
  if (!ir.ok()) {
    const bool training = ir.status().message().find("inference mode") != std::string::npos;
    return training ? left_out("training mode") : failed(ir.status().message());
  }
  if (exported) {
    const auto bytes = export_onnx_bytes(*ir);
    if (!bytes.ok()) return failed("export: " + bytes.status().message());
    ir = import_onnx_bytes(bytes->data(), bytes->size(), "exported", "", {});
    if (!ir.ok()) return failed(ir.status().message());
  }
  auto model = Model::create(std::move(*ir));
  if (!model.ok()) return failed(model.status().message());
  for (const char* name : {"scalar", "sse41", "avx2"}) {
    if (exported && std::string(name) != "scalar") continue;
    const auto isa = parse_isa(name);
    if (!isa.ok()) continue;  // not this processor
    const std::string problem = run_on(*model, *isa, c.inputs, c.outputs);
    if (problem.find("only 1-D and 2-D convolutions") != std::string::npos) return left_out("3-D convolution");
    if (!problem.empty()) return failed(std::string(name) + ": " + problem);
  }
  return {Outcome::kPassed, ""};
}

void run_suite(const char* title, bool exported) {
  if (!fs::exists(kSuite)) GTEST_SKIP() << kSuite << " is absent (package libonnx-testdata): all node cases skipped";
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(kSuite)) {
    if (fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  const char* only = std::getenv("LQ_NODE_CASE");  // a part of the case's name
  int run = 0, passed = 0;
  std::map<std::string, int> reasons;
  for (const fs::path& dir : cases) {
    const std::string name = dir.filename().string();
    if (only != nullptr && name.find(only) == std::string::npos) continue;
    const Outcome outcome = run_case(dir, exported);
    if (outcome.kind == Outcome::kLeftOut) {
      ++reasons[outcome.text];
      if (only != nullptr) std::printf("%s: left out: %s\n", name.c_str(), outcome.text.c_str());
      continue;
    }
    ++run;
    if (outcome.kind == Outcome::kPassed)
      ++passed;
    else
      ADD_FAILURE() << name << ": " << outcome.text;
  }
  std::printf("%s: %zu cases, %d run / %d passed\n", title, cases.size(), run, passed);
  for (const auto& [reason, count] : reasons) std::printf("  %4d %s\n", count, reason.c_str());
}

TEST(NodeSuite, EveryCaseOfAListedOperatorPasses) { run_suite("node suite", false); }
TEST(NodeSuite, EveryCaseSurvivesTheExporter) { run_suite("node suite, exported and imported again", true); }

}  // namespace
}  // namespace lq
