// Parameters of int16 activations (docs/NUMERICS.md, "Sixteen bits").
#pragma once
#include "quantization/activation_ranges.h"
#include "quantization/weights.h"

namespace lq::quantization {

inline constexpr int32_t kLargestInt16 = 32767;

float largest_magnitude(const std::vector<float>& values);

/// Zero point 0, limits ±qmax, scale so that qmax stands for `largest`; 1 where that is no normal number.
QuantParams symmetric_int16_params(float largest, int32_t qmax);

/// Gives each int16 group the largest qmax with which no product that reads it can leave its accumulator, with weights
/// as `granularity` and `how` make them. Parameters a plan gave stay: quantize_product() raises weight scales for them.
void fit_int16_ranges(const Graph& graph, const PrecisionPlan& plan, const ParamGroups& groups,
                      WeightGranularity granularity, WeightScale how, std::vector<GroupRange>& ranges);

}  // namespace lq::quantization
