#include "calibration/activation_params.h"

#include <algorithm>
#include <cmath>

namespace lq::calibration {
namespace {

bool is_symmetric(RangeKind kind, ActivationMode mode) {
  return mode == ActivationMode::kSymmetric || (mode == ActivationMode::kAuto && kind == RangeKind::kTwoSided);
}

/// Does this range keep to q 0…127?
bool is_halved(RangeKind kind, ActivationMode mode, Target target) {
  return target == Target::kAvx2 && kind != RangeKind::kTwoSided && !is_symmetric(kind, mode);
}

}  // namespace

Result<ActivationMode> parse_activation_mode(const std::string& text) {
  if (text == "auto") return ActivationMode::kAuto;
  if (text == "symmetric") return ActivationMode::kSymmetric;
  if (text == "asymmetric") return ActivationMode::kAsymmetric;
  return invalid_argument("--activation: '" + text + "' is not auto, symmetric or asymmetric");
}

Result<Target> parse_target(const std::string& text) {
  if (text == "any") return Target::kAny;
  if (text == "avx2") return Target::kAvx2;
  return invalid_argument("--target: '" + text + "' is not any or avx2");
}

RangeKind range_kind(ValueRange range) {
  const double below = std::max(0.0, -double(range.min)), above = std::max(0.0, double(range.max));
  const double shorter = std::min(below, above), longer = std::max(below, above);
  if (shorter == 0) return RangeKind::kOneSided;
  return 2 * shorter <= longer ? RangeKind::kLopsided : RangeKind::kTwoSided;
}

int levels_for(ValueRange range, ActivationMode mode, Target target) {
  const RangeKind kind = range_kind(range);
  if (is_symmetric(kind, mode)) return 128;
  const double below = std::max(0.0, -double(range.min)), above = std::max(0.0, double(range.max));
  const int all = is_halved(kind, mode, target) ? 128 : 256;
  if (below + above == 0) return all;
  return std::clamp(int(std::nearbyint(all * std::max(below, above) / (below + above))), all / 2, all);
}

QuantParams choose_params(ValueRange range, ValueRange threshold, ActivationMode mode, Target target) {
  const RangeKind kind = range_kind(range);
  const double low = std::min(0.0, double(threshold.min)), high = std::max(0.0, double(threshold.max));
  if (is_symmetric(kind, mode)) {
    const float scale = float(std::max(-low, high) / 127);
    return per_tensor_params(DType::Int8, is_valid_scale(scale) ? scale : 1.0f, 0);
  }
  const int qmin = is_halved(kind, mode, target) ? 0 : -128, qmax = 127;
  const float scale = float((high - low) / (qmax - qmin));
  const bool valid = is_valid_scale(scale);  // NaN thresholds end here too
  // The scale as stored decides the zero point; q of `low` is at least qmin up to the rounding of the zero point.
  const int zero_point = valid ? std::clamp(qmin + int(std::nearbyint(-low / double(scale))), qmin, qmax) : qmin;
  QuantParams params = per_tensor_params(DType::Int8, valid ? scale : 1.0f, zero_point);
  params.qmin = qmin;
  return params;
}

double clipped_share(const Histogram& histogram, ValueRange threshold) {
  const uint64_t total = histogram.total() + histogram.tiny();
  if (total == 0) return 0;
  uint64_t clipped = 0;
  for (int b = 0; b < kBins; ++b) {
    const double middle = double(histogram.limit()) * (b + 0.5) / kBins;
    if (middle > double(threshold.max)) clipped += histogram.positive()[size_t(b)];
    if (-middle < double(threshold.min)) clipped += histogram.negative()[size_t(b)];
  }
  return double(clipped) / double(total);
}

}  // namespace lq::calibration
