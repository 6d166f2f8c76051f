#include "numerics/resample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lq {
namespace {

using schema::CoordinateMode;
using schema::NearestMode;

constexpr int64_t kMaxAxis = int64_t(1) << 31;
constexpr int64_t kMaxTapEntries = int64_t(1) << 28;

/// Fraction with the smallest denominator in [a/b, c/d], 0 < a/b < c/d: the continued fraction both ends share.
Fraction simplest_between(int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t q = a / b;
  if (q * b == a) return {q, 1};
  if (q + 1 <= c / d) return {q + 1, 1};
  const Fraction rest = simplest_between(d, c - q * d, b, a - q * b);
  return {q * rest.num + rest.den, rest.num};
}

/// a·b + c·d with overflow reported.
bool multiply_add(int64_t a, int64_t b, int64_t c, int64_t d, int64_t& out) {
  int64_t ab = 0, cd = 0;
  return !__builtin_mul_overflow(a, b, &ab) && !__builtin_mul_overflow(c, d, &cd) &&
         !__builtin_add_overflow(ab, cd, &out);
}

Result<Fraction> checked(bool fits, int64_t num, int64_t den) {
  constexpr int64_t kLimit = int64_t(1) << 61;  // room for the doubling in nearest_index
  fits = fits && num > -kLimit && num < kLimit && den > -kLimit && den < kLimit && den != 0;
  if (!fits)
    return unsupported("a Resize coordinate needs more than 64 bits; round the scales or the region of interest");
  if (den < 0) return Fraction{-num, -den};
  return Fraction{num, den};
}

/// (start + x·(end − start) / (out − 1))·(in − 1), over the common denominator of start and end.
Result<Fraction> crop_coordinate(const ResampleAxis& axis, int64_t x) {
  const Fraction s = axis.roi_start, e = axis.roi_end;
  const int64_t g = std::gcd(s.den, e.den);
  int64_t common = 0, s_num = 0, e_num = 0, num = 0, den = 0, step = 0;
  bool fits = !__builtin_mul_overflow(s.den / g, e.den, &common) && !__builtin_mul_overflow(s.num, e.den / g, &s_num) &&
              !__builtin_mul_overflow(e.num, s.den / g, &e_num);
  if (axis.out == 1) {
    fits = fits && multiply_add(s_num, 1, e_num, 1, num) && !__builtin_mul_overflow(num, axis.in - 1, &num) &&
           !__builtin_mul_overflow(common, int64_t(2), &den);
    return checked(fits, num, den);
  }
  fits = fits && !__builtin_sub_overflow(e_num, s_num, &step) && multiply_add(s_num, axis.out - 1, x, step, num) &&
         !__builtin_mul_overflow(num, axis.in - 1, &num) && !__builtin_mul_overflow(common, axis.out - 1, &den);
  return checked(fits, num, den);
}

double cubic_near(double a, double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; }
double cubic_far(double a, double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; }

/// Kernel value at distance t >= 0 of the stretched (antialias) forms.
double kernel_at(const ResampleKernel& k, double t) {
  if (!k.cubic) return t < 1 ? 1 - t : 0;
  return t <= 1 ? cubic_near(k.cubic_a, t) : t < 2 ? cubic_far(k.cubic_a, t) : 0;
}

struct Support {
  int64_t first = 0;  // of the first tap, relative to floor(coordinate)
  int taps = 2;
  double stretch = 1;  // kernel argument per input position; below 1 when antialiasing
};

Result<Support> support_of(const ResampleAxis& axis, const ResampleKernel& kernel) {
  Support s;
  if (kernel.antialias && axis.scale.num < axis.scale.den) {
    s.stretch = double(axis.scale.num) / double(axis.scale.den);
    s.first = int64_t(std::floor(-(kernel.cubic ? 2.0 : 1.0) / s.stretch)) + 1;
    if (s.first < -kMaxTapEntries) return unsupported("Resize shrinks an axis too far for antialias");
    s.taps = int(2 - 2 * s.first);
  } else if (kernel.cubic) {
    s.first = -1;
    s.taps = 4;
  }
  if (int64_t(s.taps) > kMaxTapEntries / std::max<int64_t>(axis.out, 1))
    return unsupported("Resize needs too many taps");
  return s;
}

/// Weights in double of the taps around a coordinate with fraction f.
void real_weights(const ResampleKernel& kernel, const Support& s, double f, std::vector<double>& w) {
  if (s.stretch != 1) {
    for (int k = 0; k < s.taps; ++k) w[size_t(k)] = kernel_at(kernel, std::fabs((double(s.first + k) - f) * s.stretch));
  } else if (kernel.cubic) {
    w[0] = cubic_far(kernel.cubic_a, f + 1);
    w[1] = cubic_near(kernel.cubic_a, f);
    w[2] = cubic_near(kernel.cubic_a, 1 - f);
    w[3] = cubic_far(kernel.cubic_a, 1 - f + 1);
  } else {
    w[0] = 1 - f;
    w[1] = f;
  }
}

bool normalize(std::vector<double>& w) {
  double sum = 0;
  for (double v : w) sum += v;
  if (!(std::fabs(sum) > 1e-6)) return false;
  for (double& v : w) v /= sum;
  return true;
}

/// rint(2048·w), the remainder to the first largest.
bool to_q11(const std::vector<double>& w, int32_t* q) {
  int64_t sum = 0;
  size_t largest = 0;
  for (size_t k = 0; k < w.size(); ++k) {
    const double v = std::nearbyint(2048 * w[k]);
    if (!(std::fabs(v) < 1 << 20)) return false;
    q[k] = int32_t(v);
    sum += q[k];
    if (w[k] > w[largest]) largest = k;
  }
  if (sum < -(1 << 24) || sum > (1 << 24)) return false;
  q[largest] += int32_t(2048 - sum);
  return true;
}

}  // namespace

