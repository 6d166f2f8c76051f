// --float-share: the product that eight bits ruin goes back to float, where it is little work and the outputs need it.
#include "quantization/float_share.h"

#include <algorithm>

#include "quantization/quantizer_fixture.h"

namespace lq::quantization {
namespace {

using test::GraphMaker;

/// `difference` subtracts two channels that are alike but for a thousandth: what is left is lost in eight bits of
/// either. 2 · 256 multiply-adds beside 9 · 64 · 256 of `large`.
void difference_net(GraphMaker& m) {
  const TensorId x = m.input("x", {1, 2, 16, 16});
  const TensorId d =
      m.node(Op::Conv, "difference", {x, m.constant("d_w", {1, 2, 1, 1}, {1, -1})}, schema::ConvAttrsT());
  schema::ConvAttrsT padded;
  padded.pads = {1, 1, 1, 1};
  m.output(m.node(Op::Conv, "large", {d, m.constant("l_w", {64, 1, 3, 3}, test::noise(64 * 9, 5))}, padded));
  m.finish();
}

class FloatShareTest : public test::QuantizerFixture {
 protected:
  void SetUp() override {
    QuantizerFixture::SetUp();
    for (uint32_t i = 0; i < 12; ++i) {
      std::vector<float> values = test::noise(256, i + 1), small = test::noise(256, i + 100);
      for (size_t k = 0; k < 256; ++k) values.push_back(values[k] + small[k] / 1000);
      const std::string path = (folder_ / ("s" + std::to_string(i) + ".npy")).string();
      ASSERT_TRUE(calibration::write_npy(path, DType::Float32, {1, 2, 16, 16}, values.data()).ok());
    }
  }
  QuantizeReport with(const std::string& share, int threads = 1) {
    GraphMaker m;
    difference_net(m);
    QuantizeOptions o = options(threads);
    o.float_share = share;
    QuantizeReport report = quantized(m, o);
    bytes_ = test::fingerprint(m.graph());
    return report;
  }
  static const QuantizeReport::Warning* finding(const QuantizeReport& report) {
    const auto found = std::find_if(report.warnings.begin(), report.warnings.end(),
                                    [](const auto& w) { return w.kind == "float-share"; });
    return found == report.warnings.end() ? nullptr : &*found;
  }
  std::string bytes_;
};

TEST_F(FloatShareTest, TheProductThatCostsTheOutputsMostIsFloat) {
  const QuantizeReport in_int8 = with("0"), spared = with("1");
  const std::string bytes = bytes_;
  ASSERT_EQ(spared.nodes.size(), 2u);
  EXPECT_EQ(spared.nodes[0].precision, "float");
  EXPECT_EQ(spared.nodes[1].precision, "int8");
  EXPECT_EQ(in_int8.nodes[0].precision, "int8");
  EXPECT_EQ(finding(in_int8), nullptr);
  ASSERT_NE(finding(spared), nullptr);
  EXPECT_TRUE(finding(spared)->taken);
  // 512 of 512 + 9 · 64 · 256 multiply-adds.
  EXPECT_NE(finding(spared)->message.find("operators back in float: 1, 0.35 % of the multiply-adds"), std::string::npos)
      << finding(spared)->message;
  EXPECT_NEAR(*spared.int8_mac_share, 1 - 512.0 / (512 + 9 * 64 * 256), 1e-4);
  EXPECT_GT(*spared.output_sqnr_db, kHeldDb);
  EXPECT_LT(*in_int8.output_sqnr_db, 10);
  with("1", 2);
  EXPECT_EQ(bytes_, bytes);
}

TEST_F(FloatShareTest, ItIsNoMoreThanTheShare) { EXPECT_EQ(finding(with("0.3")), nullptr); }

/// On one pixel a product is hardly any work, but its 16 weights are 2.7 % of all: the file would grow.
TEST_F(FloatShareTest, WeightsCountAsWorkDoes) {
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
  for (uint32_t i = 0; i < 12; ++i) {
    std::vector<float> values = test::noise(16, i + 1);
    for (size_t k = 0; k < 8; ++k) values[8 + k] = values[k] + values[8 + k] / 1000;
    const std::string path = (folder_ / ("s" + std::to_string(i) + ".npy")).string();
    ASSERT_TRUE(calibration::write_npy(path, DType::Float32, {1, 16, 1, 1}, values.data()).ok());
  }
  const auto finds = [&](const std::string& share) {
    GraphMaker m;
    std::vector<float> signs(16, 1);
    std::fill(signs.begin() + 8, signs.end(), -1.0f);
    const TensorId d =
        m.node(Op::Conv, "difference", {m.input("x", {1, 16, 1, 1}), m.constant("d_w", {1, 16, 1, 1}, signs)},
               schema::ConvAttrsT());
    schema::ConvAttrsT padded;
    padded.pads = {1, 1, 1, 1};
    m.output(m.node(Op::Conv, "large",
                    {m.node(Op::Expand, "map", {d, m.ints({1, 1, 16, 16})}),
                     m.constant("l_w", {64, 1, 3, 3}, test::noise(64 * 9, 5))},
                    padded));
    m.finish();
    QuantizeOptions o = options();
    o.float_share = share;
    const QuantizeReport report = quantized(m, o);
    return finding(report) != nullptr;
  };
  EXPECT_FALSE(finds("1"));  // 16 of 16 + 9 · 64 · 256 multiply-adds would be 0.01 %
  EXPECT_TRUE(finds("3"));
}

TEST(SampleBudgets, AreSpentInMultiplyAdds) {
  const SampleBudget stage{.gmacs = 3, .one_of = 4, .fewest = 8, .most = 64};
  EXPECT_EQ(affordable_samples(stage, 0.1, 100), 30u);    // 3 / 0.1
  EXPECT_EQ(affordable_samples(stage, 0.001, 100), 64u);  // never more than `most`
  EXPECT_EQ(affordable_samples(stage, 1, 100), 25u);      // a quarter of the calibration's, dear or not
  EXPECT_EQ(affordable_samples(stage, 1, 20), 8u);
  EXPECT_EQ(affordable_samples(stage, 1, 5), 5u);  // there are no more
  // 90 products of a network of 2 billion multiply-adds: 180 billion are one run of one sample for each; two are run.
  const SampleBudget of_each{.gmacs = 180.0 / 90, .one_of = size_t(-1), .fewest = 2};
  EXPECT_EQ(affordable_samples(of_each, 2, 100), 2u);
  EXPECT_EQ(affordable_samples(of_each, 0.25, 100), 8u);
}

TEST_F(FloatShareTest, SharesThatAreNoneAreRefused) {
  for (const char* share : {"", "x", "-1", "101", "1x", "nan"}) {
    GraphMaker m;
    difference_net(m);
    QuantizeOptions o = options();
    o.float_share = share;
    EXPECT_EQ(quantize(m.model, o).status().message(),
              "--float-share '" + std::string(share) + "': use a number from 0 to 100");
  }
}

}  // namespace
}  // namespace lq::quantization
