// lq-run: one inference on given inputs; writes and checks outputs.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <set>

#include "calibration/collector.h"
#include "calibration/npy.h"
#include "device/profile.h"
#include "model_args.h"
#include "runtime/golden.h"

namespace lq::tools {
namespace {

struct Options {
  ModelArgs model;
  std::vector<std::string> inputs, expects;
  std::string output_dir, dump_dir, json;
  size_t top = 0;
  int threads = 1;
  double atol = 1e-5, rtol = 1e-4;
  bool profile = false, check = false;
};

/// A tensor name as a file name: '/', '\' and ':' become '_'.
std::string file_name_of(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == '\\' || c == ':') c = '_';
  }
  return name + ".npy";
}

/// "[NAME=]FILE": NAME only if it is one of `names`, so that paths may hold '='.
std::pair<std::string, std::string> split_named(const std::string& text, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (text.size() > name.size() && text[name.size()] == '=' && text.compare(0, name.size(), name) == 0) {
      return {name, text.substr(name.size() + 1)};
    }
  }
  return {"", text};
}

Result<std::vector<calibration::HostTensor>> load_inputs(const Options& o,
                                                         const std::vector<calibration::InputSpec>& specs) {
  std::vector<std::string> names;
  for (const auto& spec : specs) names.push_back(spec.name);
  std::vector<std::string> files(specs.size());
  size_t next = 0;
  for (const std::string& text : o.inputs) {
    auto [name, file] = split_named(text, names);
    const size_t at = name.empty() ? next++ : size_t(std::find(names.begin(), names.end(), name) - names.begin());
    if (at >= specs.size())
      return invalid_argument("--input " + text + ": the model has " + std::to_string(specs.size()) + " inputs");
    if (!files[at].empty()) return invalid_argument("--input " + text + ": input '" + names[at] + "' is given twice");
    files[at] = file;
  }
  std::vector<calibration::HostTensor> tensors;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (files[i].empty())
      return invalid_argument("input '" + names[i] + "' of " + o.model.path() + " is missing: give --input " +
                              names[i] + "=FILE");
    LQ_ASSIGN_OR_RETURN(calibration::HostTensor t, calibration::load_input_file(files[i], specs[i], specs.size() == 1));
    tensors.push_back(std::move(t));
  }
  return tensors;
}

/// Makes every intermediate value that the plan really computes an output, so that it can be written. Asking for more
/// would change which patterns are fused, i.e. what is computed.
Status tap_everything(ModelIr& ir, const SessionOptions& options) {
  LQ_ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, Model::create(ir));
  LQ_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::create(model, options));
  std::set<std::string> computed;
  for (const Node& node : session->fused_graph().nodes) {
    for (TensorId id : node.outputs) {
      if (id != kNoTensor) computed.insert(session->fused_graph().tensor(id).name);
    }
  }
  Graph& graph = ir.main();
  for (const Node& node : graph.nodes) {
    for (TensorId id : node.outputs) {
      if (id != kNoTensor && !is_graph_output(graph, id) && computed.count(graph.tensor(id).name) != 0)
        graph.outputs.push_back(id);
    }
  }
  return {};
}

template <typename T>
double value_of(const void* data, int64_t i) {
  return double(static_cast<const T*>(data)[i]);
}
double element(const Tensor& t, const void* data, int64_t i) {
  switch (t.dtype) {
    case DType::Float32:
      return value_of<float>(data, i);
    case DType::Int8:
      return value_of<int8_t>(data, i);
    case DType::UInt8:
    case DType::Bool:
      return value_of<uint8_t>(data, i);
    case DType::Int32:
      return value_of<int32_t>(data, i);
    case DType::Int64:
      return value_of<int64_t>(data, i);
    default:
      return std::nan("");
  }
}

void print_top(const Tensor& t, const void* data, size_t k) {
  std::vector<int64_t> order(size_t(element_count(t.shape)));
  std::iota(order.begin(), order.end(), 0);
  k = std::min(k, order.size());
  std::partial_sort(order.begin(), order.begin() + int64_t(k), order.end(), [&](int64_t a, int64_t b) {
    const double x = element(t, data, a), y = element(t, data, b);
    return x > y || (x == y && a < b);
  });
  for (size_t i = 0; i < k; ++i)
    std::printf("  %zu. index %lld value %g\n", i + 1, static_cast<long long>(order[i]), element(t, data, order[i]));
}

