// Threshold methods: a table of (name, function). Adding one: a file here, a declaration below, a row in method.cc.
#pragma once
#include <string>

#include "base/status.h"
#include "calibration/histogram.h"

namespace lq::calibration {

/// What a method sees. `levels`: quantization steps the magnitudes [0, T] will get: 128 for symmetric two-sided, 256
/// for one-sided (see levels_for in activation_params.h).
struct MethodInput {
  const Histogram& histogram;
  ValueRange range;  // min <= 0 <= max, widened to hold 0
  int levels = 128;
  double parameter = 0;  // the number after ':' or the row's default
  const std::vector<ValueRange>* samples = nullptr;  // each sample's own range, by name; for `ema`
};

/// Real values outside [min, max] will be clipped. min <= 0 <= max, within `range`.
using MethodFn = ValueRange (*)(const MethodInput& input);

struct MethodRow {
  const char* name;
  MethodFn threshold;
  bool has_parameter = false;
  double parameter = 0, parameter_min = 0, parameter_max = 0;
};

ValueRange kl_threshold(const MethodInput& input);
ValueRange minmax_threshold(const MethodInput& input);
ValueRange percentile_threshold(const MethodInput& input);
ValueRange mse_threshold(const MethodInput& input);
ValueRange admm_threshold(const MethodInput& input);
ValueRange ema_threshold(const MethodInput& input);

/// Σ count·(x − quantized(x))² over the |x| histogram, values standing for the middle of their bin: what clipping at
/// `threshold` costs. 0 for a threshold of 0.
double expected_squared_error(const Histogram& histogram, double threshold, int levels);

const MethodRow* find_method(const std::string& name);

/// A method as typed: "kl", "minmax", "percentile", "percentile:99.9", "ema:0.95", …
struct MethodChoice {
  const MethodRow* row = nullptr;
  double parameter = 0;
};
Result<MethodChoice> parse_method(const std::string& text);

/// Runs it on a histogram. An empty histogram (only tiny values) keeps the whole range. `samples`: each sample's own
/// range, in the order of their names.
ValueRange compute_threshold(const MethodChoice& method, const Histogram& histogram, int levels,
                             const std::vector<ValueRange>* samples = nullptr);

/// Clips the magnitudes of `range` at `threshold`: what a method with one threshold for both sides returns.
ValueRange clip_range(ValueRange range, double threshold);

}  // namespace lq::calibration
