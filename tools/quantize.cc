// quantize: float ONNX in, INT8 model out.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "format/model_file.h"
#include "libquant/quantizer.hpp"
#include "model_args.h"
#include "onnx/exporter.h"
#include "runtime/prepare_graph.h"

namespace lq::tools {
namespace {

struct Options {
  ModelArgs model;
  std::string output, json, export_qdq;
  QuantizeOptions quantize;
  int threads = 0;
  bool verbose = false, quiet = false;
};

std::string default_output(const std::string& model) { return std::filesystem::path(model).stem().string() + ".lqm"; }

/// The command's options as the file records them: what decides the result, nothing about this machine.
std::string describe_options(const QuantizeOptions& o) {
  if (o.float_only) return "float";
  std::string text =
      "method=" + o.method + " activation=" + o.activation + " target=" + o.target + " weights=" + o.weights;
  if (o.max_samples != 0) text += format(" max-samples=%zu", o.max_samples);
  for (const std::string& s : o.skip) text += " skip=" + s;
  return text;
}

std::string share(std::optional<double> v) { return v ? format("%.4f", *v) : "-"; }
std::string decibel(std::optional<double> v) { return v ? format("%.1f", *v) : "-"; }

void print_nodes(const QuantizeReport& r, bool all) {
  std::vector<const QuantizeReport::Node*> rows;
  for (const auto& n : r.nodes) {
    if (n.precision == "int8" && n.sqnr_db) rows.push_back(&n);
  }
  if (!all) {
    std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return *a->sqnr_db < *b->sqnr_db; });
    if (rows.size() > 5) rows.resize(5);
  }
  if (rows.empty()) return;
  std::printf("%s\n  %8s %8s %-20s %s\n",
              all ? "int8 operators" : "worst int8 operators by signal-to-quantization-noise", "dB", "clipped",
              "operator", "node");
  for (const auto* n : rows) {
    std::printf("  %8s %8s %-20s %s\n", decibel(n->sqnr_db).c_str(), share(n->clipped_share).c_str(), n->op.c_str(),
                (n->name.empty() ? n->output : n->name).c_str());
  }
}

void print_float_nodes(const QuantizeReport& r) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const auto& n : r.nodes) {
    if (n.precision == "float") by_reason[n.op + ": " + n.reason].push_back(n.name.empty() ? n.output : n.name);
  }
  if (by_reason.empty()) return;
  std::printf("left in float\n");
  for (const auto& [reason, names] : by_reason)
    std::printf("  %zu x %s (first: %s)\n", names.size(), reason.c_str(), names[0].c_str());
}

void print_warnings(const QuantizeReport& r) {
  for (const auto& w : r.warnings) std::printf("warning: %s; %s\n", w.message.c_str(), w.advice.c_str());
}

void print_operators(const QuantizeReport& r) {
  for (const auto& [op, count] : r.by_op)
    std::printf("  %-24s int8 %zu float %zu\n", op.c_str(), count.first, count.second);
}

void print_report(const Options& o, const QuantizeReport& r, size_t before, size_t after) {
  std::printf("model %s -> %s\n", o.model.path().c_str(), o.output.c_str());
  std::printf("size %s -> %s (%.3f)\n", human_bytes(before).c_str(), human_bytes(after).c_str(),
              before > 0 ? double(after) / double(before) : 0);
  if (o.quantize.float_only) {
    if (o.verbose) print_operators(r);
    return print_warnings(r);
  }
  std::printf("samples used %zu skipped %zu\n", r.samples_used, r.skipped.size());
  for (const auto& s : r.skipped) std::printf("  skipped %s: %s\n", s.name.c_str(), s.reason.c_str());
  for (const auto& s : r.ignored) std::printf("  ignored %s: %s\n", s.name.c_str(), s.reason.c_str());
  std::printf("operators int8 %zu float %zu\n", r.int8_nodes, r.float_nodes);
  if (o.verbose) print_operators(r);
  print_float_nodes(r);
  print_nodes(r, o.verbose);
  std::printf("int8_mac_share %s\n", share(r.int8_mac_share).c_str());
  if (r.output_sqnr_db) {
    std::printf("agreement with float on %zu calibration samples: top1 %s sqnr_db %s\n", r.samples_compared,
                share(r.top1_agreement).c_str(), decibel(r.output_sqnr_db).c_str());
  }
  print_warnings(r);
}