int64_t floor_of(Fraction f) {
  const int64_t q = f.num / f.den;
  return f.num % f.den < 0 ? q - 1 : q;
}

std::optional<Fraction> simplest_fraction(float value) {
  if (value == 0) return Fraction{0, 1};
  if (value < 0) {
    std::optional<Fraction> positive = simplest_fraction(-value);
    if (positive) positive->num = -positive->num;
    return positive;
  }
  if (!(value >= 0x1p-30f && value <= 0x1p30f)) return std::nullopt;
  int exponent = 0;
  const int64_t mantissa =
      int64_t(std::ldexp(std::frexp(value, &exponent), 24));  // value = mantissa · 2^(exponent − 24)
  // Everything that rounds to `value` lies between its midpoints with its neighbours, (2·mantissa ± 1) · 2^(exponent −
  // 25).
  const int shift = exponent - 25;
  const int64_t up = shift > 0 ? int64_t(1) << shift : 1, den = shift < 0 ? int64_t(1) << -shift : 1;
  return simplest_between((2 * mantissa - 1) * up, den, (2 * mantissa + 1) * up, den);
}

Result<Fraction> source_coordinate(const ResampleAxis& axis, int64_t x) {
  const int64_t in = axis.in, out = axis.out, num = axis.scale.num, den = axis.scale.den;
  const auto over_2num = [num](bool fits, int64_t n) { return checked(fits, n, 2 * num); };
  int64_t n = 0;
  bool fits = true;
  switch (axis.mode) {
    case CoordinateMode::PytorchHalfPixel:
      if (out == 1) return Fraction{0, 1};
      [[fallthrough]];
    case CoordinateMode::HalfPixel:
      fits = multiply_add(2 * x + 1, den, -1, num, n);
      return over_2num(fits, n);
    case CoordinateMode::TfHalfPixelForNn:
      fits = multiply_add(2 * x + 1, den, 0, 0, n);
      return over_2num(fits, n);
    case CoordinateMode::HalfPixelSymmetric:
      fits = multiply_add(2 * x + 1 - out, den, in - 1, num, n);
      return over_2num(fits, n);
    case CoordinateMode::Asymmetric:
      fits = multiply_add(x, den, 0, 0, n);
      return checked(fits, n, num);
    case CoordinateMode::AlignCorners: {
      if (out == 1) return Fraction{0, 1};
      int64_t span = 0;
      fits = multiply_add(num, in, -1, den, span) && !__builtin_mul_overflow(x, in - 1, &n) &&
             !__builtin_mul_overflow(n, den, &n);
      return checked(fits, n, span);
    }
    case CoordinateMode::TfCropAndResize:
      return crop_coordinate(axis, x);
  }
  return unsupported("unknown coordinate mode of Resize");
}

