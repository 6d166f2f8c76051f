// What later runs on generated inputs need to know about real ones.
#pragma once
#include <vector>

#include "calibration/data_source.h"
#include "libquant/quantizer.hpp"

namespace lq::quantization {

/// Notes the first sample that was not skipped: its shapes in the report, and in each integer input of the model the
/// range of its values. Most integers are refused somewhere (a sample rate, token ids), these are not.
Status note_first_sample(ModelIr& model, const calibration::DataSource& source,
                         const std::vector<calibration::SkippedSample>& skipped, QuantizeReport& report);

}  // namespace lq::quantization
