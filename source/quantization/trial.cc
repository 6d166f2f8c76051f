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
  PlacementInput input;
  input.plan = &plan;
  input.groups = &groups;
  input.threads = run.threads;
  for (const GroupRange& range : choose_group_ranges(groups, seen, options)) {
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

}  // namespace lq::quantization
