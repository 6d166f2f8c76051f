// ONNX's own node tests (Debian's libonnx-testdata): every case all of whose operators have an importer row is imported,
// planned for the scalar and the best vector ISA, run and compared as ONNX's runner does (rtol 1e-3, atol 1e-7; integers
// exactly). Prints "N run / N passed" and the rest by reason. float16 and double cases run in float32, as models do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

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
  if (actual.shape != expected.shape) return "shape " + shape_string(actual.shape) + ", expected " + shape_string(expected.shape);
  if (expected.dtype != DType::Float32) {
    const size_t n = expected.data.size();
    return n == 0 || std::memcmp(data, expected.data.data(), n) == 0 ? "" : "integer values differ";
  }
  const float *a = static_cast<const float*>(data), *e = expected.data.as<float>();
  for (size_t i = 0; i < expected.data.size() / 4; ++i) {
    if (!close(a[i], e[i])) return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", expected " + std::to_string(e[i]);
  }
  return "";
}

/// "" or what went wrong on this ISA. `unsupported` is set when the plan refused a type.
std::string run_on(const std::shared_ptr<const Model>& model, Isa isa, const Tensors& inputs, const Tensors& outputs, bool& refused) {
  SessionOptions options;
  options.isa = isa;
  for (const auto& [name, tensor] : inputs) options.input_shapes[name] = tensor.shape;
  for (auto it = options.input_shapes.begin(); it != options.input_shapes.end();) {
    bool is_input = false;
    for (TensorId id : model->ir().main().inputs) is_input |= model->ir().main().tensor(id).name == it->first;
    it = is_input ? std::next(it) : options.input_shapes.erase(it);
  }
  auto session = Session::create(model, options);
  if (!session.ok()) {
    refused = session.status().code() == StatusCode::kUnsupported;
    return session.status().message();
  }
  for (size_t i = 0; i < (*session)->input_count(); ++i) {
    const auto found = inputs.find((*session)->input(i).name);
    if (found == inputs.end()) return "no data for input '" + (*session)->input(i).name + "'";
    if (found->second.dtype != (*session)->input(i).dtype) return "input type differs";
    if (found->second.data.size() != 0) std::memcpy((*session)->input_data(i), found->second.data.data(), found->second.data.size());
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

/// Types no kernel must have: a refusal of these leaves the case out instead of failing it.
bool is_rare(DType t) {
  return t == DType::UInt8 || t == DType::Int8 || t == DType::Int16 || t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64;
}

Outcome run_case(const fs::path& dir) {
  const std::string path = (dir / "model.onnx").string();
  const auto summary = summarize_onnx(path);
  if (!summary.ok()) return failed(summary.status().message());
  std::vector<std::string> missing;
  for (const OnnxOperator& op : summary->operators) {
    if (!op.supported) missing.push_back(op.op_type);
  }
  if (!missing.empty()) return left_out("operator not listed");
  ImportOptions options;
  std::vector<std::string> names;
  std::string rare;
  for (const OnnxInput& input : summary->inputs) {
    if (input.tensor.dtype == DType::Undefined) return left_out("sequence, optional, string or other type without arithmetic");
    if (is_rare(input.tensor.dtype)) rare = dtype_name(input.tensor.dtype);
    names.push_back(input.tensor.name);
  }
  Tensors inputs, outputs;
  Status read = read_tensors(dir / "test_data_set_0", "input_", names, inputs);
  if (read.ok()) read = read_tensors(dir / "test_data_set_0", "output_", summary->outputs, outputs);
  if (!read.ok()) {
    const bool type = read.code() == StatusCode::kUnsupported;
    return type ? left_out("sequence, optional, string or other type without arithmetic") : failed(read.message());
  }
  for (const auto& [name, tensor] : outputs) {
    if (is_rare(tensor.dtype)) rare = dtype_name(tensor.dtype);
  }
  for (const OnnxInput& input : summary->inputs) {
    if (input.known_at_planning && inputs.count(input.tensor.name)) options.fixed_inputs[input.tensor.name].tensor = inputs[input.tensor.name];
  }
  auto ir = import_onnx(path, options);
  if (!ir.ok()) {
    const std::string& message = ir.status().message();
    if (message.find("inference mode") != std::string::npos) return left_out("training mode");
    return failed(message);
  }
  auto model = Model::create(std::move(*ir));
  if (!model.ok()) return failed(model.status().message());
  for (const char* name : {"scalar", "avx2"}) {
    const auto isa = parse_isa(name);
    if (!isa.ok()) continue;  // not this processor
    bool refused = false;
    const std::string problem = run_on(*model, *isa, inputs, outputs, refused);
    if (refused && !rare.empty()) return left_out("operator does not take " + rare);
    if (!problem.empty()) return failed(std::string(name) + ": " + problem);
  }
  return {Outcome::kPassed, ""};
}

TEST(NodeSuite, EveryCaseOfAListedOperatorPasses) {
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
    const Outcome outcome = run_case(dir);
    if (outcome.kind == Outcome::kLeftOut) {
      ++reasons[outcome.text];
      if (only != nullptr) std::printf("%s: left out: %s\n", name.c_str(), outcome.text.c_str());
      continue;
    }
    ++run;
    if (outcome.kind == Outcome::kPassed) ++passed;
    else ADD_FAILURE() << name << ": " << outcome.text;
  }
  std::printf("node suite: %zu cases, %d run / %d passed\n", cases.size(), run, passed);
  for (const auto& [reason, count] : reasons) std::printf("  %4d %s\n", count, reason.c_str());
}

}  // namespace
}  // namespace lq