nlohmann::json or_null(const std::optional<double>& v) { return v ? nlohmann::json(*v) : nlohmann::json(nullptr); }

nlohmann::json to_json(const Options& o, const QuantizeReport& r, size_t before, size_t after) {
  nlohmann::json j;
  j["model"] = o.model.path();
  j["output"] = o.output;
  j["options"] = describe_options(o.quantize);
  j["bytes_before"] = before;
  j["bytes_after"] = after;
  j["samples_used"] = r.samples_used;
  j["int8_operators"] = r.int8_nodes;
  j["float_operators"] = r.float_nodes;
  j["int8_mac_share"] = or_null(r.int8_mac_share);
  j["samples_compared"] = r.samples_compared;
  j["output_sqnr_db"] = or_null(r.output_sqnr_db);
  j["top1_agreement"] = or_null(r.top1_agreement);
  j["skipped"] = j["ignored"] = j["nodes"] = j["warnings"] = nlohmann::json::array();
  for (const auto& s : r.skipped) j["skipped"].push_back({{"name", s.name}, {"reason", s.reason}});
  for (const auto& s : r.ignored) j["ignored"].push_back({{"name", s.name}, {"reason", s.reason}});
  for (const auto& n : r.nodes) {
    j["nodes"].push_back({{"name", n.name},
                          {"operator", n.op},
                          {"precision", n.precision},
                          {"reason", n.reason},
                          {"output", n.output},
                          {"float_output", n.float_output},
                          {"sqnr_db", or_null(n.sqnr_db)},
                          {"clipped_share", or_null(n.clipped_share)},
                          {"range", nlohmann::json::array({n.range_min, n.range_max})}});
  }
  for (const auto& w : r.warnings) j["warnings"].push_back({{"message", w.message}, {"advice", w.advice}});
  return j;
}

/// What can be told before the long work.
Status check_files(const Options& o) {
  if (!o.quantize.float_only && o.quantize.calibration_dir.empty()) {
    return invalid_argument("give the folder of calibration data with --calib DIR (or --float to convert only)");
  }
  const std::string& model = o.model.path();
  LQ_ASSIGN_OR_RETURN(const Bytes file, map_file(model));
  if (is_model_file(file.data(), file.size()))
    return invalid_argument(model + ": is a libquant model already; quantize takes a float ONNX model");
  std::vector<std::string> used = {model};
  for (const auto& [option, path] :
       {std::pair("--output", &o.output), {"--export-qdq", &o.export_qdq}, {"--json", &o.json}}) {
    if (path->empty()) continue;
    for (const std::string& other : used) {
      std::error_code ignored;
      if (*path == other || std::filesystem::equivalent(*path, other, ignored))
        return invalid_argument(std::string(option) + " " + *path + ": would overwrite " + other);
    }
    LQ_RETURN_IF_ERROR(check_writable(option, *path));
    used.push_back(*path);
  }
  return {};
}

Status check_is_float(const ModelIr& ir, const std::string& path) {
  for (const Node& node : ir.main().nodes) {
    if (node.op != Op::QuantizeLinear && node.op != Op::DequantizeLinear) continue;
    return invalid_argument(path + ": is quantized already (" + node_label(ir.main(), node) +
                            "); give the float model, or convert this one as it is with --float");
  }
  return {};
}

/// Told before the long work: files without a sample or with samples of many sizes would leave it open.
Status check_shapes(const ModelIr& ir, const QuantizeOptions& options) {
  Graph inputs = ir.main();
  return apply_input_shapes(inputs, options.input_shapes);
}

Status write_files(const Options& o, const ModelIr& ir, const QuantizeReport& report) {
  WrittenFiles written;
  if (!o.export_qdq.empty()) LQ_RETURN_IF_ERROR(written.add(o.export_qdq, export_onnx(ir, o.export_qdq)));
  LQ_RETURN_IF_ERROR(written.add(o.output, write_model_file(ir, o.output)));
  const size_t before = file_size(o.model.path()), after = file_size(o.output);
  if (!o.json.empty()) LQ_RETURN_IF_ERROR(written.add(o.json, write_json(o.json, to_json(o, report, before, after))));
  written.keep();
  if (!o.quiet) print_report(o, report, before, after);
  return {};
}

