// Measured against libm over dense grids (test/numerics): exp, log, tanh, sigmoid, softplus, gelu, silu within 4 ulp of double;
// erf within 7e-16 absolute; sin, cos within 3e-16 absolute for |x| <= 1e6 (beyond that less accurate, still the same
// bits everywhere); pow within 1e-13 relative, exact where a product of doubles is.
// Only + − × ÷ and sqrt of IEEE doubles and integer moves of bits are used; compile with -ffp-contract=off.
#include "numerics/elementary.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace lq::elementary {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// ln 2 in two parts: the high one has 32 trailing zero bits, so k * kLn2High is exact for |k| < 2^11.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kRoundMagic = 0x1.8p52;  // x + magic − magic rounds |x| < 2^51 to the nearest integer, ties to even

uint64_t bits_of(double x) {
  uint64_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}
double double_of(uint64_t b) {
  double x;
  std::memcpy(&x, &b, sizeof x);
  return x;
}
/// 2^k for −1022 <= k <= 1023.
double power_of_two(int k) { return double_of(uint64_t(k + 1023) << 52); }

/// exp(r) − 1 by its Taylor series to r^14; |r| <= 0.36: truncation < 1e-18.
double expm1_small(double r) {
  constexpr double kInverseFactorial[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,        1.0 / 720,
                                          1.0 / 5040,    1.0 / 40320,    1.0 / 362880,    1.0 / 3628800,    1.0 / 39916800,
                                          1.0 / 479001600, 1.0 / 6227020800.0, 1.0 / 87178291200.0};
  double p = kInverseFactorial[12];
  for (int i = 11; i >= 0; --i) p = p * r + kInverseFactorial[i];
  return r + r * r * p;
}

/// erf(x) = 2/√π · exp(−x²) · Σ 2^n x^(2n+1) / (2n+1)!! (Abramowitz & Stegun 7.1.6): every term positive. 0 <= x < 2.5.
double erf_series(double x) {
  constexpr double kTwoOverSqrtPi = 1.1283791670955125739;
  const double y = 2 * x * x;
  double sum = 0;
  // Horner from the inside: 1 + y/3 (1 + y/5 (1 + y/7 (…))); 60 terms: ratio at the end 12.5/121, truncation < 1e-20.
  for (int n = 59; n >= 0; --n) sum = (1 + sum) * (y / double(2 * n + 3));
  return kTwoOverSqrtPi * exp(-x * x) * (x * (1 + sum));
}

/// erfc(x) by the continued fraction of Abramowitz & Stegun 7.1.14, 60 levels; x >= 2.5.
double erfc_fraction(double x) {
  constexpr double kOneOverSqrtPi = 0.56418958354775628695;
  double tail = x;
  for (int n = 60; n >= 1; --n) tail = x + (0.5 * n) / tail;
  return kOneOverSqrtPi * exp(-x * x) / tail;
}

// π/2 in three parts of at most 33 bits: k * part is exact for |k| < 2^20 (Cody and Waite).
constexpr double kHalfPi1 = 0x1.921fb544p+0;
constexpr double kHalfPi2 = 0x1.0b4611a6p-34;
constexpr double kHalfPi3 = 0x1.3198a2e037073p-69;

struct Reduced { double r; int quadrant; };
Reduced reduce_quadrant(double x) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  const double k = x * kTwoOverPi + kRoundMagic - kRoundMagic;
  const double r = ((x - k * kHalfPi1) - k * kHalfPi2) - k * kHalfPi3;
  const double quarter = k - 4 * (k * 0.25 + kRoundMagic - kRoundMagic);
  return {r, int(quarter) & 3};
}

double sin_small(double r) {  // |r| <= π/4, Taylor to r^17: truncation < 1e-17
  constexpr double c[] = {-1.0 / 6,        1.0 / 120,           -1.0 / 5040,           1.0 / 362880,
                          -1.0 / 39916800, 1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0};
  const double z = r * r;
  double p = c[7];
  for (int i = 6; i >= 0; --i) p = p * z + c[i];
  return r + r * z * p;
}
double cos_small(double r) {  // |r| <= π/4, Taylor to r^18
  constexpr double c[] = {1.0 / 24,         -1.0 / 720,           1.0 / 40320,           -1.0 / 3628800,
                          1.0 / 479001600, -1.0 / 87178291200.0, 1.0 / 20922789888000.0, -1.0 / 6402373705728000.0};
  const double z = r * r;
  double p = c[7];
  for (int i = 6; i >= 0; --i) p = p * z + c[i];
  return 1 - 0.5 * z + z * z * p;
}

double trigonometric(double x, int shift) {
  if (!std::isfinite(x)) return kNaN;
  // Beyond 2^50 the reduction has no correct bit left; the value is fixed by definition.
  if (std::fabs(x) > 0x1p50) x = std::fmod(x, 0x1.921fb54442d18p+2);  // fmod is exact by IEEE 754
  const Reduced a = reduce_quadrant(x);
  const int quadrant = (a.quadrant + shift) & 3;
  const double v = (quadrant & 1) ? cos_small(a.r) : sin_small(a.r);
  return (quadrant & 2) ? -v : v;
}

