// lq-eval: accuracy of a model on labelled images, and agreement with a second model.
#include <algorithm>
#include <cmath>
#include <set>

#include "calibration/evaluate.h"
#include "calibration/labels.h"
#include "model_args.h"
#include "quantization/compare.h"

namespace lq::tools {
namespace {

struct Options {
  ModelArgs model;
  std::string data, labels, compare, json;
  int64_t label_offset = 0;
  size_t max_samples = 0;
  int threads = 0;
  bool quiet = false, layers = false;
  double apart = 20;  // dB
};

using calibration::DataSource;

/// The labelled files if the folder has labels (one input only), otherwise every sample.
Result<DataSource> open_data(const Options& o, const ModelIr& ir, const std::map<std::string, Shape>& shapes,
                             std::map<std::string, int64_t>& labels) {
  std::vector<calibration::InputSpec> inputs = calibration::input_specs(ir, shapes);
  if (inputs.size() != 1) {  // sub-folders are inputs then, not classes
    if (!o.labels.empty() || o.compare.empty())
      return invalid_argument("labels need a model with one input, this one has " + std::to_string(inputs.size()) +
                              "; give --compare MODEL2 to measure agreement");
    return DataSource::open(o.data, std::move(inputs), o.max_samples);
  }
  Result<calibration::Labels> found = calibration::read_labels(o.data, o.labels);
  if (!found.ok()) {
    // Without labels there is still agreement to measure.
    if (!o.labels.empty() || o.compare.empty() || found.status().code() != StatusCode::kNotFound) return found.status();
    return DataSource::open(o.data, std::move(inputs), o.max_samples);
  }
  std::vector<std::string> files;
  const size_t n = found->files.size(), keep = o.max_samples == 0 ? n : std::min(n, o.max_samples);
  for (size_t i = 0; i < keep; ++i) {
    const calibration::LabeledFile& f = found->files[i * n / keep];
    files.push_back(f.file);
    labels[f.file] = f.label;
  }
  return DataSource::open_files(o.data, files, std::move(inputs[0]));
}

void print_skipped(const std::vector<calibration::SkippedSample>& skipped) {
  for (const auto& s : skipped) std::fprintf(stderr, "skipped %s: %s\n", s.name.c_str(), s.reason.c_str());
}

std::string input_names(const ModelIr& ir) {
  std::string names;
  for (TensorId id : ir.main().inputs) names += " '" + ir.main().tensor(id).name + "'";
  return names;
}

/// A result both models have, under the names their main graphs give its float value.
struct Layer {
  std::string op, name;
  quantization::ComparedTensor tensors;
};

/// The float value of result `name`: dequantized where quantize() left it so.
std::string float_value(const std::set<std::string>& floats, const std::string& name) {
  return floats.count(name + "_dq") != 0 ? name + "_dq" : floats.count(name) != 0 ? name : std::string();
}

std::set<std::string> float_results(const Graph& graph) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes) {
    for (TensorId id : node.outputs) {
      if (id != kNoTensor && graph.tensor(id).dtype == DType::Float32) names.insert(graph.tensor(id).name);
    }
  }
  return names;
}

/// Results that both graphs name alike, in the reference's order of execution.
std::vector<Layer> common_layers(const Graph& reference, const Graph& model) {
  const std::set<std::string> in_reference = float_results(reference), in_model = float_results(model);
  std::vector<Layer> layers;
  for (const Node& node : reference.nodes) {
    if (node.op == Op::QuantizeLinear || node.op == Op::DequantizeLinear || node.output(0) == kNoTensor) continue;
    const std::string& name = reference.tensor(node.outputs[0]).name;
    const std::string a = float_value(in_reference, name), b = float_value(in_model, name);
    if (!a.empty() && !b.empty()) layers.push_back({op_name(node.op), name, {a, b}});
  }
  return layers;
}

/// One line a layer, and the first one that is less than `apart` dB from the reference.
Status compare_layers(const ModelIr& reference, const ModelIr& model, const DataSource& source,
                      const calibration::CollectorOptions& options, double apart, nlohmann::json& json) {
  ModelIr a = reference, b = model;  // dtypes of an imported model are known after inference only
  LQ_RETURN_IF_ERROR(infer_shapes(a, nullptr));
  LQ_RETURN_IF_ERROR(infer_shapes(b, nullptr));
  const std::vector<Layer> layers = common_layers(a.main(), b.main());
  if (layers.empty())
    return invalid_argument(
        "--layers: the two models have no result of the same name; compare a model with what it was made from");
  std::vector<quantization::ComparedTensor> pairs;
  for (const Layer& layer : layers) pairs.push_back(layer.tensors);
  LQ_ASSIGN_OR_RETURN(const quantization::Comparison c, quantization::compare_models(a, b, pairs, source, options));
  const Layer* first = nullptr;
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::optional<double> db = c.sqnr_db[i];
    std::printf("layer %s %s %s\n", db ? format("%.1f", *db).c_str() : "-", layers[i].op.c_str(),
                layers[i].name.c_str());
    json.push_back({{"operator", layers[i].op},
                    {"name", layers[i].name},
                    {"sqnr_db", db ? nlohmann::json(*db) : nlohmann::json(nullptr)}});
    if (first == nullptr && db && *db < apart) first = &layers[i];
  }
  if (first == nullptr) {
    std::printf("no layer below %g dB\n", apart);
  } else {
    std::printf("first layer below %g dB: %s %s\n", apart, first->op.c_str(), first->name.c_str());
  }
  return {};
}

