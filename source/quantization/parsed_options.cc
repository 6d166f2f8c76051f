#include "quantization/parsed_options.h"

#include <cstdlib>

namespace lq::quantization {
namespace {

Result<bool> parse_switch(const char* option, const std::string& text) {
  if (text == "on") return true;
  if (text == "off") return false;
  return invalid_argument(std::string(option) + " '" + text + "': use on or off");
}

}  // namespace

Result<ParsedOptions> parse_options(const QuantizeOptions& options) {
  ParsedOptions parsed;
  LQ_ASSIGN_OR_RETURN(parsed.ranges.method, calibration::parse_method(options.method));
  LQ_ASSIGN_OR_RETURN(parsed.ranges.mode, calibration::parse_activation_mode(options.activation));
  LQ_ASSIGN_OR_RETURN(parsed.ranges.target, calibration::parse_target(options.target));
  if (options.weights == "per-tensor") {
    parsed.weights = WeightGranularity::kPerTensor;
  } else if (options.weights != "per-channel") {
    return invalid_argument("--weights '" + options.weights + "': use per-channel or per-tensor");
  }
  if (options.weight_scale == "mse") {
    parsed.weight_scale = WeightScale::kMse;
  } else if (options.weight_scale == "admm") {
    parsed.weight_scale = WeightScale::kAdmm;
  } else if (options.weight_scale != "max") {
    return invalid_argument("--weight-scale '" + options.weight_scale + "': use max, mse or admm");
  }
  if (options.rounding == "nearest") {
    parsed.rounding = Rounding::kNearest;
  } else if (options.rounding == "adaround") {
    parsed.rounding = Rounding::kAdaRound;
  } else if (options.rounding != "auto") {
    return invalid_argument("--rounding '" + options.rounding + "': use auto, nearest or adaround");
  }
  LQ_ASSIGN_OR_RETURN(parsed.correct_biases, parse_switch("--bias-correction", options.bias_correction));
  LQ_ASSIGN_OR_RETURN(parsed.balance, parse_switch("--balance", options.balance));
  char* end = nullptr;
  parsed.float_share = std::strtod(options.float_share.c_str(), &end) / 100;
  if (end == options.float_share.c_str() || *end != 0 || !(parsed.float_share >= 0 && parsed.float_share <= 1))
    return invalid_argument("--float-share '" + options.float_share + "': use a number from 0 to 100");
  if (options.threads < 1) return invalid_argument("--threads must be at least 1");
  return parsed;
}

}  // namespace lq::quantization
