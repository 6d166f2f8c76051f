// int8 weights, int32 bias and their bounds. Every expected number is worked out beside it.
#include "quantization/weights.h"

#include <gmock/gmock.h>

#include <cfloat>
#include <cmath>

#include "passes/product_weights.h"
#include "passes/toolchain_graph.h"
#include "quantization/bias.h"

namespace lq::quantization {
namespace {

using test::GraphMaker;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::IsEmpty;

TEST(WeightScales, PerChannelIsMaxAbsOver127) {
  const std::vector<float> w = {1, -2, 0, 0, 0.5f, 0.25f};
  const std::vector<int32_t> channel = {0, 0, 1, 1, 2, 2};
  const std::vector<float> scale = weight_scales(w, channel, 3, WeightGranularity::kPerChannel);
  EXPECT_THAT(scale, ElementsAre(FloatEq(2.0f / 127), 1.0f, FloatEq(0.5f / 127)));  // a zero channel has scale 1
  // 1/(2/127) = 63.5: a tie goes to even, 64. 0.25/(0.5/127) = 63.5 as well.
  EXPECT_THAT(round_weights(w, channel, scale), ElementsAre(64, -127, 0, 0, 127, 64));
}

TEST(WeightScales, PerTensorIsTheLargestForAll) {
  const std::vector<float> scale = weight_scales({1, -2, 0, 0}, {0, 0, 1, 1}, 2, WeightGranularity::kPerTensor);
  EXPECT_THAT(scale, ElementsAre(FloatEq(2.0f / 127), FloatEq(2.0f / 127)));
}

TEST(WeightScales, NeverSubnormal) {
  const std::vector<float> scale = weight_scales({1e-40f}, {0}, 1, WeightGranularity::kPerChannel);
  EXPECT_TRUE(is_valid_scale(scale[0]));
}

TEST(Constant, AScalarIsExactUpToItsScale) {
  const QuantizedWeights c = quantize_constant({-0.3f});
  EXPECT_THAT(c.values, ElementsAre(-127));
  EXPECT_NEAR(double(c.values[0]) * double(c.scale[0]), -0.3, 1e-7);
}

TEST(ChannelMap, ConvGemmMatMulAndConvTranspose) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 4, 1, 1}), v = m.input("v", {1, 2});
  m.node(Op::Conv, "conv", {x, m.constant("w", {2, 4, 1, 1}, std::vector<float>(8, 1))});
  schema::ConvAttrsT grouped;
  grouped.groups = 2;
  m.node(Op::ConvTranspose, "deconv", {x, m.constant("t", {4, 3, 1, 1}, std::vector<float>(12, 1))}, grouped);
  schema::GemmAttrsT transposed;
  transposed.trans_b = true;
  m.node(Op::Gemm, "gemm_t", {v, m.constant("g", {3, 2}, std::vector<float>(6, 1))}, transposed);
  m.node(Op::MatMul, "matmul", {v, m.constant("mm", {2, 3}, std::vector<float>(6, 1))});
  const auto map_of = [&](const char* name) {
    const Node& node = *m.find(name);
    const auto view = passes::product_weights(m.graph(), node, nullptr);
    return view->channel_of_element(m.graph().tensor(view->weight).shape);
  };
  EXPECT_THAT(map_of("conv"), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  // [C=4, M/g=3], two groups: input channels 0, 1 write outputs 0…2, input channels 2, 3 write outputs 3…5.
  EXPECT_THAT(map_of("deconv"), ElementsAre(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
  EXPECT_THAT(map_of("gemm_t"), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(map_of("matmul"), ElementsAre(0, 1, 2, 0, 1, 2));
}

QuantParams input_params(float scale, int32_t zero_point) { return per_tensor_params(DType::Int8, scale, zero_point); }

TEST(Product, BiasIsInUnitsOfInputTimesWeight) {
  const QuantizedProduct p = quantize_product({1.27f, -1.27f}, {0, 1}, {0.5, -0.25}, 2, input_params(0.1f, -128), 0.05f,
                                              WeightGranularity::kPerChannel);
  EXPECT_THAT(p.weight_scale, ElementsAre(FloatEq(0.01f), FloatEq(0.01f)));
  EXPECT_THAT(p.bias, ElementsAre(500, -250));  // 0.5 / (0.1·0.01)
  EXPECT_THAT(p.raised, IsEmpty());
}

/// max|q_x − zp|·Σ|q_w| + |bias| of a channel.
double bound(const QuantizedProduct& p, const std::vector<int32_t>& channel, int32_t c, double peak) {
  double sum = 0;
  for (size_t i = 0; i < channel.size(); ++i) sum += channel[i] == c ? std::abs(double(p.weights[i])) : 0;
  return peak * sum + (p.bias.empty() ? 0 : std::abs(double(p.bias[size_t(c)])));
}

TEST(Product, ALargeBiasRaisesItsChannelOnly) {
  // Channel 0: w = 1e-6, scale 7.87e-9; b / (0.01·7.87e-9) = 1.3e11 does not fit int32.
  const std::vector<int32_t> channel = {0, 1};
  const QuantizedProduct p =
      quantize_product({1e-6f, 1}, channel, {10, 10}, 2, input_params(0.01f, 0), 0.05f, WeightGranularity::kPerChannel);
  EXPECT_THAT(p.raised, ElementsAre(0));
  EXPECT_LE(bound(p, channel, 0, 128), 2147483647.0);
  EXPECT_NEAR(double(p.bias[0]) * 0.01 * double(p.weight_scale[0]), 10, 1e-4);
  EXPECT_FLOAT_EQ(p.weight_scale[1], 1.0f / 127);
}

TEST(Product, ALongAccumulatorRaisesTheScale) {
  // 255·127·70000 = 2.27e9 > 2^31 − 1.
  const std::vector<float> w(70000, 1.0f);
  const std::vector<int32_t> channel(w.size(), 0);
  const QuantizedProduct p =
      quantize_product(w, channel, {}, 1, input_params(0.01f, -128), 0.05f, WeightGranularity::kPerChannel);
  EXPECT_THAT(p.raised, ElementsAre(0));
  EXPECT_LE(bound(p, channel, 0, 255), 2147483647.0);
  EXPECT_GE(p.weights[0], 118);  // 127 / (2.27e9 / 2^31) = 120, not thrown away
}

TEST(Product, ZeroChannelsKeepTheirBias) {
  const QuantizedProduct p =
      quantize_product({0, 0}, {0, 1}, {0, 0.3}, 2, input_params(1.0f, -128), 0.05f, WeightGranularity::kPerChannel);
  EXPECT_EQ(p.weight_scale[0], 1);
  EXPECT_TRUE(is_valid_scale(p.weight_scale[1]));
  EXPECT_NEAR(double(p.bias[1]) * double(p.weight_scale[1]), 0.3, 1e-5);  // scale 1 would make it 0
}

TEST(Product, MultipliersStayNormal) {
  const QuantizedProduct p =
      quantize_product({1e-30f}, {0}, {}, 1, input_params(1e-15f, 0), 1000.0f, WeightGranularity::kPerChannel);
  const float product = float(double(1e-15f) * double(p.weight_scale[0]));
  EXPECT_TRUE(std::isnormal(product));
  EXPECT_TRUE(std::isnormal(float(double(1e-15f) * double(p.weight_scale[0]) / 1000.0)));
  EXPECT_TRUE(is_valid_scale(p.bias_scale[0]));
}

double squared_error(const std::vector<float>& w, double scale) {
  double sum = 0;
  for (float v : w) {
    const double d = double(v) - std::clamp(std::nearbyint(double(v) / scale), -127.0, 127.0) * scale;
    sum += d * d;
  }
  return sum;
}

/// Many small weights and one of three times their size.
std::vector<float> weights_with_an_outlier() {
  std::vector<float> w(4000);
  for (size_t i = 0; i < w.size(); ++i) w[i] = std::sin(float(i) * 0.37f) * std::cos(float(i) * 0.011f);
  w[17] = 1.2f;
  return w;
}

TEST(WeightScales, OfLeastErrorIsAboutTheBestThereIs) {
  const std::vector<float> w = weights_with_an_outlier();
  const std::vector<int32_t> channel(w.size(), 0);
  const float max = weight_scales(w, channel, 1, WeightGranularity::kPerChannel)[0];
  const float mse = weight_scales(w, channel, 1, WeightGranularity::kPerChannel, WeightScale::kMse)[0];
  EXPECT_LT(mse, max);
  double least = squared_error(w, double(max));
  for (int k = 0; k < 5000; ++k) least = std::min(least, squared_error(w, double(max) * (1 - 1e-4 * k)));
  EXPECT_LE(squared_error(w, double(mse)), 1.05 * least);
  EXPECT_LT(squared_error(w, double(mse)), squared_error(w, double(max)));
}

TEST(WeightScales, OfAdmmAreAFixedPointOfItsTurns) {
  const std::vector<float> w = weights_with_an_outlier();
  const std::vector<int32_t> channel(w.size(), 0);
  const double scale = double(weight_scales(w, channel, 1, WeightGranularity::kPerChannel, WeightScale::kAdmm)[0]);
  double products = 0, squares = 0;
  for (float v : w) {
    const double q = std::clamp(std::nearbyint(double(v) / scale), -127.0, 127.0);
    products += double(v) * q, squares += q * q;
  }
  EXPECT_NEAR(products / squares, scale, 1e-4 * scale);
  EXPECT_LE(squared_error(w, scale), squared_error(w, double(1.2f / 127)));
}

TEST(WeightScales, OfOneTensorAreAllTheSameAndZeroChannelsKeepOne) {
  for (const WeightScale how : {WeightScale::kMse, WeightScale::kAdmm}) {
    const auto shared = weight_scales({0.5f, -1, 0.1f, 0.2f}, {0, 0, 1, 1}, 2, WeightGranularity::kPerTensor, how);
    EXPECT_EQ(shared[0], shared[1]);
    EXPECT_EQ(weight_scales({1, 0, 0}, {0, 1, 1}, 2, WeightGranularity::kPerChannel, how)[1], 1.0f);
  }
}

/// ONNX Runtime forms s_x·s_w/s_y by two float operations, docs/NUMERICS.md in double: one in two differs for scales
/// taken as they come.
TEST(Product, MultipliersAreTheSameInFloatAndInDouble) {
  constexpr size_t kChannels = 500;
  std::vector<float> weights(2 * kChannels);
  std::vector<int32_t> channel(weights.size());
  uint32_t seed = 3;
  for (size_t i = 0; i < weights.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    weights[i] = float(int32_t(seed)) / 2147483648.0f, channel[i] = int32_t(i / 2);
  }
  const QuantParams x = per_tensor_params(DType::Int8, 0.0371f, 0);
  const float s_x = scale_at(x, 0), s_y = 0.0913f;
  const QuantizedProduct p = quantize_product(weights, channel, {}, kChannels, x, s_y, WeightGranularity::kPerChannel);
  for (float s : p.weight_scale) EXPECT_EQ(s_x * s / s_y, float(double(s_x) * double(s) / double(s_y)));
  EXPECT_TRUE(p.raised.empty());
}

}  // namespace
}  // namespace lq::quantization
