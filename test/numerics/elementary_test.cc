// libm (glibc: within 1 ulp) is the independent source of values.
#include "numerics/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lq {
namespace {

double relative_error(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  return std::fabs(got - want) / std::max(std::fabs(want), 1e-300);
}

template <typename F, typename G>
double worst(F ours, G theirs, double low, double high, int steps, bool absolute = false) {
  double w = 0;
  for (int i = 0; i <= steps; ++i) {
    const double x = low + (high - low) * i / steps;
    const double e = absolute ? std::fabs(ours(x) - theirs(x)) : relative_error(ours(x), theirs(x));
    w = std::max(w, e);
  }
  return w;
}

constexpr double kUlp = 2.220446049250313e-16;
constexpr int kSteps = 200003;

TEST(Elementary, ExpAndLogWithinFourUlp) {
  EXPECT_LE(worst(elementary::exp, [](double x) { return std::exp(x); }, -700, 700, kSteps), 4 * kUlp);
  EXPECT_LE(worst(elementary::exp, [](double x) { return std::exp(x); }, -1, 1, kSteps), 2 * kUlp);
  EXPECT_LE(worst(elementary::log, [](double x) { return std::log(x); }, 1e-3, 2, kSteps), 4 * kUlp);
  EXPECT_LE(worst(elementary::log, [](double x) { return std::log(x); }, 2, 1e9, kSteps), 4 * kUlp);
}

TEST(Elementary, HyperbolicAndErf) {
  EXPECT_LE(worst(elementary::tanh, [](double x) { return std::tanh(x); }, -22, 22, kSteps), 5 * kUlp);
  EXPECT_LE(worst(elementary::tanh, [](double x) { return std::tanh(x); }, -0.2, 0.2, kSteps), 5 * kUlp);
  EXPECT_LE(worst(elementary::erf, [](double x) { return std::erf(x); }, -7, 7, kSteps, true), 7e-16);
  EXPECT_LE(worst(elementary::erf, [](double x) { return std::erf(x); }, -0.5, 0.5, kSteps), 6 * kUlp);
}

TEST(Elementary, Trigonometric) {
  EXPECT_LE(worst(elementary::sin, [](double x) { return std::sin(x); }, -50, 50, kSteps, true), 3e-16);
  EXPECT_LE(worst(elementary::cos, [](double x) { return std::cos(x); }, -50, 50, kSteps, true), 3e-16);
  EXPECT_LE(worst(elementary::sin, [](double x) { return std::sin(x); }, -1e6, 1e6, kSteps, true), 3e-16);
}

TEST(Elementary, ActivationsAgainstTheirFormulas) {
  EXPECT_LE(worst(elementary::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -30, 30, kSteps), 6 * kUlp);
  EXPECT_LE(worst(elementary::log1p_exp, [](double x) { return std::log1p(std::exp(x)); }, -40, 60, kSteps), 6 * kUlp);
  EXPECT_LE(worst([](double x) { return elementary::elu(x, 1.5); }, [](double x) { return x < 0 ? 1.5 * std::expm1(x) : x; },
                  -20, 5, kSteps), 8 * kUlp);
  EXPECT_DOUBLE_EQ(elementary::hard_swish(3), 3);
  EXPECT_DOUBLE_EQ(elementary::hard_swish(-3), 0);
  EXPECT_NEAR(elementary::gelu(1, false), 0.8413447460685429, 1e-15);  // Φ(1)
  EXPECT_EQ(elementary::silu(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(elementary::gelu(-std::numeric_limits<double>::infinity(), false), 0);
}

TEST(Elementary, PowFollowsC99) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (double x : {-inf, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, inf, nan}) {
    for (double y : {-inf, -3.0, -2.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, 2.5, inf, nan}) {
      const double want = std::pow(x, y), got = elementary::pow(x, y);
      EXPECT_LE(relative_error(got, want), 1e-13) << x << "^" << y << " gave " << got << " not " << want;
      if (want == 0) {
        EXPECT_EQ(std::signbit(got), std::signbit(want)) << x << "^" << y;
      }
    }
  }
  EXPECT_EQ(elementary::pow(3, 2), 9);
  EXPECT_LE(relative_error(elementary::pow(1.7, 31.3), std::pow(1.7, 31.3)), 1e-13);
}

TEST(Elementary, EdgesOfTheDomain) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(elementary::exp(-inf), 0);
  EXPECT_EQ(elementary::exp(inf), inf);
  EXPECT_EQ(elementary::log(0), -inf);
  EXPECT_TRUE(std::isnan(elementary::log(-1)));
  EXPECT_TRUE(std::isnan(elementary::sin(inf)));
  EXPECT_EQ(elementary::tanh(-inf), -1);
  EXPECT_LE(relative_error(elementary::exp(-740), std::exp(-740)), 0.01);  // subnormal
  EXPECT_LE(relative_error(elementary::log(5e-324), std::log(5e-324)), 4 * kUlp);
}

}  // namespace
}  // namespace lq