/// Largest |got − want| and whether every element is within atol + rtol·|want|. NaN equals NaN only.
struct Difference {
  double largest = 0;
  int64_t at = -1;
  int64_t outside = 0;
};
Difference difference(const Tensor& t, const void* data, const calibration::HostTensor& want, double atol,
                      double rtol) {
  Tensor like;
  like.dtype = want.dtype;
  Difference d;
  for (int64_t i = 0; i < element_count(t.shape); ++i) {
    const double x = element(t, data, i), y = element(like, want.data.data(), i);
    if ((std::isnan(x) && std::isnan(y)) || x == y) continue;
    const double e = std::fabs(x - y);
    if (!(e <= atol + rtol * std::fabs(y))) ++d.outside;
    if (!(e <= d.largest)) d.largest = e, d.at = i;
  }
  return d;
}

Status check_expectations(const Options& o, const Session& session) {
  std::vector<std::string> names;
  for (size_t i = 0; i < session.output_count(); ++i) names.push_back(session.output(i).name);
  std::string failed;
  for (const std::string& text : o.expects) {
    auto [name, file] = split_named(text, names);
    if (name.empty() && names.size() != 1)
      return invalid_argument("--expect " + text + ": expected NAME=FILE with the name of an output");
    const size_t at = name.empty() ? 0 : size_t(std::find(names.begin(), names.end(), name) - names.begin());
    LQ_ASSIGN_OR_RETURN(const calibration::HostTensor want, calibration::read_npy(file));
    const Tensor& t = session.output(at);
    if (want.shape != t.shape) {
      return invalid_argument(file + ": shape " + shape_string(want.shape) + ", output '" + t.name + "' has " +
                              shape_string(t.shape));
    }
    const Difference d = difference(t, session.output_data(at), want, o.atol, o.rtol);
    std::printf("expect %s largest_difference %g at %lld outside %lld of %lld\n", t.name.c_str(), d.largest,
                static_cast<long long>(d.at), static_cast<long long>(d.outside),
                static_cast<long long>(element_count(t.shape)));
    if (d.outside != 0) failed += (failed.empty() ? "" : ", ") + t.name;
  }
  return failed.empty() ? Status() : invalid_argument("outside the tolerance: " + failed);
}

Status write_outputs(const Session& session, size_t count, const std::string& folder, WrittenFiles& written) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return io_error(folder + ": cannot create: " + error.message());
  for (size_t i = 0; i < count; ++i) {
    const Tensor& t = session.output(i);
    const std::string path = folder + "/" + file_name_of(t.name);
    LQ_RETURN_IF_ERROR(written.add(path, calibration::write_npy(path, t.dtype, t.shape, session.output_data(i))));
  }
  return {};
}

/// The self-test a file carries: generated inputs, the hash of the outputs. Needs no data.
Status check_model(const Options& o, const SessionOptions& options) {
  LQ_ASSIGN_OR_RETURN(ModelIr ir, o.model.load());
  LQ_ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, in_file(o.model.path(), Model::create(std::move(ir))));
  LQ_RETURN_IF_ERROR(check_golden(model, options).with_context(o.model.path()));
  std::printf("golden ok\n");
  return {};
}

