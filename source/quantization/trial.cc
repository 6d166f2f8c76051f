#include "quantization/trial.h"

#include "quantization/float_outputs.h"
#include "quantization/placement.h"
#include "quantization/short_ranges.h"

namespace lq::quantization {
namespace {

MeasureOptions quietly(calibration::CollectorOptions run) {
  run.progress = nullptr;
  MeasureOptions measure;
  measure.run = std::move(run);
  return measure;
}

/// The float model with these ranges, one a group, weights rounded to nearest.
Result<ModelIr> placed(const ModelIr& float_model, const PrecisionPlan& plan, const ParamGroups& groups,
                       std::vector<GroupRange> ranges, int threads) {
  fit_int16_ranges(float_model.main(), plan, groups, WeightGranularity::kPerChannel, WeightScale::kMax, ranges);
  PlacementInput input;
  input.plan = &plan;
  input.groups = &groups;
  input.threads = threads;
  for (const GroupRange& range : ranges) {
    input.params.push_back(range.params);
    input.ranges.push_back(range.threshold);
  }
  ModelIr model = float_model;  // shares the constants
  std::vector<NodeNotes> notes;
  LQ_RETURN_IF_ERROR(place_quantization(model.main(), input, notes));
  remove_dead(model.main());
  LQ_RETURN_IF_ERROR(infer_shapes(model, nullptr));
  return model;
}

}  // namespace

Result<std::optional<double>> trial_sqnr_db(const ModelIr& float_model, const PrecisionPlan& plan, RangeOptions options,
                                            const calibration::DataSource& source, calibration::CollectorOptions run) {
  const MeasureOptions measure = quietly(std::move(run));
  if (is_auto(options)) options.method = *calibration::parse_method("mse");
  const ParamGroups groups = ParamGroups::build(float_model.main(), plan);
  LQ_ASSIGN_OR_RETURN(const Calibration seen, calibrate(float_model, groups, options, source, measure.run));
  LQ_ASSIGN_OR_RETURN(ModelIr model, placed(float_model, plan, groups, choose_group_ranges(groups, seen, options),
                                            measure.run.threads));
  LQ_ASSIGN_OR_RETURN(const FloatOutputs reference, FloatOutputs::measure(float_model, source, measure));
  return reference.sqnr_db(std::move(model), source, measure);
}

Result<calibration::MethodChoice> best_method(const MethodTrial& trial, RangeOptions options,
                                              const calibration::DataSource& source,
                                              const calibration::CollectorOptions& run) {
  const MeasureOptions measure = quietly(run);
  LQ_ASSIGN_OR_RETURN(const FloatOutputs reference, FloatOutputs::measure(trial.float_model, source, measure));
  std::optional<calibration::MethodChoice> best;
  double best_db = 0;
  for (const char* name : {"kl", "mse", "minmax", "auto"}) {
    options.method = *calibration::parse_method(name);
    const std::vector<GroupRange> ranges = choose_group_ranges(trial.groups, trial.calibration, options, &trial.judge);
    LQ_ASSIGN_OR_RETURN(ModelIr model,
                        placed(trial.float_model, trial.plan, trial.groups, ranges, measure.run.threads));
    LQ_ASSIGN_OR_RETURN(const std::optional<double> db, reference.sqnr_db(std::move(model), source, measure));
    if (!db) return *calibration::parse_method("kl");
    if (best && *db <= best_db) continue;
    best = options.method, best_db = *db;
  }
  return *best;
}

}  // namespace lq::quantization
