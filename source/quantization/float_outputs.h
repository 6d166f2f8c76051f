// What the float model gives on samples, kept so that every candidate compared with it costs its own runs only.
#pragma once
#include <optional>
#include <vector>

#include "quantization/tapped_run.h"

namespace lq::quantization {

class FloatOutputs {
 public:
  /// Nothing kept yet of `samples` samples.
  explicit FloatOutputs(size_t samples) : outputs_(samples) {}
  /// Runs the float model on the source. The two later calls want the same source.
  static Result<FloatOutputs> measure(const ModelIr& float_model, const calibration::DataSource& source,
                                      const MeasureOptions& options);

  /// Keeps the float ones of these outputs of a session of the float model; from worker threads, once a sample. Large
  /// outputs (segmentation, images) are kept of fewer samples; which ones does not depend on threads.
  void keep(size_t sample, const Session& session, const std::vector<size_t>& places);

  /// Σ (model − float)² / Σ float² over all float outputs and samples kept, joined in sample order.
  Result<double> relative_error(ModelIr model, const calibration::DataSource& source,
                                const MeasureOptions& options) const;
  /// The same in decibels; nothing if no output is float or all are 0 and stay so.
  Result<std::optional<double>> sqnr_db(ModelIr model, const calibration::DataSource& source,
                                        const MeasureOptions& options) const;

 private:
  double power() const;
  Result<double> error(ModelIr model, const calibration::DataSource& source, const MeasureOptions& options) const;

  std::vector<std::vector<float>> outputs_;  // by sample, one output behind the other; empty: skipped or not kept
};

}  // namespace lq::quantization
