// From a calibrated range to the quantization parameters of an activation (docs/DESIGN.md, 'Which range').
#pragma once
#include "calibration/histogram.h"
#include "numerics/quant_params.h"

namespace lq::calibration {

enum class ActivationMode { kAuto, kSymmetric, kAsymmetric };
enum class Target { kAny, kAvx2 };
Result<ActivationMode> parse_activation_mode(const std::string& text);  // auto, symmetric, asymmetric
Result<Target> parse_target(const std::string& text);                   // any, avx2

/// How a tensor's range lies around 0. Decided on the whole range, before clipping.
enum class RangeKind {
  kOneSided,  // min >= 0 or max <= 0
  kLopsided,  // the shorter side is at most half of the longer: SiLU, HardSwish, GELU, LeakyReLU
  kTwoSided,
};
RangeKind range_kind(ValueRange range);

/// Steps that magnitudes [0, T] get, i.e. what a threshold method should assume: 128 for symmetric, 256 for one-sided,
/// between the two for an asymmetric range (its share of the 256); half of that where target avx2 keeps 128 of them.
int levels_for(ValueRange range, ActivationMode mode, Target target);

/// int8 parameters for real values clipped to `threshold` (min <= 0 <= max). Zero is exact.
///   auto:       one-sided and lopsided ranges asymmetric (min >= 0: zero point −128, 255 steps up to T), two-sided
///   symmetric symmetric:  zero point 0, scale T/127 asymmetric: scale (max − min)/255, zero point from min
/// Target avx2: one-sided and lopsided ranges that are not symmetric keep to q 0…127 (qmin 0, zero point >= 0).
/// A range without extent, or whose scale would not be a normal finite number, gets scale 1.
QuantParams choose_params(ValueRange range, ValueRange threshold, ActivationMode mode, Target target);

/// Share of the histogram's values outside `threshold`, counted in whole bins (a bin counts when its middle is
/// outside).
double clipped_share(const Histogram& histogram, ValueRange threshold);

}  // namespace lq::calibration
