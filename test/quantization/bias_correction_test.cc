// Bias correction: what it must find in a product whose mean error is known, and when it must leave a model alone.
#include "quantization/bias_correction.h"

#include <cstring>

#include "quantization/quantizer_fixture.h"

namespace lq {
namespace {

/// A 1 × 1 convolution of two channels with weights (127, 0.4): the scale is 1, so 0.4 becomes 0 and every result
/// lacks 0.4·x₂. Inputs lie in [0.5, 1).
class BiasCorrectionTest : public test::QuantizerFixture {
 protected:
  void SetUp() override {
    QuantizerFixture::SetUp();
    for (size_t i = 0; i < 12; ++i) {
      std::vector<float> values = test::noise(2 * 16, uint32_t(i + 1));
      for (float& v : values) v = 0.75f + 0.25f * v;
      for (size_t p = 16; p < 32; ++p) mean_ += double(values[p]) / (12 * 16);
      const std::string path = (folder_ / ("s" + std::to_string(i) + ".npy")).string();
      ASSERT_TRUE(calibration::write_npy(path, DType::Float32, {1, 2, 4, 4}, values.data()).ok());
    }
  }

  static void make(test::GraphMaker& m, const std::vector<float>& weights) {
    const TensorId x = m.input("x", {1, 2, 4, 4});
    m.output(m.node(Op::Conv, "y", {x, m.constant("w", {1, 2, 1, 1}, weights), m.constant("b", {1}, {0.5f})},
                    schema::ConvAttrsT()));
  }

  /// The bias of the only product, as a real number.
  static double bias_of(const ModelIr& model) {
    for (const Tensor& t : model.main().tensors) {
      if (t.is_constant() && t.dtype == DType::Int32 && t.quant)
        return double(t.data.as<int32_t>()[0]) * double(t.quant->scale[0]);
    }
    ADD_FAILURE() << "no int32 bias";
    return 0;
  }

  double mean_ = 0;  // of the second channel
};

TEST_F(BiasCorrectionTest, PutsWhatRoundingTookIntoTheBias) {
  test::GraphMaker with, without;
  make(with, {127, 0.4f}), make(without, {127, 0.4f});
  QuantizeOptions o = options();
  const QuantizeReport corrected = quantized(with, o);
  o.bias_correction = "off";
  const QuantizeReport plain = quantized(without, o);
  EXPECT_NEAR(bias_of(without.model), 0.5, 0.01);
  // The rest is rounding of the inputs, uniform over ±127/255/2 and averaged over 192 values: 0.01.
  EXPECT_NEAR(bias_of(with.model), 0.5 + 0.4 * mean_, 0.05);
  EXPECT_GT(*corrected.output_sqnr_db, *plain.output_sqnr_db + 3);
}

TEST_F(BiasCorrectionTest, LeavesExactWeightsAlone) {
  test::GraphMaker with, without;
  make(with, {127, 64}), make(without, {127, 64});
  QuantizeOptions o = options();
  quantized(with, o);
  o.bias_correction = "off";
  quantized(without, o);
  EXPECT_EQ(bias_of(with.model), bias_of(without.model));
}

TEST_F(BiasCorrectionTest, ErrorsThatReluCutsOffDoNotCount) {
  // Both channels are +1 at eight positions and −1 at the other eight. Without its weight of 0.4 the product lacks 0.4
  // at the former and has 0.4 too much at the latter: on average nothing. But there it is −126.9, and Relu makes both
  // 0; what is left of the error needs 0.4 more bias.
  for (size_t i = 0; i < 12; ++i) {
    std::vector<float> values(32);
    for (size_t p = 0; p < 32; ++p) values[p] = (p + i) % 16 < 8 ? 1.0f : -1.0f;
    const std::string path = (folder_ / ("s" + std::to_string(i) + ".npy")).string();
    ASSERT_TRUE(calibration::write_npy(path, DType::Float32, {1, 2, 4, 4}, values.data()).ok());
  }
  test::GraphMaker m;
  const TensorId x = m.input("x", {1, 2, 4, 4}), b = m.constant("b", {1}, {0.5f});
  const TensorId product =
      m.node(Op::Conv, "p", {x, m.constant("w", {1, 2, 1, 1}, {127, 0.4f}), b}, schema::ConvAttrsT());
  const TensorId relu = m.node(Op::Relu, "r", {product});
  m.output(m.node(Op::Conv, "y", {relu, m.constant("v", {1, 1, 1, 1}, {1})}, schema::ConvAttrsT()));
  m.finish();
  QuantizeOptions o = options();
  o.method = "minmax", o.rounding = "nearest";  // the inputs' scale is 1/127: ±1 are exact
  quantized(m, o);
  EXPECT_NEAR(bias_of(m.model), 0.9, 0.01);
}

TEST_F(BiasCorrectionTest, ThreadsChangeNothing) {
  test::GraphMaker one, three;
  make(one, {127, 0.4f}), make(three, {127, 0.4f});
  quantized(one, options(1)), quantized(three, options(3));
  EXPECT_EQ(bias_of(one.model), bias_of(three.model));
}

TEST_F(BiasCorrectionTest, RefusesOtherWords) {
  test::GraphMaker m;
  make(m, {1, 1});
  QuantizeOptions o = options();
  o.bias_correction = "maybe";
  const auto result = quantize(m.model, o);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("use on or off"), std::string::npos);
}

}  // namespace
}  // namespace lq
