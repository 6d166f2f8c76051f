// --max-drop through quantize(): what goes back to float, what it costs, and that it does not depend on threads.
#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "quantization/quantizer_fixture.h"

namespace lq {
namespace {

using Mixed = QuantizeReport::MixedPrecision;

class MixedPrecisionTest : public test::QuantizerFixture {
 protected:
  void SetUp() override {
    QuantizerFixture::SetUp();
    write_samples(20, {1, 3, 8, 8});
  }
  /// The small net's outputs are one pooled value a channel of shape [1,4,1,1]: judged by rms error in percent.
  Mixed mixed(test::GraphMaker& m, QuantizeOptions o, double max_drop, QuantizeReport* report = nullptr) {
    o.max_drop = max_drop;
    QuantizeReport r = quantized(m, o);
    if (report != nullptr) *report = r;
    return r.mixed_precision.value_or(Mixed());
  }
  static std::set<std::string> kept(const Mixed& m) {
    std::set<std::string> names;
    for (const Mixed::Layer& layer : m.layers) {
      if (layer.kept_float) names.insert(layer.node);
    }
    return names;
  }
};

TEST_F(MixedPrecisionTest, NothingGoesBackWhereInt8IsGoodEnough) {
  test::GraphMaker m, plain;
  test::small_net(m), test::small_net(plain);
  const Mixed found = mixed(m, options(), 50);
  EXPECT_EQ(found.metric, "rms error of the outputs in percent");
  EXPECT_TRUE(found.layers.empty());
  EXPECT_EQ(found.drop_before, found.drop_after);
  EXPECT_GT(found.drop_before, 0);
  quantized(plain, options());
  EXPECT_EQ(test::fingerprint(m.graph()), test::fingerprint(plain.graph()));
}

TEST_F(MixedPrecisionTest, TheTargetHoldsAndSomethingStaysInt8) {
  test::GraphMaker first, m;
  test::small_net(first), test::small_net(m);
  const double before = mixed(first, options(), 50).drop_before;
  QuantizeReport report;
  const Mixed found = mixed(m, options(), before * 0.8, &report);
  EXPECT_LE(found.drop_after, before * 0.8);
  ASSERT_FALSE(found.layers.empty());
  EXPECT_FALSE(kept(found).empty());
  EXPECT_GT(report.int8_nodes, 0u);
  double macs = 0, in_float = 0;
  for (const Mixed::Layer& layer : found.layers) {
    EXPECT_GE(layer.isolated_error, 0);
    macs += layer.macs;
    in_float += layer.kept_float ? layer.macs : 0;
  }
  EXPECT_EQ(found.float_mac_share, in_float / macs);
  EXPECT_LT(found.float_mac_share, 1);
  // Convolutions 3 -> 8 on 8 x 8, 8 -> 8 and 8 -> 4 on 4 x 4, all 3 x 3; the other operators have no multiply-adds.
  EXPECT_EQ(macs, 9 * (3 * 8 * 64 + 8 * 8 * 16 + 8 * 4 * 16));
  for (const auto& node : report.nodes) {
    if (kept(found).count("Conv '" + node.name + "'") != 0) {
      EXPECT_THAT(node.reason, ::testing::HasSubstr("--max-drop"));
    }
  }
}

/// Error of zero: only float gives it, and what was asked for in int8 is not touched.
TEST_F(MixedPrecisionTest, AsFarAsAskedForInt8Allows) {
  test::GraphMaker all, pinned;
  test::small_net(all), test::small_net(pinned);
  QuantizeReport report;
  EXPECT_LE(mixed(all, options(), 1e-6, &report).drop_after, 1e-6);
  EXPECT_EQ(report.int8_mac_share.value_or(1), 0);
  QuantizeOptions o = options();
  o.precision = {{"^a$", "int8"}};
  const Mixed found = mixed(pinned, o, 1e-6, &report);
  EXPECT_GT(found.drop_after, 1e-6);
  EXPECT_EQ(kept(found).count("Conv 'a'"), 0u);
  EXPECT_GT(report.int8_mac_share.value_or(0), 0);
}

TEST_F(MixedPrecisionTest, TheSameForAnyThreadCountAndFromThePlan) {
  test::GraphMaker first, one, three, again;
  test::small_net(first), test::small_net(one), test::small_net(three), test::small_net(again);
  const double target = mixed(first, options(), 50).drop_before * 0.6;
  QuantizeReport report;
  const Mixed a = mixed(one, options(1), target, &report), b = mixed(three, options(3), target);
  EXPECT_EQ(kept(a), kept(b));
  EXPECT_EQ(a.drop_after, b.drop_after);
  EXPECT_EQ(test::fingerprint(one.graph()), test::fingerprint(three.graph()));
  const std::string file = folder_.string() + ".json";
  std::ofstream(file) << report.plan;
  QuantizeOptions o = options();
  o.plan = file;
  const QuantizeReport replayed = quantized(again, o);
  EXPECT_EQ(test::fingerprint(one.graph()), test::fingerprint(again.graph()));
  EXPECT_EQ(replayed.options, report.options);
  EXPECT_EQ(replayed.plan, report.plan);
}

}  // namespace
}  // namespace lq