int64_t nearest_index(Fraction c, NearestMode mode, int64_t in) {
  int64_t index = 0;
  switch (mode) {
    case NearestMode::Floor:
      index = floor_of(c);
      break;
    case NearestMode::Ceil:
      index = -floor_of({-c.num, c.den});
      break;
    case NearestMode::RoundPreferCeil:
      index = floor_of({2 * c.num + c.den, 2 * c.den});
      break;
    case NearestMode::RoundPreferFloor:
      index = -floor_of({-(2 * c.num - c.den), 2 * c.den});
      break;
  }
  return std::clamp<int64_t>(index, 0, in - 1);
}

Result<ResampleTaps> resample_taps(const ResampleAxis& axis, const ResampleKernel& kernel) {
  if (axis.in < 1 || axis.out < 0 || axis.in > kMaxAxis || axis.out > kMaxAxis || axis.scale.num < 1 ||
      axis.scale.den < 1) {
    return invalid_argument("Resize of an axis from " + std::to_string(axis.in) + " to " + std::to_string(axis.out));
  }
  LQ_ASSIGN_OR_RETURN(const Support s, support_of(axis, kernel));
  ResampleTaps t;
  t.taps = s.taps;
  t.index.resize(size_t(axis.out) * size_t(s.taps));
  t.weight.resize(t.index.size());
  t.real.reserve(t.index.size());
  const bool crop = axis.mode == CoordinateMode::TfCropAndResize;
  if (crop) t.outside.assign(size_t(axis.out), 0);
  std::vector<double> w(size_t(s.taps));
  for (int64_t x = 0; x < axis.out; ++x) {
    LQ_ASSIGN_OR_RETURN(const Fraction c, source_coordinate(axis, x));
    const int64_t base = floor_of(c);
    if (crop && (c.num < 0 || c.num / c.den > axis.in - 1 || (c.num / c.den == axis.in - 1 && c.num % c.den != 0)))
      t.outside[size_t(x)] = 1;
    real_weights(kernel, s, double(c.num - base * c.den) / double(c.den), w);
    int32_t* index = t.index.data() + size_t(x) * size_t(s.taps);
    bool sums = s.stretch == 1 || normalize(w);
    bool all_outside = true;
    for (int k = 0; k < s.taps; ++k) {
      const int64_t i = base + s.first + k;
      index[k] = int32_t(std::clamp<int64_t>(i, 0, axis.in - 1));
      const bool inside = i >= 0 && i < axis.in;
      all_outside = all_outside && !inside;
      if (kernel.exclude_outside && !inside) w[size_t(k)] = 0;
    }
    // A position that is extrapolated, or all of whose taps lie outside (the edge): any weights do. What remains inside
    // of an extrapolated one may weigh nothing at all.
    if (kernel.exclude_outside && (all_outside || (crop && t.outside[size_t(x)] != 0))) {
      std::fill(w.begin(), w.end(), 0.0);
      w[0] = 1;
    }
    if (kernel.exclude_outside) sums = normalize(w);
    t.real.insert(t.real.end(), w.begin(), w.end());
    if (!sums || !to_q11(w, t.weight.data() + size_t(x) * size_t(s.taps))) {
      return unsupported("Resize weights do not sum to one; check cubic_coeff_a");
    }
  }
  return t;
}

}  // namespace lq