Status no_usable_sample(const std::string& data, const std::vector<calibration::SkippedSample>& skipped) {
  return invalid_argument(
      data + ": no usable sample" +
      (skipped.empty() ? "" : "; the first of " + std::to_string(skipped.size()) + ": " + skipped[0].reason));
}

Status run(const Options& o) {
  if (o.data.empty()) return invalid_argument("give the folder of samples with --data DIR");
  LQ_ASSIGN_OR_RETURN(const auto shapes, o.model.input_shapes());
  LQ_ASSIGN_OR_RETURN(ModelIr ir, o.model.load());
  std::map<std::string, int64_t> labels;
  LQ_ASSIGN_OR_RETURN(const DataSource source, open_data(o, ir, shapes, labels));
  const std::string names = input_names(ir);
  const ModelIr model_ir = ir;  // shares the constants
  ModelIr reference_ir;
  LQ_ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, in_file(o.model.path(), Model::create(std::move(ir))));
  std::shared_ptr<Model> reference;  // read before the long work: its errors come first
  if (!o.compare.empty()) {
    LQ_ASSIGN_OR_RETURN(ModelIr other, o.model.load(o.compare));
    if (input_names(other) != names) {
      return invalid_argument(o.compare + ": its inputs are" + input_names(other) + ", those of " + o.model.path() +
                              " are" + names + "; they cannot be compared");
    }
    reference_ir = other;
    LQ_ASSIGN_OR_RETURN(reference, in_file(o.compare, Model::create(std::move(other))));
  }
  if (!o.json.empty()) LQ_RETURN_IF_ERROR(check_writable("--json", o.json));

  ProgressBar bar(o.quiet);
  calibration::CollectorOptions options;
  options.threads = thread_count(o.threads);
  LQ_ASSIGN_OR_RETURN(options.isa, o.model.isa());
  options.progress = [&](const calibration::Progress& p) { bar.update("evaluating", p.done, p.total); };
  nlohmann::json json{{"model", o.model.path()}, {"data", o.data}};
  if (!labels.empty()) {
    LQ_ASSIGN_OR_RETURN(const calibration::Evaluation e,
                        calibration::evaluate(model, source, labels, o.label_offset, options));
    const double n = double(e.labelled);
    if (e.labelled == 0) return no_usable_sample(o.data, e.skipped);
    print_skipped(e.skipped);
    std::printf("top1 %.4f top5 %.4f n %zu\n", double(e.top1) / n, double(e.top5) / n, e.labelled);
    json["top1"] = double(e.top1) / n;
    json["top5"] = double(e.top5) / n;
    json["n"] = e.labelled;
    json["skipped"] = e.skipped.size();
  }
  if (reference != nullptr) {
    LQ_ASSIGN_OR_RETURN(const calibration::Comparison c, calibration::compare(model, reference, source, options));
    if (c.used == 0) return no_usable_sample(o.data, c.skipped);
    if (labels.empty()) print_skipped(c.skipped);
    const double kl = std::max(0.0, c.mean_kl());  // rounding can leave a tiny negative sum of equal distributions
    std::printf("agreement %.4f sqnr_db %.1f kl %.4f\ncosine %.6f n %zu\n", c.agreement(), c.sqnr_db(), kl, c.cosine(),
                c.used);
    json["compare"] = {
        {"model", o.compare}, {"agreement", c.agreement()}, {"kl", kl}, {"cosine", c.cosine()}, {"n", c.used}};
    json["compare"]["sqnr_db"] = std::isfinite(c.sqnr_db()) ? nlohmann::json(c.sqnr_db()) : nlohmann::json(nullptr);
    if (o.layers) {
      nlohmann::json layers = nlohmann::json::array();
      LQ_RETURN_IF_ERROR(compare_layers(reference_ir, model_ir, source, options, o.apart, layers));
      json["compare"]["layers"] = std::move(layers);
    }
  }
  return o.json.empty() ? Status() : write_json(o.json, json);
}

}  // namespace
}  // namespace lq::tools

int main(int argc, char** argv) {
  using namespace lq::tools;
  CLI::App app("Accuracy of a model (.lqm or .onnx) on a folder of samples.");
  Options o;
  o.model.add_model(app, "model file (.lqm or .onnx)");
  app.add_option("--data", o.data, "folder with samples and labels.tsv, or one sub-folder per class")->type_name("DIR");
  app.add_option("--labels", o.labels, "labels file (default: labels.tsv in the folder)")->type_name("FILE");
  app.add_option("--label-offset", o.label_offset, "added to every label (1 for outputs with a background class)");
  CLI::Option* compare =
      app.add_option("--compare", o.compare, "reference model: agreement of top-1, SQNR, cosine and KL of the outputs")
          ->type_name("MODEL2");
  CLI::Option* layers =
      app.add_flag("--layers", o.layers, "with --compare: SQNR of each result that both models name alike")
          ->needs(compare);
  app.add_option("--apart", o.apart, "with --layers: names the first one with a lower SQNR (default 20)")
      ->type_name("DB")
      ->needs(layers);
  app.add_option("--max-samples", o.max_samples, "use that many samples, evenly spaced")->check(at_least(1));
  app.add_option("--threads", o.threads, "samples in parallel (default: every processor)")->check(CLI::Range(1, 256));
  app.add_option("--json", o.json, "write the results for machines")->type_name("FILE");
  app.add_flag("--quiet", o.quiet, "no progress");
  o.model.add_isa(app);
  o.model.add_preprocessing(app);
  return run_tool(app, "lq-eval", argc, argv, [&] { return run(o); });
}
