#include "quantization/trial.h"

#include "quantization/compare.h"
#include "quantization/placement.h"

namespace lq::quantization {

Result<std::optional<double>> trial_sqnr_db(const ModelIr& float_model, const PrecisionPlan& plan, RangeOptions options,
                                            const calibration::DataSource& source, calibration::CollectorOptions run) {
  run.progress = nullptr;
  if (is_auto(options)) options.method = *calibration::parse_method("mse");
  const ParamGroups groups = ParamGroups::build(float_model.main(), plan);
  LQ_ASSIGN_OR_RETURN(const Calibration seen, calibrate(float_model, groups, options, source, run));
  return placed_sqnr_db(float_model, plan, groups, choose_group_ranges(groups, seen, options), source, run);
}

Result<std::optional<double>> placed_sqnr_db(const ModelIr& float_model, const PrecisionPlan& plan,
                                             const ParamGroups& groups, const std::vector<GroupRange>& ranges,
                                             const calibration::DataSource& source, calibration::CollectorOptions run) {
  run.progress = nullptr;
  PlacementInput input;
  input.plan = &plan;
  input.groups = &groups;
  input.threads = run.threads;
  for (const GroupRange& range : ranges) {
    input.params.push_back(range.params);
    input.ranges.push_back(range.threshold);
  }
  ModelIr trial = float_model;  // shares the constants
  std::vector<NodeNotes> notes;
  LQ_RETURN_IF_ERROR(place_quantization(trial.main(), input, notes));
  remove_dead(trial.main());
  LQ_RETURN_IF_ERROR(infer_shapes(trial, nullptr));
  LQ_ASSIGN_OR_RETURN(const Comparison comparison, compare_models(float_model, trial, {}, source, run));
  return comparison.output_sqnr_db;
}

Result<calibration::MethodChoice> best_method(const MethodTrial& trial, RangeOptions options,
                                              const calibration::DataSource& source,
                                              const calibration::CollectorOptions& run) {
  std::optional<calibration::MethodChoice> best;
  double best_db = 0;
  for (const char* name : {"kl", "mse", "minmax", "auto"}) {
    options.method = *calibration::parse_method(name);
    const std::vector<GroupRange> ranges = choose_group_ranges(trial.groups, trial.calibration, options, &trial.judge);
    LQ_ASSIGN_OR_RETURN(const std::optional<double> db,
                        placed_sqnr_db(trial.float_model, trial.plan, trial.groups, ranges, source, run));
    if (!db) return *calibration::parse_method("kl");
    if (best && *db <= best_db) continue;
    best = options.method, best_db = *db;
  }
  return *best;
}

}  // namespace lq::quantization
