// The simplest quantization of all, for comparing two float graphs of the same meaning.
#pragma once
#include <optional>

#include "quantization/activation_ranges.h"
#include "quantization/tapped_run.h"

namespace lq::quantization {

/// SQNR of the outputs with ranges measured on `source` (with mse in place of auto) and weights rounded to nearest,
/// nothing corrected, on the same samples; nothing without float outputs.
Result<std::optional<double>> trial_sqnr_db(const ModelIr& float_model, const PrecisionPlan& plan, RangeOptions options,
                                            const calibration::DataSource& source, calibration::CollectorOptions run);

struct MethodTrial {
  const ModelIr& float_model;
  const PrecisionPlan& plan;
  const ParamGroups& groups;
  const Calibration& calibration;
  const OutputError& judge;
};
/// --method auto: the one of kl, mse, minmax and the choice by tensor (the method "auto") whose outputs are nearest to
/// float; kl without float outputs, and before others as good.
Result<calibration::MethodChoice> best_method(const MethodTrial& trial, RangeOptions options,
                                              const calibration::DataSource& source,
                                              const calibration::CollectorOptions& run);

}  // namespace lq::quantization