Status run(const Options& o) {
  SessionOptions options;
  options.threads = o.threads;
  LQ_ASSIGN_OR_RETURN(options.isa, o.model.isa());
  if (o.check) return check_model(o, options);
  LQ_ASSIGN_OR_RETURN(options.input_shapes, o.model.input_shapes());
  LQ_ASSIGN_OR_RETURN(ModelIr ir, o.model.load());
  const std::vector<calibration::InputSpec> specs = calibration::input_specs(ir, options.input_shapes);
  LQ_ASSIGN_OR_RETURN(const std::vector<calibration::HostTensor> inputs, load_inputs(o, specs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape& shape = options.input_shapes[specs[i].name];
    if (!shape.empty() && shape != inputs[i].shape) {
      return invalid_argument("--input-shape gives '" + specs[i].name + "' the shape " + shape_string(shape) +
                              ", its file has " + shape_string(inputs[i].shape));
    }
    shape = inputs[i].shape;
  }
  const size_t own_outputs = ir.main().outputs.size();
  if (!o.dump_dir.empty()) LQ_RETURN_IF_ERROR(tap_everything(ir, options).with_context(o.model.path()));

  LQ_ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, in_file(o.model.path(), Model::create(std::move(ir))));
  LQ_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, in_file(o.model.path(), Session::create(model, options)));
  for (size_t i = 0; i < inputs.size(); ++i)
    std::memcpy(session->input_data(i), inputs[i].data.data(), inputs[i].data.size());
  std::vector<StepTime> times;
  LQ_RETURN_IF_ERROR(o.profile ? session->run_profiled(times) : session->run());

  nlohmann::json json{{"model", o.model.path()}, {"outputs", nlohmann::json::array()}};
  for (size_t i = 0; i < own_outputs; ++i) {
    const Tensor& t = session->output(i);
    std::printf("output %s %s %s\n", t.name.c_str(), dtype_name(t.dtype), shape_string(t.shape).c_str());
    json["outputs"].push_back({{"name", t.name}, {"dtype", dtype_name(t.dtype)}, {"shape", t.shape}});
    if (o.top != 0) print_top(t, session->output_data(i), o.top);
  }
  if (o.profile) print_profile(session->steps(), times);
  WrittenFiles written;
  if (!o.output_dir.empty()) LQ_RETURN_IF_ERROR(write_outputs(*session, own_outputs, o.output_dir, written));
  if (!o.dump_dir.empty()) LQ_RETURN_IF_ERROR(write_outputs(*session, session->output_count(), o.dump_dir, written));
  if (!o.json.empty()) LQ_RETURN_IF_ERROR(written.add(o.json, write_json(o.json, json)));
  written.keep();
  return check_expectations(o, *session);
}

}  // namespace
}  // namespace lq::tools

int main(int argc, char** argv) {
  using namespace lq::tools;
  CLI::App app("Run a model (.lqm or .onnx) once.");
  Options o;
  o.model.add_model(app, "model file (.lqm or .onnx)");
  app.add_option("--input", o.inputs, "image, .npy, .npz or .pb for an input (repeatable; in order, or by name)")
      ->type_name("[NAME=]FILE")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  app.add_option("--output-dir", o.output_dir, "write every output as .npy")->type_name("DIR");
  app.add_option("--top", o.top, "print the K largest values of each output")->type_name("K")->check(at_least(1));
  app.add_option("--threads", o.threads, "threads of one inference (default 1)")->check(CLI::Range(1, 256));
  CLI::Option* expect =
      app.add_option("--expect", o.expects, "compare an output with a .npy file; exit 1 if outside (repeatable)")
          ->type_name("NAME=FILE")
          ->take_all()
          ->expected(1)
          ->allow_extra_args(false);
  app.add_option("--atol", o.atol, "absolute tolerance of --expect (default 1e-5)")->check(at_least(0))->needs(expect);
  app.add_option("--rtol", o.rtol, "relative tolerance of --expect (default 1e-4)")->check(at_least(0))->needs(expect);
  app.add_option("--dump-all", o.dump_dir, "write every computed intermediate tensor as .npy too")->type_name("DIR");
  app.add_flag("--profile", o.profile, "print time and kernel of each operator");
  CLI::Option* check = app.add_flag("--check", o.check, "only run the golden self-test that the model carries");
  app.add_option("--json", o.json, "write the results for machines")->type_name("FILE");
  for (const char* name :
       {"--input", "--output-dir", "--top", "--expect", "--dump-all", "--profile", "--json", "--input-shape"}) {
    check->excludes(app.get_option(name));  // would have no effect
  }
  o.model.add_isa(app);
  o.model.add_preprocessing(app);
  return run_tool(app, "lq-run", argc, argv, [&] { return run(o); });
}
