// The order of the stages; each stage lives in its own file.
#include "libquant/quantizer.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "calibration/sample_stats.h"
#include "passes/passes.h"
#include "quantization/activation_ranges.h"
#include "quantization/bias_correction.h"
#include "quantization/channel_balance.h"
#include "quantization/compare.h"
#include "quantization/doctor.h"
#include "quantization/equalization.h"
#include "quantization/first_sample.h"
#include "quantization/float_share.h"
#include "quantization/mixed_precision.h"
#include "quantization/operator_times.h"
#include "quantization/parsed_options.h"
#include "quantization/placement.h"
#include "quantization/plan_file.h"
#include "quantization/report.h"
#include "quantization/short_ranges.h"
#include "quantization/tensor_names.h"
#include "quantization/trial.h"
#include "runtime/session.h"

namespace lq {
namespace {

using namespace quantization;

// Samples of the stages after calibration: a quarter of it, so that together they take less time than it does; small
// models more, within a number of multiply-adds.
constexpr double kStageGmacs = 3;
constexpr size_t kNoShare = std::numeric_limits<size_t>::max();
constexpr SampleBudget kStage{.gmacs = kStageGmacs};
constexpr SampleBudget kTrial{.gmacs = kStageGmacs / 8, .one_of = 8};  // for comparing a few whole models
constexpr SampleBudget kForAdaRound{.gmacs = 300};                     // takes minutes anyway where models are large
// Bias correction learns one number a channel from them and judges itself on the same samples: a quarter of 100 images
// looked 0.8 dB better where all of them, and other images, were no better.
constexpr SampleBudget kForBiases{.gmacs = 40, .most = 100};
constexpr double kShareGmacs = 180;             // --float-share: runs of all samples for each product together
constexpr size_t kKeptBytes = size_t(1) << 26;  // 64 samples of 512 × 512 × 1 floats
constexpr size_t kSensitivitySamples = 16;      // two runs of each for every layer

class Quantizer {
 public:
  Quantizer(ModelIr& model, const QuantizeOptions& options) : model_(model), options_(options) {
    collector_.threads = options.threads;
    collector_.progress = [this](const calibration::Progress& p) {
      static constexpr const char* kStages[] = {"looking at samples", "calibrating", "comparing with float"};
      if (options_.progress) options_.progress(kStages[std::clamp(p.pass, 0, 2)], p.done, p.total);
    };
  }

  Result<QuantizeReport> run() {
    if (!options_.plan.empty()) {
      LQ_ASSIGN_OR_RETURN(plan_file_, read_plan(options_.plan, options_));
    }
    LQ_ASSIGN_OR_RETURN(parsed_, parse_options(options_));
    report_.options = describe_options(options_);
    std::vector<std::string> original_names;
    for (const Node& node : model_.main().nodes) original_names.push_back(node.name);
    // Weights behind Reshape, Transpose or Cast of a constant become constants first: the passes look for those.
    const Evaluator evaluator = runtime_evaluator();
    LQ_RETURN_IF_ERROR(infer_shapes(model_, &evaluator));
    for (Graph& graph : model_.graphs) remove_dead(graph);
    LQ_RETURN_IF_ERROR(passes::run_float_pipeline(model_));
    if (parsed_.weights == WeightGranularity::kPerTensor && !options_.float_only)
      LQ_RETURN_IF_ERROR(equalize_weights());
    make_names_unique(model_.main());
    if (options_.float_only) return keep_float();
    // Pattern errors come before the data is touched: they need no samples to be found.
    LQ_RETURN_IF_ERROR(resolve_wishes(original_names));
    LQ_RETURN_IF_ERROR(check_samples());
    LQ_RETURN_IF_ERROR(balance_channels());
    LQ_RETURN_IF_ERROR(collect());
    const bool search = options_.max_drop && !plan_file_;  // its last trial is the final model
    if (!search) LQ_RETURN_IF_ERROR(spare_products());
    LQ_RETURN_IF_ERROR(search ? find_precisions() : build(BuildStage::kFinal));
    describe();
    LQ_RETURN_IF_ERROR(compare());
    if (options_.time_operators) quantization::time_operators(model_, report_);
    return std::move(report_);
  }

