// Findings about data, weights and results while quantizing. Each says what was seen and what was or should be done.
#pragma once
#include <vector>

#include "calibration/sample_stats.h"
#include "quantization/compare.h"
#include "quantization/report.h"

namespace lq::quantization {

/// Samples that do not belong; `drop`: those unfit beyond doubt were left out.
void warn_about_samples(const std::vector<calibration::SampleStats>& stats,
                        const std::vector<calibration::SampleFinding>& findings, bool drop, QuantizeReport& report);

/// Of the quantized graph: accumulators that come near int32's end, weights whose channels differ very much in size.
/// Fills weight_min and weight_max of the report's nodes from the float graph.
void examine_weights(const ReportInput& input, const Graph& quantized, bool per_tensor, QuantizeReport& report);

/// A validation set too small for its target.
void warn_about_validation(QuantizeReport& report);

/// Float outputs that cannot be right: NaN or Inf, constant, or one class for every sample.
void warn_about_outputs(const Comparison& comparison, QuantizeReport& report);

}  // namespace lq::quantization
