// What each layer's quantization costs in accuracy, and what its return to float costs in time.
#pragma once
#include <functional>
#include <vector>

#include "calibration/collector.h"
#include "quantization/float_outputs.h"
#include "quantization/node_requests.h"
#include "quantization/precision.h"

namespace lq::quantization {

/// How far a model is built.
enum class BuildStage {
  kMeasure,  // for comparing layers: rounded to nearest, nothing corrected
  kTrial,    // for validation: with bias correction
  kFinal,    // as it will be written
};
/// Makes the quantized model that follows from these wishes.
using BuildModel = std::function<Result<ModelIr>(const NodeRequests& wishes, BuildStage stage)>;

/// An operator that can be given back to float.
struct Layer {
  size_t node = 0;       // in the float graph
  double macs = 0;       // multiply-adds of one run; 0 for elementwise operators
  double cost = 0;       // what float costs more: multiply-adds and, in the same unit, conversions at its borders
  double isolated = 0;   // relative error power of the outputs with this layer alone in int8
  double gain = 0;       // how much of the whole model's goes away with this layer alone in float; may be negative
  double score() const;  // error it is worth, for ranking
};

struct SensitivityInput {
  const ModelIr* float_model = nullptr;
  const NodeRequests* wishes = nullptr;              // of the user; what he asked for is no candidate
  const calibration::DataSource* samples = nullptr;  // few: each layer costs two runs of each
  BuildModel build;
  calibration::CollectorOptions run;
  std::function<void(const char* stage, size_t done, size_t total)> progress;
};

/// Every int8 operator that computes (not those that only move values, nor an activation inside another's epilogue),
/// in execution order, with macs and cost; errors still 0.
Result<std::vector<Layer>> find_layers(const SensitivityInput& input);

/// The float model's outputs on the samples: what all errors below are against.
Result<FloatOutputs> float_outputs(const SensitivityInput& input);
/// Relative error power of the outputs of the model that follows from these wishes.
Result<double> output_error(const SensitivityInput& input, const FloatOutputs& reference, const NodeRequests& wishes);
/// Measures gain of each layer, given the error `whole` of the model as asked for, and, with `isolated`, that.
/// Deterministic: sums are joined in sample order.
Status measure_sensitivity(const SensitivityInput& input, const FloatOutputs& reference, double whole,
                           std::vector<Layer>& layers, bool isolated = true);

/// True if the only output is a row of class scores [N, C]: what counts is which is the largest.
bool gives_class_scores(const Graph& graph);

/// Wishes with the given layers in float, for `reason`.
NodeRequests with_float(const NodeRequests& wishes, const std::vector<size_t>& nodes, const std::string& reason);

}  // namespace lq::quantization