 private:
  void log(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  /// One scale a tensor has to do for channels of very different size, unless they are made alike first.
  Status equalize_weights() {
    const EqualizationReport done = equalize(model_.main());
    log("equalized " + std::to_string(done.pairs) + " pairs of convolutions, " + std::to_string(done.bounds) +
        " with a bound for each channel");
    remove_dead(model_.main());
    return infer_shapes(model_, nullptr);
  }

  /// What the user asked of single nodes, and the precisions that follow. A plan has the last word: what its own skip
  /// and precision options asked for is in its nodes already.
  Status resolve_wishes(const std::vector<std::string>& original_names) {
    if (plan_file_) {
      wishes_.resize(model_.main().nodes.size());
      LQ_RETURN_IF_ERROR(apply_plan(model_.main(), *plan_file_, wishes_).with_context(options_.plan));
    } else {
      LQ_ASSIGN_OR_RETURN(wishes_, resolve_requests(model_.main(), options_.skip, options_.precision, original_names));
    }
    plan_ = plan_precision(model_.main(), wishes_);
    groups_ = ParamGroups::build(model_.main(), plan_);
    return {};
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
                                         calibration::input_specs(model_, options_.input_shapes), limit, dropped_);
  }

  /// What the doctor says of the samples; with --drop-outliers the unfit ones are as if they were not there.
  Status check_samples() {
    LQ_ASSIGN_OR_RETURN(const calibration::DataSource source,
                        open_samples(options_.drop_outliers ? 0 : options_.max_samples));
    const std::vector<calibration::SampleStats> stats = calibration::describe_samples(source, collector_);
    const std::vector<calibration::SampleFinding> findings = calibration::find_outliers(stats);
    warn_about_samples(stats, findings, options_.drop_outliers, report_);
    if (!options_.drop_outliers) return {};
    for (const calibration::SampleFinding& finding : findings) {
      if (finding.is_outlier()) dropped_.insert(stats[finding.sample].name);
    }
    if (dropped_.size() == stats.size())
      return invalid_argument(options_.calibration_dir + ": --drop-outliers would leave no sample");
    return {};
  }

  /// Channels of activations made alike in size, if the outputs gain by it. One weight scale a tensor is left alone:
  /// equalize_weights() made its channels even for that. A plan says itself what to do.
  Status balance_channels() {
    if (plan_file_) {
      factors_ = plan_file_->channels;
    } else if (parsed_.balance && parsed_.weights == WeightGranularity::kPerChannel) {
      LQ_ASSIGN_OR_RETURN(const calibration::DataSource source, open_measured(kStage));
      LQ_ASSIGN_OR_RETURN(factors_, choose_channel_factors(model_, groups_, source, measuring()));
    }
    if (factors_.empty()) return {};
    const ModelIr before = model_;  // shares the constants
    LQ_RETURN_IF_ERROR(apply_channel_factors(model_.main(), factors_));
    remove_dead(model_.main());
    LQ_RETURN_IF_ERROR(infer_shapes(model_, nullptr));
    if (!plan_file_) {
      LQ_ASSIGN_OR_RETURN(const calibration::DataSource source, open_measured(kTrial));
      LQ_ASSIGN_OR_RETURN(const auto without, trial_sqnr_db(before, plan_, parsed_.ranges, source, collector_));
      LQ_ASSIGN_OR_RETURN(const auto with, trial_sqnr_db(model_, plan_, parsed_.ranges, source, collector_));
      const bool gains = without && with && *with >= *without + kLeastGainDb;
      log(gains ? "balancing the channels of " + std::to_string(factors_.size()) + " sets of tensors gains " +
                      std::to_string(*with - *without) + " dB"
                : "balancing channels gains too little: left out");
      if (!gains) model_ = before, factors_.clear();
    }
    groups_ = ParamGroups::build(model_.main(), plan_);  // there may be new constants
    return {};
  }

