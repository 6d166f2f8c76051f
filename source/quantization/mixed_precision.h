// --max-drop: the cheapest layers go back to float until the accuracy holds.
#pragma once
#include <map>
#include <string>

#include "libquant/quantizer.hpp"
#include "quantization/sensitivity.h"

namespace lq::quantization {

/// Samples the target is checked on. With labels: the drop of top-1 in points. Without: for a model whose only output
/// is a row of class scores, the share of samples whose top-1 differs from float's, in points; for any other model the
/// rms error of the outputs, in percent of their rms.
struct ValidationData {
  calibration::DataSource samples;
  std::map<std::string, int64_t> labels;  // by sample name; empty: no labels
  int64_t label_offset = 0;
};
/// Opens options.validation_dir, with its labels if it has any (an asked-for labels file must be there).
Result<ValidationData> open_validation(const QuantizeOptions& options, std::vector<calibration::InputSpec> inputs);

/// Holding the target means, with labels, that the drop plus its standard error is at most `max_drop`: it shall hold
/// for other samples, too. Tries the model as it is; if its drop is above `max_drop`, ranks the layers by error per
/// cost, finds a shortest prefix of that ranking whose return to float holds the target, and then gives layers of it
/// back to int8, the most expensive first, where the target allows. Returns the wishes that hold it. Everything in
/// float does, unless operators were asked for in int8.
Result<NodeRequests> search_mixed_precision(const SensitivityInput& input, const ValidationData& validation,
                                            double max_drop, QuantizeReport::MixedPrecision& report);

}  // namespace lq::quantization
