// Coordinates and Q11 weights of Resize (docs/NUMERICS.md, Resize): exact rationals, the same on every machine.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "model_generated.h"

namespace lq {

/// num / den, den > 0.
struct Fraction {
  int64_t num = 0, den = 1;
};
/// Largest integer <= f.
int64_t floor_of(Fraction f);

/// The fraction with the smallest denominator that float32 rounds to `value` (0.6f is 3/5, 0.33333334f is 1/3): what
/// whoever wrote the scale meant. nullopt unless value is 0 or 2^-30 <= |value| <= 2^30.
std::optional<Fraction> simplest_fraction(float value);

/// One axis of a Resize.
struct ResampleAxis {
  int64_t in = 1, out = 1;
  Fraction scale;  // simplest_fraction of the given scale, or out / in where sizes were given
  schema::CoordinateMode mode = schema::CoordinateMode::HalfPixel;
  Fraction roi_start, roi_end{1, 1};  // TfCropAndResize only
};

/// Where output position x lies in the input, by the axis' coordinate mode (length = scale·in, which may be no
/// integer):
///   HalfPixel           (x + 1/2) / scale − 1/2
///   PytorchHalfPixel    the same; 0 where out = 1
///   AlignCorners        x·(in − 1) / (length − 1); 0 where out = 1
///   Asymmetric          x / scale
///   TfHalfPixelForNn    (x + 1/2) / scale
///   HalfPixelSymmetric  in/2·(1 − out/length) + (x + 1/2) / scale − 1/2
///   TfCropAndResize     (start + x·(end − start) / (out − 1))·(in − 1); the middle of the region where out = 1
/// kUnsupported where a numerator leaves int64 (regions of interest with large denominators).
Result<Fraction> source_coordinate(const ResampleAxis& axis, int64_t x);

/// Input position of nearest Resize: the coordinate rounded by `mode`, then clamped to [0, in − 1].
int64_t nearest_index(Fraction coordinate, schema::NearestMode mode, int64_t in);

struct ResampleKernel {
  bool cubic = false;
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;  // acts where scale < 1
};

/// Taps of every output position along one axis.
struct ResampleTaps {
  int taps = 0;
  std::vector<int32_t> index;    // [out, taps], clamped to [0, in − 1]
  std::vector<int32_t> weight;   // [out, taps], Q11: each position's sum is 2048
  std::vector<double> real;      // [out, taps], the weights before rounding to Q11: those of float Resize
  std::vector<uint8_t> outside;  // [out] TfCropAndResize: coordinate < 0 or > in − 1; empty for other modes
};

/// With i = floor(coordinate) and f = double(coordinate − i) the taps are i, i+1 (linear) or i−1 … i+2 (cubic),
/// weighing
///   linear  1 − f, f
///   cubic   ((a·(f+1) − 5a)·(f+1) + 8a)·(f+1) − 4a,  ((a+2)·f − (a+3))·f·f + 1,  and the same two of 1 − f in reverse;
/// exclude_outside zeroes those outside the input and divides by their sum; antialias (scale < 1) stretches the kernel
/// by 1 / scale and divides by the sum. All in double, left to right. Then weight = rint(2048·w), ties to even, and
/// what the sum lacks to 2048 is added to the first tap of the largest w. Positions outside repeat the edge.
Result<ResampleTaps> resample_taps(const ResampleAxis& axis, const ResampleKernel& kernel);

}  // namespace lq