  Status collect() {
    LQ_ASSIGN_OR_RETURN(const calibration::DataSource source, open_samples(options_.max_samples));
    log("calibrating " + std::to_string(groups_.groups().size()) + " tensors on " + std::to_string(source.size()) +
        " samples");
    const bool precisions_may_change = options_.max_drop || plan_file_ || may_spare_products();
    LQ_ASSIGN_OR_RETURN(calibration_,
                        calibrate(model_, groups_, parsed_.ranges, source, collector_, precisions_may_change));
    report_.samples_used = calibration_.ranges.used;
    for (const auto& sample : calibration_.ranges.skipped) report_.skipped.push_back({sample.name, sample.reason});
    for (const auto& sample : source.ignored()) report_.ignored.push_back({sample.name, sample.reason});
    LQ_RETURN_IF_ERROR(note_first_sample(model_, source, calibration_.ranges.skipped, report_));
    float_model_ = model_;  // shares the constants
    return {};
  }

  SensitivityInput sensitivity_input(const NodeRequests& asked, const calibration::DataSource& samples) {
    SensitivityInput input;
    input.float_model = &float_model_, input.wishes = &asked, input.samples = &samples;
    input.run = collector_;
    input.run.progress = nullptr;  // progress is told by layer and trial, not by sample
    input.progress = options_.progress;
    input.build = [this](const NodeRequests& wishes, BuildStage stage) -> Result<ModelIr> {
      wishes_ = wishes;
      LQ_RETURN_IF_ERROR(build(stage));
      return model_;
    };
    return input;
  }

  /// Which of many class scores is the largest is hardly ever a matter of decibels; other outputs are.
  bool may_spare_products() const {
    return !plan_file_ && !options_.max_drop && parsed_.float_share > 0 && !gives_class_scores(model_.main());
  }

  /// --float-share: the few products that int8 costs most go back to float.
  Status spare_products() {
    if (!may_spare_products()) return {};
    size_t products = 0;  // each is measured with a run of every sample
    for (size_t n = 0; n < plan_.size(); ++n)
      products += plan_[n].precision == Precision::kInt8 && rule_of(model_.main().nodes[n]) == QuantRule::kProduct;
    const SampleBudget budget{kShareGmacs / double(std::max<size_t>(products, 1)), kNoShare, 2};
    LQ_ASSIGN_OR_RETURN(const calibration::DataSource samples, open_measured(budget));
    const NodeRequests asked = wishes_;
    LQ_ASSIGN_OR_RETURN(const std::optional<FloatShare> found,
                        find_float_share(sensitivity_input(asked, samples), parsed_.float_share));
    wishes_ = asked;
    if (!found) return {};
    wishes_ = with_float(asked, found->nodes, "little work, much of the outputs' error (--float-share)");
    warn_about_float_share(*found, report_);
    return {};
  }

  /// --max-drop: which operators go back to float.
  Status find_precisions() {
    LQ_ASSIGN_OR_RETURN(const calibration::DataSource samples, open_samples(kSensitivitySamples));
    LQ_ASSIGN_OR_RETURN(const ValidationData validation, open_validation());
    const NodeRequests asked = wishes_;
    const SensitivityInput input = sensitivity_input(asked, samples);
    report_.mixed_precision.emplace();
    LQ_ASSIGN_OR_RETURN(wishes_,
                        search_mixed_precision(input, validation, *options_.max_drop, *report_.mixed_precision));
    return {};
  }

  /// The validation folder; without one the calibration samples, whose labels nobody knows.
  Result<ValidationData> open_validation() const {
    if (!options_.validation_dir.empty())
      return quantization::open_validation(options_, calibration::input_specs(float_model_, options_.input_shapes));
    LQ_ASSIGN_OR_RETURN(calibration::DataSource samples, open_samples(options_.max_samples));
    return ValidationData{std::move(samples), {}, 0};
  }

