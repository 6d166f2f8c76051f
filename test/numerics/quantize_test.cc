#include "numerics/quantize.h"

#include <gtest/gtest.h>

#include <limits>

#include "numerics/quant_params.h"

namespace lq {
namespace {

TEST(Quantize, TiesToEvenAndSaturation) {
  EXPECT_EQ(quantize(0.5f, 1, 0, -128, 127), 0);
  EXPECT_EQ(quantize(1.5f, 1, 0, -128, 127), 2);
  EXPECT_EQ(quantize(-2.5f, 1, 0, -128, 127), -2);
  EXPECT_EQ(quantize(1e30f, 1, 0, -128, 127), 127);
  EXPECT_EQ(quantize(-1e30f, 1, 5, -128, 127), -128);
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(quantize(inf, 1, 0, -128, 127), 127);
  EXPECT_EQ(quantize(-inf, 1, 0, -127, 127), -127);
  EXPECT_EQ(quantize(std::nanf(""), 1, 3, -100, 127), -100);  // NaN -> qmin
}

TEST(Quantize, DividesTruly) {
  // 0.35 / 0.1f rounds to 3.5 in float, to even 4; 0.35 * (1/0.1f) would too, but 5 / 0.7f = 7.142857 must not use a reciprocal.
  EXPECT_EQ(quantize(0.35f, 0.1f, 0, -128, 127), 4);
  for (int q = -128; q <= 127; ++q) EXPECT_EQ(quantize(dequantize(q, 0.7f, -3), 0.7f, -3, -128, 127), q);
}

TEST(Requantize, ClampsBothSidesBeforeRounding) {
  // acc·m = −4e9 leaves int32 if it is rounded first; with zp −5 a one-sided clamp gave +127.
  EXPECT_EQ(requantize(-2000000000, 2.0f, -5, -128, 127), -128);
  EXPECT_EQ(requantize(2000000000, 2.0f, -5, -128, 127), 127);
  EXPECT_EQ(requantize(3, 0.5f, 10, -128, 127), 12);   // 1.5 -> 2
  EXPECT_EQ(requantize(5, 0.5f, 10, -128, 127), 12);   // 2.5 -> 2
  EXPECT_EQ(requantize(100, 1.0f, -128, -128, -100), -100);
}

TEST(Requantize, FusedActivationIsANarrowerRangeAtTheZeroPoint) {
  // ReLU after requantization with zp 10: real 0 is q = 10, not q = 0.
  EXPECT_EQ(requantize(-7, 1.0f, 10, 10, 127), 10);
}

TEST(QuantParams, ValidityRules) {
  QuantParams p = per_tensor_params(DType::Int8, 0.1f, -128);
  EXPECT_TRUE(is_valid_params(p));
  for (float bad : {0.0f, -1.0f, 1e-40f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    p.scale = {bad};
    EXPECT_FALSE(is_valid_params(p)) << bad;
  }
  p = per_tensor_params(DType::Int8, 0.1f, 5);
  p.qmin = -200;
  EXPECT_FALSE(is_valid_params(p));
  p = per_tensor_params(DType::Int8, 0.1f, 128);
  EXPECT_FALSE(is_valid_params(p));
  p = per_tensor_params(DType::Float32, 0.1f, 0);
  EXPECT_FALSE(is_valid_params(p));
  p = per_channel_weights({0.1f, 0.2f}, 0);
  EXPECT_TRUE(is_valid_params(p));
  p.zero_point.pop_back();
  EXPECT_FALSE(is_valid_params(p));
}

}  // namespace
}  // namespace lq
