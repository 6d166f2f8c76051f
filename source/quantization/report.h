// Fills the report from what each stage left behind. Texts are complete sentences; how they are printed is the tool's
// business.
#pragma once
#include <vector>

#include "calibration/data_source.h"
#include "libquant/quantizer.hpp"
#include "quantization/activation_ranges.h"
#include "quantization/compare.h"
#include "quantization/float_share.h"
#include "quantization/placement.h"
#include "quantization/precision.h"

namespace lq::quantization {

/// Everything known about a float graph before it is rewritten. `groups` and `ranges` empty: nothing is quantized.
struct ReportInput {
  const Graph& graph;  // as it was before placement
  const PrecisionPlan& plan;
  const ParamGroups& groups;
  const std::vector<GroupRange>& ranges;
};

/// Node table, counts by operator. Node i of the table is node i of the graph.
void describe_nodes(const ReportInput& input, QuantizeReport& report);

/// Table of tensors, with histograms folded to at most kReportBins bins a side.
inline constexpr int kReportBins = 128;
void describe_tensors(const ReportInput& input, const Calibration& calibration, QuantizeReport& report);

/// Warnings about the model: zero channels, raised scales, clipped values, NaN and Inf, inputs that look wrongly
/// normalised, few samples.
void warn_about_data(const ModelIr& model, const Calibration& calibration, const ReportInput& input,
                     QuantizeReport& report);
/// Convolutions and products in branches of an If, which are not quantized, and the input that chooses the branch.
void warn_about_branches(const ModelIr& model, QuantizeReport& report);
void warn_about_weights(const ReportInput& input, const std::vector<NodeNotes>& notes, QuantizeReport& report);

/// What --float-share gave back to float, and its price.
void warn_about_float_share(const FloatShare& share, QuantizeReport& report);

/// SQNR of each node, agreement, share of int8 multiply-adds; warns about layers far from float.
/// `node_of_pair`: the node each compared pair belongs to.
void add_comparison(const Comparison& comparison, const std::vector<size_t>& node_of_pair, QuantizeReport& report);

}  // namespace lq::quantization