  /// The quantized model that follows from wishes_, from the float model anew. The costly stages that only make it
  /// better are left out before kFinal.
  Status build(BuildStage stage) {
    model_ = float_model_;
    plan_ = plan_precision(model_.main(), wishes_);
    groups_ = ParamGroups::build(model_.main(), plan_);
    if (is_auto(parsed_.ranges)) LQ_RETURN_IF_ERROR(read_columns());
    LQ_RETURN_IF_ERROR(choose_ranges(stage));
    unplanned_ = plan_file_ ? apply_plan_ranges(model_.main(), groups_, *plan_file_, parsed_.ranges, ranges_) : 0;
    fit_int16_ranges(model_.main(), plan_, groups_, parsed_.weights, parsed_.weight_scale, ranges_);
    const bool improves = stage == BuildStage::kFinal && parsed_.rounding != Rounding::kNearest;
    if (improves) LQ_RETURN_IF_ERROR(read_columns());
    if (improves && parsed_.rounding == Rounding::kAuto) return place_better_rounding();
    LQ_RETURN_IF_ERROR(place(improves));
    return stage == BuildStage::kMeasure ? Status() : correct_bias(stage).status();
  }

  /// --method auto: the first build tries one method for all tensors and the choice by tensor; what follows keeps the
  /// one whose outputs are nearest to float. Layers are measured with thresholds that cost nothing to choose.
  Status choose_ranges(BuildStage stage) {
    const OutputError judge(float_model_.main(), plan_, columns_);
    RangeOptions options = parsed_.ranges;
    if (is_auto(options) && !plan_file_ && !method_) {
      LQ_ASSIGN_OR_RETURN(const calibration::DataSource source, open_measured(kTrial));
      LQ_ASSIGN_OR_RETURN(
          method_, best_method({float_model_, plan_, groups_, calibration_, judge}, options, source, collector_));
      log(std::string("thresholds by ") + (method_->row->name == std::string("auto") ? "tensor" : method_->row->name));
    }
    if (method_) options.method = *method_;
    if (stage == BuildStage::kMeasure && is_auto(options)) options.method = *calibration::parse_method("mse");
    ranges_ = choose_group_ranges(groups_, calibration_, options, &judge);
    return {};
  }

  /// AdaRound if the outputs gain by it, each way with its own bias correction.
  Status place_better_rounding() {
    LQ_RETURN_IF_ERROR(place(false));
    LQ_ASSIGN_OR_RETURN(const std::optional<double> nearest_db, correct_bias(BuildStage::kFinal));
    const ModelIr nearest = std::move(model_);
    const std::vector<NodeNotes> nearest_notes = notes_;
    model_ = float_model_;
    LQ_RETURN_IF_ERROR(place(true));
    LQ_ASSIGN_OR_RETURN(const std::optional<double> adaround_db, correct_bias(BuildStage::kFinal));
    const bool gains = nearest_db && adaround_db && *adaround_db >= *nearest_db + kLeastGainDb;
    log(gains ? "rounding by adaround gains " + std::to_string(*adaround_db - *nearest_db) + " dB"
              : "rounding by adaround gains too little: nearest stays");
    if (!gains) model_ = nearest, notes_ = nearest_notes;
    return {};
  }

  void describe() {
    report_.plan = write_plan(options_, float_model_.main(), plan_, factors_, groups_, ranges_, parsed_.ranges);
    const ReportInput input{float_model_.main(), plan_, groups_, ranges_};
    describe_nodes(input, report_);
    describe_tensors(input, calibration_, report_);
    warn_about_data(float_model_, calibration_, input, report_);
    warn_about_branches(float_model_, report_);
    warn_about_weights(input, notes_, report_);
    examine_weights(input, model_.main(), parsed_.weights == WeightGranularity::kPerTensor, report_);
    warn_about_validation(report_);
    if (unplanned_ > 0)
      report_.warnings.push_back(
          {std::to_string(unplanned_) + " quantized tensors have no range in the plan: it was measured",
           "write the plan anew with --save-plan"});
    if (report_.int8_nodes + report_.int16_nodes == 0)
      report_.warnings.push_back(
          {"no operator has an int8 form: the model stays float", "see the reasons in the node table"});
  }

