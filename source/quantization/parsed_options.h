// QuantizeOptions' texts as what they mean.
#pragma once
#include "libquant/quantizer.hpp"
#include "quantization/activation_ranges.h"
#include "quantization/weights.h"

namespace lq::quantization {

enum class Rounding { kNearest, kAdaRound, kAuto };

struct ParsedOptions {
  RangeOptions ranges;
  WeightGranularity weights = WeightGranularity::kPerChannel;
  bool correct_biases = true, balance = true;
  WeightScale weight_scale = WeightScale::kMax;
  Rounding rounding = Rounding::kAuto;
  double float_share = 0.01;
};

/// Errors name the option and list its right values.
Result<ParsedOptions> parse_options(const QuantizeOptions& options);

}  // namespace lq::quantization
