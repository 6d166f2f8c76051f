// quantize: float ONNX in, INT8 model out.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "calibration/collector.h"
#include "calibration/npy.h"
#include "format/model_file.h"
#include "libquant/quantizer.hpp"
#include "model_args.h"
#include "onnx/exporter.h"
#include "quantization/node_requests.h"
#include "quantization/options.h"
#include "quantization/report_json.h"
#include "quantization/repro.h"
#include "runtime/prepare_graph.h"

namespace lq::tools {
namespace {

struct Options {
  ModelArgs model;
  std::string output, json, export_qdq, save_plan, report, dump_repro;
  std::vector<std::string> precision;
  double max_drop = 0;
  QuantizeOptions quantize;
  int threads = 0;
  bool verbose = false, quiet = false;
};

std::string default_output(const std::string& model) { return std::filesystem::path(model).stem().string() + ".lqm"; }

std::string share(std::optional<double> v) { return v ? format("%.4f", *v) : "-"; }
std::string decibel(std::optional<double> v) { return v ? format("%.1f", *v) : "-"; }

void print_nodes(const QuantizeReport& r, bool all) {
  std::vector<const QuantizeReport::Node*> rows;
  for (const auto& n : r.nodes) {
    if ((n.precision == "int8" || n.precision == "int16") && n.sqnr_db) rows.push_back(&n);
  }
  if (!all) {
    std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return *a->sqnr_db < *b->sqnr_db; });
    if (rows.size() > 5) rows.resize(5);
  }
  if (rows.empty()) return;
  std::printf("%s\n  %8s %8s %-20s %s\n",
              all ? "quantized operators" : "worst quantized operators by signal-to-quantization-noise", "dB", "clipped",
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

/// Which operators --max-drop gave back to float, and the price.
void print_mixed_precision(const QuantizeReport::MixedPrecision& m) {
  std::printf("max-drop %g: %s on %zu samples %.2f -> %.2f%s\n", m.max_drop, m.metric.c_str(), m.samples, m.drop_before,
              m.drop_after, m.standard_error > 0 ? format(" ± %.2f", m.standard_error).c_str() : "");
  size_t kept = 0;
  for (const auto& layer : m.layers) kept += layer.kept_float ? 1 : 0;
  if (m.layers.empty()) return;
  std::printf("  given back to float: %zu of %zu layers, %.2f %% of multiply-adds\n", kept, m.layers.size(),
              100 * m.float_mac_share);
  for (const auto& layer : m.layers) {
    if (layer.kept_float)
      std::printf("  float %-40s %10.0f multiply-adds, alone in int8 %.1f dB\n", layer.node.c_str(), layer.macs,
                  -10 * std::log10(std::max(layer.isolated_error, 1e-20)));
  }
  if (m.drop_after > m.max_drop) std::printf("  not reached: what remains in int8 was asked for\n");
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
  if (r.int16_nodes > 0) {
    std::printf("operators int8 %zu int16 %zu float %zu\n", r.int8_nodes, r.int16_nodes, r.float_nodes);
  } else {
    std::printf("operators int8 %zu float %zu\n", r.int8_nodes, r.float_nodes);
  }
  if (o.verbose) print_operators(r);
  if (r.mixed_precision) print_mixed_precision(*r.mixed_precision);
  print_float_nodes(r);
  print_nodes(r, o.verbose);
  std::printf("int8_mac_share %s\n", share(r.int8_mac_share).c_str());
  if (r.output_sqnr_db) {
    std::printf("agreement with float on %zu calibration samples: top1 %s sqnr_db %s\n", r.samples_compared,
                share(r.top1_agreement).c_str(), decibel(r.output_sqnr_db).c_str());
  }
  print_warnings(r);
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
  if (!o.quantize.plan.empty()) used.push_back(o.quantize.plan);
  for (const auto& [option, path] : {std::pair("--output", &o.output),
                                     {"--export-qdq", &o.export_qdq},
                                     {"--json", &o.json},
                                     {"--save-plan", &o.save_plan},
                                     {"--report", &o.report}}) {
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

Status write_text(const std::string& path, const std::string& text) {
  return write_file_atomically(path, {{text.data(), text.size()}});
}

Status write_files(const Options& o, const ModelIr& ir, const QuantizeReport& report) {
  WrittenFiles written;
  if (!o.export_qdq.empty()) LQ_RETURN_IF_ERROR(written.add(o.export_qdq, export_onnx(ir, o.export_qdq)));
  LQ_RETURN_IF_ERROR(written.add(o.output, write_model_file(ir, o.output)));
  const size_t before = file_size(o.model.path()), after = file_size(o.output);
  if (!o.json.empty() || !o.report.empty()) {
    const nlohmann::json json = quantization::report_to_json(report, {o.model.path(), o.output, before, after});
    if (!o.json.empty()) LQ_RETURN_IF_ERROR(written.add(o.json, write_json(o.json, json)));
    if (!o.report.empty())
      LQ_RETURN_IF_ERROR(written.add(o.report, write_text(o.report, quantization::report_page(json))));
  }
  if (!o.save_plan.empty()) LQ_RETURN_IF_ERROR(written.add(o.save_plan, write_text(o.save_plan, report.plan)));
  written.keep();
  if (!o.quiet) print_report(o, report, before, after);
  return {};
}

/// A file or folder name that any system takes.
std::string plain_name(std::string name) {
  for (char& c : name) {
    if (std::strchr("/\\:*?\"<>| ", c) != nullptr) c = '_';
  }
  return name;
}

/// --dump-repro: FOLDER/model.onnx with the one operator, FOLDER/calib with what it reads on a few samples.
Status dump_repro(const Options& o) {
  constexpr size_t kSamples = 8;
  namespace fs = std::filesystem;
  const fs::path folder = o.output.empty() ? plain_name(o.dump_repro) + ".repro" : o.output;
  if (fs::exists(folder)) return invalid_argument(folder.string() + ": exists already; name another one with -o");
  LQ_ASSIGN_OR_RETURN(ModelIr ir, o.model.load());
  LQ_ASSIGN_OR_RETURN(const auto shapes, o.model.input_shapes());
  QuantizeOptions shape_options;
  shape_options.input_shapes = shapes;
  LQ_RETURN_IF_ERROR(check_shapes(ir, shape_options).with_context(o.model.path()));
  const size_t most = o.quantize.max_samples > 0 ? std::min(o.quantize.max_samples, kSamples) : kSamples;
  LQ_ASSIGN_OR_RETURN(const auto source, calibration::DataSource::open(o.quantize.calibration_dir,
                                                                       calibration::input_specs(ir, shapes), most));
  quantization::MeasureOptions measure;
  measure.run.threads = thread_count(o.threads);
  LQ_ASSIGN_OR_RETURN(const quantization::Repro repro, quantization::cut_out(ir, o.dump_repro, source, measure));
  const Graph& graph = repro.model.main();
  std::error_code error;
  fs::create_directories(folder / "calib", error);
  if (error) return io_error(folder.string() + ": cannot be made: " + error.message());
  const auto write = [&]() -> Status {
    LQ_RETURN_IF_ERROR(export_onnx(repro.model, (folder / "model.onnx").string()));
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const std::string name = plain_name(graph.tensor(graph.inputs[i]).name);
      const fs::path place = graph.inputs.size() == 1 ? folder / "calib" : folder / "calib" / name;
      fs::create_directories(place, error);
      for (size_t s = 0; s < repro.samples.size(); ++s) {
        const calibration::HostTensor& t = repro.samples[s][i];
        const std::string path = (place / ("sample" + std::to_string(s) + ".npy")).string();
        LQ_RETURN_IF_ERROR(calibration::write_npy(path, t.dtype, t.shape, t.data.data()));
      }
    }
    return {};
  };
  const Status written = write();
  if (!written.ok()) fs::remove_all(folder, error);
  LQ_RETURN_IF_ERROR(written);
  if (!o.quiet) {
    std::printf("repro %s: %s and its inputs on %zu samples; quantize --calib %s %s\n", folder.c_str(),
                node_label(graph, graph.nodes[0]).c_str(), repro.samples.size(), (folder / "calib").c_str(),
                (folder / "model.onnx").c_str());
  }
  return {};
}

Status run(Options o) {
  if (!o.dump_repro.empty()) return dump_repro(o);
  if (o.output.empty()) o.output = default_output(o.model.path());
  for (const std::string& text : o.precision) {
    LQ_ASSIGN_OR_RETURN(PrecisionRule rule, quantization::parse_precision_rule(text));
    o.quantize.precision.push_back(std::move(rule));
  }
  if (o.max_drop > 0) o.quantize.max_drop = o.max_drop;
  o.quantize.time_operators = !o.report.empty();
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
  ir.options = report.options;
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
  app.add_option("--method", q.method, "activation thresholds (default auto)")
      ->type_name("kl|minmax|percentile[:P]|mse|ema[:D]|admm|auto")
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
  app.add_option("--weight-scale", q.weight_scale, "largest weight, least squared error, or ADMM (default max)")
      ->type_name("max|mse|admm")
      ->group("Quantization");
  app.add_option("--rounding", q.rounding,
                 "of weights; adaround: so that results of products change least;\n"
                 "auto (default): that, if the outputs gain 0.3 dB by it")
      ->type_name("auto|nearest|adaround")
      ->group("Quantization");
  app.add_option("--bias-correction", q.bias_correction, "take mean errors of products out of their bias (default on)")
      ->type_name("on|off")
      ->group("Quantization");
  app.add_option("--balance", q.balance,
                 "make channels of activations alike in size where convolutions can (default on)")
      ->type_name("on|off")
      ->group("Quantization");
  app.add_option("--float-share", q.float_share,
                 "percent of multiply-adds that may compute in float where int8 alone does not hold (default 1)")
      ->type_name("P")
      ->group("Quantization");
  app.add_option("--skip", q.skip, "nodes kept in float (repeatable; a pattern that matches nothing is an error)")
      ->type_name("REGEX")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false)
      ->group("Quantization");
  app.add_option("--precision", o.precision, "precision of the nodes it matches (repeatable; a later one overrides)")
      ->type_name("REGEX=int8|int16|float")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false)
      ->group("Quantization");
  CLI::Option* max_drop =
      app.add_option(
             "--max-drop", o.max_drop,
             "give operators back to float until accuracy drops by no more than this (top-1 points with labels)")
          ->type_name("P")
          ->check(CLI::Validator(
              [](std::string& text) {
                double value = 0;
                return CLI::detail::lexical_cast(text, value) && value > 0 && value <= 100
                           ? std::string()
                           : "'" + text + "' is not a number above 0 and up to 100";
              },
              ""))
          ->group("Quantization");
  CLI::Option* validate = app.add_option("--validate", q.validation_dir,
                                         "samples to check --max-drop on (default: agreement on the calibration data)")
                              ->type_name("DIR")
                              ->needs(max_drop)
                              ->group("Quantization");
  app.add_option("--labels", q.labels_file, "labels of --validate (default: labels.tsv there, or its sub-folders)")
      ->type_name("FILE")
      ->needs(validate)
      ->group("Quantization");
  app.add_option("--label-offset", q.label_offset, "added to every label (1 for outputs with a background class)")
      ->needs(validate)
      ->group("Quantization");
  app.add_flag("--drop-outliers", q.drop_outliers,
               "leave out calibration samples that are blank, not finite, repeated or blurred copies")
      ->group("Quantization");
  CLI::Option* plan = app.add_option("--plan", q.plan, "options, precisions and ranges as --save-plan wrote them")
                          ->type_name("FILE.json")
                          ->group("Quantization");
  CLI::Option* only_float = app.add_flag("--float", q.float_only, "convert only")->group("Quantization");
  app.add_option("--threads", o.threads, "default: every processor; the result does not depend on it")
      ->check(CLI::Range(1, 256));
  app.add_option("--json", o.json, "write the report for machines")->type_name("FILE");
  app.add_option("--export-qdq", o.export_qdq,
                 "write the quantized model as ONNX with QuantizeLinear/DequantizeLinear too")
      ->type_name("FILE.onnx");
  app.add_option("--report", o.report, "write the report as one page for a browser, without network")
      ->type_name("FILE.html");
  app.add_option("--save-plan", o.save_plan, "write options, precisions and ranges as JSON, to edit and give to --plan")
      ->type_name("FILE.json");
  CLI::Option* dump = app.add_option("--dump-repro", o.dump_repro,
                                     "write only a folder with this operator as ONNX and its inputs, for a bug report")
                          ->type_name("NODE")
                          ->needs(app.get_option("--calib"));
  CLI::Option* verbose = app.add_flag("--verbose", o.verbose, "every operator");
  app.add_flag("--quiet", o.quiet, "no progress, no report")->excludes(verbose);
  // What would have no effect is refused: a plan holds the options that decide the result.
  std::vector<std::string> in_plan = {"--max-samples", "--skip", "--precision", "--max-drop"};
  for (const auto& option : lq::quantization::text_options()) in_plan.push_back(std::string("--") + option.name);
  for (const std::string& name : in_plan)
    plan->excludes(app.get_option(name)), only_float->excludes(app.get_option(name));
  for (const char* name : {"--calib", "--export-qdq", "--plan", "--save-plan", "--drop-outliers"})
    only_float->excludes(app.get_option(name));
  // It quantizes nothing.
  for (const std::string& name : in_plan) {
    if (name != "--max-samples") dump->excludes(app.get_option(name));
  }
  for (const char* name : {"--plan", "--float", "--drop-outliers", "--json", "--export-qdq", "--report", "--save-plan"})
    dump->excludes(app.get_option(name));
  o.model.add_preprocessing(app);
  return run_tool(app, "quantize", argc, argv, [&] { return run(o); });
}
