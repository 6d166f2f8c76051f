// The order of the stages; each stage lives in its own file.
#include "libquant/quantizer.hpp"

#include <algorithm>
#include <set>

#include "passes/passes.h"
#include "quantization/activation_ranges.h"
#include "quantization/compare.h"
#include "quantization/first_sample.h"
#include "quantization/placement.h"
#include "quantization/report.h"
#include "runtime/session.h"

namespace lq {
namespace {

using namespace quantization;

struct ParsedOptions {
  RangeOptions ranges;
  WeightGranularity weights = WeightGranularity::kPerChannel;
};

Result<ParsedOptions> parse(const QuantizeOptions& options) {
  ParsedOptions parsed;
  LQ_ASSIGN_OR_RETURN(parsed.ranges.method, calibration::parse_method(options.method));
  LQ_ASSIGN_OR_RETURN(parsed.ranges.mode, calibration::parse_activation_mode(options.activation));
  LQ_ASSIGN_OR_RETURN(parsed.ranges.target, calibration::parse_target(options.target));
  if (options.weights == "per-tensor") {
    parsed.weights = WeightGranularity::kPerTensor;
  } else if (options.weights != "per-channel") {
    return invalid_argument("--weights '" + options.weights + "': use per-channel or per-tensor");
  }
  if (options.threads < 1) return invalid_argument("--threads must be at least 1");
  return parsed;
}

/// Later stages and files name tensors: empty and repeated names get a unique one. Inputs and outputs keep theirs.
void make_names_unique(Graph& graph) {
  std::set<std::string> used;
  std::vector<bool> done(graph.tensors.size(), false);
  const auto claim = [&](TensorId id) {
    if (id == kNoTensor || done[size_t(id)]) return;
    done[size_t(id)] = true;
    Tensor& t = graph.tensor(id);
    const std::string base = t.name.empty() ? "tensor" : t.name;
    std::string name = base;
    for (int i = 2; !used.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    t.name = std::move(name);
  };
  for (TensorId id : graph.inputs) claim(id);
  for (TensorId id : graph.outputs) claim(id);
  for (size_t id = 0; id < graph.tensors.size(); ++id) claim(TensorId(id));
}

class Quantizer {
 public:
  Quantizer(ModelIr& model, const QuantizeOptions& options) : model_(model), options_(options) {
    collector_.threads = options.threads;
    collector_.progress = [this](const calibration::Progress& p) {
      static constexpr const char* kStages[] = {"", "calibrating: ranges", "calibrating: histograms",
                                                "comparing with float"};
      if (options_.progress) options_.progress(kStages[std::clamp(p.pass, 0, 3)], p.done, p.total);
    };
  }

  Result<QuantizeReport> run() {
    LQ_ASSIGN_OR_RETURN(parsed_, parse(options_));
    std::vector<std::string> original_names;
    for (const Node& node : model_.main().nodes) original_names.push_back(node.name);
    // Weights behind Reshape, Transpose or Cast of a constant become constants first: the passes look for those.
    const Evaluator evaluator = runtime_evaluator();
    LQ_RETURN_IF_ERROR(infer_shapes(model_, &evaluator));
    for (Graph& graph : model_.graphs) remove_dead(graph);
    LQ_RETURN_IF_ERROR(passes::run_float_pipeline(model_));
    make_names_unique(model_.main());
    if (options_.float_only) return keep_float();
    // Pattern errors come before the data is touched: they need no samples to be found.
    LQ_ASSIGN_OR_RETURN(plan_, plan_precision(model_.main(), options_.skip, original_names));
    groups_ = ParamGroups::build(model_.main(), plan_);
    LQ_RETURN_IF_ERROR(calibrate_groups());
    LQ_RETURN_IF_ERROR(place());
    LQ_RETURN_IF_ERROR(compare());
    return std::move(report_);
  }

 private:
  void log(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  Result<QuantizeReport> keep_float() {
    PrecisionPlan plan(model_.main().nodes.size());
    for (NodePlan& node : plan) node.reason = "asked for (--float)";
    describe_nodes({model_.main(), plan, groups_, ranges_}, report_);
    return std::move(report_);
  }

  Result<calibration::DataSource> open_samples(size_t limit) const {
    if (options_.calibration_dir.empty()) return invalid_argument("no calibration folder: give --calib DIR");
    return calibration::DataSource::open(options_.calibration_dir,
                                         calibration::input_specs(model_, options_.input_shapes), limit);
  }

  Status calibrate_groups() {
    LQ_ASSIGN_OR_RETURN(const calibration::DataSource source, open_samples(options_.max_samples));
    log("calibrating " + std::to_string(groups_.groups().size()) + " tensors on " + std::to_string(source.size()) +
        " samples");
    LQ_ASSIGN_OR_RETURN(const Calibration calibration, calibrate(model_, groups_, parsed_.ranges, source, collector_));
    ranges_ = choose_group_ranges(groups_, calibration, parsed_.ranges);
    report_.samples_used = calibration.ranges.used;
    for (const auto& sample : calibration.ranges.skipped) report_.skipped.push_back({sample.name, sample.reason});
    for (const auto& sample : source.ignored()) report_.ignored.push_back({sample.name, sample.reason});
    const ReportInput input{model_.main(), plan_, groups_, ranges_};
    describe_nodes(input, report_);
    warn_about_data(model_, calibration, input, report_);
    LQ_RETURN_IF_ERROR(note_first_sample(model_, source, calibration.ranges.skipped, report_));
    warn_about_branches(model_, report_);
    if (report_.int8_nodes == 0)
      report_.warnings.push_back(
          {"no operator has an int8 form: the model stays float", "see the reasons in the node table"});
    return {};
  }

  Status place() {
    float_model_ = model_;  // shares the constants
    PlacementInput input;
    input.plan = &plan_;
    input.groups = &groups_;
    input.weights = parsed_.weights;
    for (const GroupRange& range : ranges_) {
      input.params.push_back(range.params);
      input.ranges.push_back(range.threshold);
    }
    LQ_RETURN_IF_ERROR(place_quantization(model_.main(), input, notes_));
    remove_dead(model_.main());
    LQ_RETURN_IF_ERROR(infer_shapes(model_, nullptr));
    LQ_RETURN_IF_ERROR(verify(model_).with_context("the quantized graph"));
    warn_about_weights({float_model_.main(), plan_, groups_, ranges_}, notes_, report_);
    return {};
  }

  Status compare() {
    if (options_.compare_samples == 0) return {};
    size_t limit = options_.compare_samples;
    if (options_.max_samples > 0) limit = std::min(limit, options_.max_samples);
    LQ_ASSIGN_OR_RETURN(const calibration::DataSource source, open_samples(limit));
    std::set<std::string> alive;  // a node whose result nobody uses is gone
    for (const Tensor& t : model_.main().tensors) alive.insert(t.name);
    std::vector<ComparedTensor> pairs;
    std::vector<size_t> node_of_pair;
    for (size_t n = 0; n < notes_.size(); ++n) {
      if (notes_[n].float_name.empty() || alive.count(notes_[n].int8_name) == 0) continue;
      pairs.push_back({notes_[n].float_name, notes_[n].int8_name});
      node_of_pair.push_back(n);
    }
    LQ_ASSIGN_OR_RETURN(const Comparison comparison, compare_models(float_model_, model_, pairs, source, collector_));
    add_comparison(comparison, node_of_pair, report_);
    return {};
  }

  ModelIr& model_;
  const QuantizeOptions& options_;
  ParsedOptions parsed_;
  calibration::CollectorOptions collector_;
  PrecisionPlan plan_;
  ParamGroups groups_;
  std::vector<GroupRange> ranges_;
  std::vector<NodeNotes> notes_;
  ModelIr float_model_;
  QuantizeReport report_;
};

}  // namespace

Result<QuantizeReport> quantize(ModelIr& model, const QuantizeOptions& options) {
  return Quantizer(model, options).run();
}

}  // namespace lq
