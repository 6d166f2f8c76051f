// Float constants as large as the map they scale: stored as weights are, in the file only.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "quantization/precision.h"
#include "quantization/quantizer_fixture.h"

namespace lq::test {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kChannels = 4, kSide = 16;  // 1024 numbers a constant

/// conv -> LayerNormalization over [C, H, W] -> conv. Channel c of the scale reaches 2^c.
void norm_net(GraphMaker& m, const Shape& shape = {kChannels, kSide, kSide}) {
  const size_t count = size_t(element_count(shape));
  std::vector<float> scale = noise(count, 5), bias = noise(count, 6);
  for (size_t i = 0; i < count; ++i) scale[i] *= std::ldexp(1.0f, int(i * size_t(shape[0]) / count));
  const TensorId x = m.input("x", {1, 3, kSide, kSide});
  schema::NormAttrsT attrs;
  attrs.axis = -int64_t(shape.size());
  const TensorId norm = m.node(
      Op::LayerNormalization, "norm",
      {conv(m, "a", x, 3, kChannels, 1), m.constant("scale", shape, scale), m.constant("bias", shape, bias)}, attrs);
  m.output(conv(m, "b", norm, kChannels, 2, 9));
  m.finish();
}

class StoredParameters : public QuantizerFixture {
 protected:
  void SetUp() override {
    QuantizerFixture::SetUp();
    write_samples(3, {1, 3, kSide, kSide});
  }
};

TEST_F(StoredParameters, OneScaleAChannelAsForWeights) {
  GraphMaker m;
  norm_net(m);
  quantized(m, options());
  for (const char* name : {"scale", "bias"}) {
    const Tensor& q = *m.tensor(std::string(name) + "_q");
    ASSERT_EQ(q.dtype, DType::Int8) << name;
    ASSERT_EQ(q.quant->granularity, schema::Granularity::PerChannel);
    EXPECT_EQ(q.quant->axis, 0);
    ASSERT_EQ(q.quant->scale.size(), size_t(kChannels));
  }
  const Tensor& q = *m.tensor("scale_q");
  std::vector<float> values = noise(size_t(kChannels * kSide * kSide), 5);
  for (size_t c = 0; c < size_t(kChannels); ++c) {
    // max|v|/127, and no value further off than half a step.
    const size_t plane = size_t(kSide * kSide);
    float largest = 0;
    for (size_t i = 0; i < plane; ++i) largest = std::max(largest, std::abs(values[c * plane + i]));
    largest = std::ldexp(largest, int(c));
    EXPECT_FLOAT_EQ(q.quant->scale[c], largest / 127);
    for (size_t i = 0; i < plane; ++i) {
      const float wanted = std::ldexp(values[c * plane + i], int(c));
      EXPECT_NEAR(float(q.data.as<int8_t>()[c * plane + i]) * q.quant->scale[c], wanted, largest / 127 * 0.5001f);
    }
  }
}

TEST_F(StoredParameters, SkippedOrSmallOnesStayFloat) {
  GraphMaker skipped, small;
  norm_net(skipped), norm_net(small, {kSide});
  QuantizeOptions o = options();
  o.skip = {"^norm$"};
  quantized(skipped, o), quantized(small, options());
  EXPECT_EQ(skipped.tensor("scale_q"), nullptr);
  EXPECT_EQ(small.tensor("scale_q"), nullptr);
}

TEST_F(StoredParameters, APlanSaysSoAndGivesTheSameGraph) {
  GraphMaker first, again;
  norm_net(first), norm_net(again);
  QuantizeOptions o = options();
  const QuantizeReport report = quantized(first, o);
  EXPECT_THAT(report.plan, HasSubstr("\"int8_parameters\": true"));
  const std::string file = (folder_ / "plan.json").string();
  std::ofstream(file) << report.plan;
  o.plan = file;
  quantized(again, o);
  EXPECT_EQ(fingerprint(first.graph()), fingerprint(again.graph()));
}

}  // namespace
}  // namespace lq::test