bool is_odd_integer(double y) {
  if (std::fabs(y) >= 0x1p53) return false;
  return std::nearbyint(y) == y && std::fabs(y - 2 * std::nearbyint(y * 0.5)) == 1;
}

double integer_power(double x, unsigned n) {
  double result = 1;
  for (; n != 0; n >>= 1) {
    if (n & 1) result *= x;
    x *= x;
  }
  return result;
}

}  // namespace

double exp(double x) {
  if (x != x) return x;
  if (x > 709.8) return kInf;
  if (x < -745.2) return 0;
  const double k = x * kLog2E + kRoundMagic - kRoundMagic;
  const double r = (x - k * kLn2High) - k * kLn2Low;
  const double y = 1 + expm1_small(r);
  const int n = int(k);
  // In two steps so that results near overflow and subnormal ones are right.
  return y * power_of_two(n / 2) * power_of_two(n - n / 2);
}

double log(double x) {
  if (x != x || x < 0) return kNaN;
  if (x == 0) return -kInf;
  if (x == kInf) return x;
  int k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  uint64_t b = bits_of(x);
  k += int(b >> 52) - 1023;
  double m = double_of((b & 0xfffffffffffffull) | 0x3ff0000000000000ull);  // [1, 2)
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++k;
  }
  // log m = 2 atanh(s), s = (m−1)/(m+1), |s| <= 0.1716; series to s^25: truncation < 1e-20.
  const double f = m - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  double p = 1.0 / 25;
  for (int i = 11; i >= 1; --i) p = p * z + 1.0 / double(2 * i + 1);
  // 2 s (1 + z p) written as f − s (f − 2 z p): the leading term f is exact.
  const double tail = k * kLn2Low - s * (f - 2 * z * p);
  return k * kLn2High + (f + tail);
}

double tanh(double x) {
  if (x != x) return x;
  const double a = std::fabs(x);
  double t;
  if (a > 20) {
    t = 1;
  } else if (a < 0.175) {
    const double e = expm1_small(2 * a);
    t = e / (e + 2);
  } else {
    t = 1 - 2 / (exp(2 * a) + 1);
  }
  return std::copysign(t, x);
}

double erf(double x) {
  if (x != x) return x;
  const double a = std::fabs(x);
  const double v = a < 2.5 ? erf_series(a) : a > 6 ? 1 : 1 - erfc_fraction(a);
  return std::copysign(v, x);
}

double sin(double x) { return x == 0 ? x : trigonometric(x, 0); }
double cos(double x) { return trigonometric(x, 1); }

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return kNaN;
  if (std::isinf(y)) {
    const double a = std::fabs(x);
    if (a == 1) return 1;
    return (a > 1) == (y > 0) ? kInf : 0;
  }
  const bool odd = is_odd_integer(y);
  const bool integer = std::nearbyint(y) == y;
  if (x == 0 || std::isinf(x)) {
    const double magnitude = (x == 0) == (y > 0) ? 0 : kInf;
    return odd && std::signbit(x) ? -magnitude : magnitude;
  }
  if (x < 0 && !integer) return kNaN;
  if (integer && std::fabs(y) <= 64) {
    const double v = integer_power(x, unsigned(std::fabs(y)));
    return y < 0 ? 1 / v : v;
  }
  if (y == 0.5) return std::sqrt(x);
  const double v = exp(y * log(std::fabs(x)));
  return odd && x < 0 ? -v : v;
}

double log1p_exp(double x) {
  if (x > 40) return x;  // exp(−40) is below half an ulp of 40
  const double e = exp(x);
  // log(1+e): for small e by log(u)·e/(u−1), u = 1+e, which cancels the rounding of u (Goldberg 1991).
  const double u = 1 + e;
  return u == 1 ? e : log(u) * (e / (u - 1));
}

double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + exp(-x));
  const double e = exp(x);
  return e / (1 + e);
}

double hard_sigmoid(double x, double alpha, double beta) {
  const double v = alpha * x + beta;
  return v > 1 ? 1 : v > 0 ? v : v != v ? v : 0;
}
double hard_swish(double x) { return x * hard_sigmoid(x, 1.0 / 6, 0.5); }
double silu(double x) { return x == -kInf ? 0 : x * sigmoid(x); }
double gelu(double x, bool tanh_approximation) {
  if (x == -kInf) return 0;
  if (tanh_approximation) {
    constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
    return 0.5 * x * (1 + tanh(kSqrtTwoOverPi * (x + 0.044715 * x * x * x)));
  }
  return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
}
double elu(double x, double alpha) { return x < 0 ? alpha * (std::fabs(x) < 0.3 ? expm1_small(x) : exp(x) - 1) : x; }
double selu(double x, double alpha, double gamma) { return gamma * elu(x, alpha); }
double leaky_relu(double x, double alpha) { return x < 0 ? alpha * x : x; }

}  // namespace lq::elementary