  Status place(bool with_adaround) {
    PlacementInput input;
    input.plan = &plan_;
    input.groups = &groups_;
    input.weights = parsed_.weights;
    input.weight_scale = parsed_.weight_scale;
    input.columns = with_adaround ? &columns_ : nullptr;
    input.threads = options_.threads;
    for (const GroupRange& range : ranges_) {
      input.params.push_back(range.params);
      input.ranges.push_back(range.threshold);
    }
    LQ_RETURN_IF_ERROR(place_quantization(model_.main(), input, notes_));
    remove_dead(model_.main());
    LQ_RETURN_IF_ERROR(infer_shapes(model_, nullptr));
    return verify(model_).with_context("the quantized graph");
  }

  Result<calibration::DataSource> open_measured(const SampleBudget& budget) {
    LQ_ASSIGN_OR_RETURN(const calibration::DataSource all, open_samples(options_.max_samples));
    if (gmacs_ == 0) {
      LQ_ASSIGN_OR_RETURN(gmacs_, giga_macs(model_, all));
    }
    LQ_ASSIGN_OR_RETURN(calibration::DataSource source, open_samples(affordable_samples(budget, gmacs_, all.size())));
    source.keep_loaded(kKeptBytes);
    return source;
  }

  MeasureOptions measuring() const {
    MeasureOptions measure;
    measure.run = collector_;
    measure.progress = options_.progress;
    return measure;
  }

  /// What AdaRound needs, once: later builds have fewer int8 operators, never others.
  Status read_columns() {
    if (!columns_.empty()) return {};
    const bool only_ranges = parsed_.rounding == Rounding::kNearest;
    LQ_ASSIGN_OR_RETURN(const calibration::DataSource source, open_measured(only_ranges ? kStage : kForAdaRound));
    LQ_ASSIGN_OR_RETURN(columns_, collect_columns(float_model_, plan_, source, measuring()));
    return {};
  }

  /// Returns the outputs' SQNR on the samples it measured with; nothing without float outputs.
  Result<std::optional<double>> correct_bias(BuildStage stage) {
    const std::vector<CorrectedProduct> products = products_to_correct(notes_);
    LQ_ASSIGN_OR_RETURN(const calibration::DataSource source,
                        open_measured(stage == BuildStage::kFinal ? kForBiases : kStage));
    if (!parsed_.correct_biases || products.empty()) {
      LQ_ASSIGN_OR_RETURN(const Comparison comparison, compare_models(float_model_, model_, {}, source, collector_));
      return comparison.output_sqnr_db;
    }
    LQ_ASSIGN_OR_RETURN(const BiasCorrectionReport done,
                        correct_biases(float_model_, model_, products, source, measuring()));
    log(!done.kept ? "bias correction gains too little on " + std::to_string(done.samples) + " samples: left out"
                   : "corrected the bias of " + std::to_string(done.products) + " products on " +
                         std::to_string(done.samples) + " samples");
    return done.kept ? done.after_db : done.before_db;
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
    warn_about_outputs(comparison, report_);
    return {};
  }

  ModelIr& model_;
  QuantizeOptions options_;  // a plan's options are laid over them
  std::optional<PlanFile> plan_file_;
  NodeRequests wishes_;
  ParsedOptions parsed_;
  calibration::CollectorOptions collector_;
  PrecisionPlan plan_;
  std::vector<ChannelFactors> factors_;
  std::optional<calibration::MethodChoice> method_;  // what auto came to
  ParamGroups groups_;
  std::vector<GroupRange> ranges_;
  std::vector<NodeNotes> notes_;
  Calibration calibration_;
  std::set<std::string> dropped_;  // samples left out by --drop-outliers
  size_t unplanned_ = 0;           // groups without a range in the plan
  ModelIr float_model_;
  std::map<int, ProductColumns> columns_;  // by node; empty: not read yet
  double gmacs_ = 0;                       // of one run; 0: not known yet
  QuantizeReport report_;
};

}  // namespace

Result<QuantizeReport> quantize(ModelIr& model, const QuantizeOptions& options) {
  return Quantizer(model, options).run();
}

}  // namespace lq