Status run(Options o) {
  if (o.output.empty()) o.output = default_output(o.model.path());
  LQ_RETURN_IF_ERROR(check_files(o));
  LQ_ASSIGN_OR_RETURN(ModelIr ir, o.model.load());
  if (!o.quantize.float_only) LQ_RETURN_IF_ERROR(check_is_float(ir, o.model.path()));
  LQ_ASSIGN_OR_RETURN(o.quantize.input_shapes, o.model.input_shapes());
  LQ_RETURN_IF_ERROR(check_shapes(ir, o.quantize).with_context(o.model.path()));
  o.quantize.threads = thread_count(o.threads);
  QuantizeReport report;
  {
    ProgressBar bar(o.quiet);
    o.quantize.progress = [&](const char* stage, size_t done, size_t total) { bar.update(stage, done, total); };
    if (o.verbose) o.quantize.log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    Result<QuantizeReport> quantized = quantize(ir, o.quantize);
    if (!quantized.ok()) return quantized.status().with_context(o.model.path());
    report = std::move(*quantized);
  }
  ir.producer = "libquant " LQ_VERSION;
  ir.options = describe_options(o.quantize);
  LQ_RETURN_IF_ERROR(add_golden(ir, o.quantize, report).with_context(o.model.path()));
  return write_files(o, ir, report);
}

}  // namespace
}  // namespace lq::tools

int main(int argc, char** argv) {
  using namespace lq::tools;
  CLI::App app("Make an INT8 model from a float ONNX model and a folder of calibration data.");
  Options o;
  auto& q = o.quantize;
  o.model.add_model(app, "float ONNX model");
  app.add_option("-o,--output", o.output, "default: MODEL's name with .lqm, in the current folder")->type_name("FILE");
  app.add_option("--calib", q.calibration_dir,
                 "images, .npy, .npz or .pb; several inputs: one sub-folder per input name")
      ->type_name("DIR");
  app.add_option("--max-samples", q.max_samples, "evenly spaced over the sorted names (default: all)")
      ->check(at_least(1));
  app.add_option("--method", q.method, "activation thresholds (default kl)")
      ->type_name("kl|minmax|percentile[:P]|mse")
      ->group("Quantization");
  app.add_option("--activation", q.activation, "auto, symmetric or asymmetric (default auto)")
      ->type_name("MODE")
      ->group("Quantization");
  app.add_option("--target", q.target,
                 "any, or avx2: a little less resolution, faster on x86 without VNNI (default any)")
      ->type_name("any|avx2")
      ->group("Quantization");
  app.add_option("--weights", q.weights, "default per-channel")
      ->type_name("per-channel|per-tensor")
      ->group("Quantization");
  app.add_option("--skip", q.skip, "nodes kept in float (repeatable; a pattern that matches nothing is an error)")
      ->type_name("REGEX")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false)
      ->group("Quantization");
  CLI::Option* only_float = app.add_flag("--float", q.float_only, "convert only")->group("Quantization");
  app.add_option("--threads", o.threads, "default: every processor; the result does not depend on it")
      ->check(CLI::Range(1, 256));
  app.add_option("--json", o.json, "write the report for machines")->type_name("FILE");
  app.add_option("--export-qdq", o.export_qdq,
                 "write the quantized model as ONNX with QuantizeLinear/DequantizeLinear too")
      ->type_name("FILE.onnx");
  CLI::Option* verbose = app.add_flag("--verbose", o.verbose, "every operator");
  app.add_flag("--quiet", o.quiet, "no progress, no report")->excludes(verbose);
  for (const char* name :
       {"--calib", "--max-samples", "--method", "--activation", "--target", "--weights", "--skip", "--export-qdq"}) {
    only_float->excludes(app.get_option(name));  // would have no effect
  }
  o.model.add_preprocessing(app);
  return run_tool(app, "quantize", argc, argv, [&] { return run(o); });
}
