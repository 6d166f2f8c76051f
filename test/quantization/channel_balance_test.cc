// Channels made alike in size: where, that the float model keeps every bit, what the quantized one gains, and the plan.
#include "quantization/channel_balance.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "quantization/quantizer_fixture.h"
#include "runtime/session.h"

namespace lq::quantization {
namespace {

using test::GraphMaker;
using ::testing::HasSubstr;

/// Filters of output channel c, or with `of_inputs` what reads input channel c, times 2^(step·c).
TensorId conv(GraphMaker& m, const std::string& name, TensorId x, int64_t in, int64_t out, int step, bool of_inputs) {
  std::vector<float> w = test::noise(size_t(in * out), uint32_t(name[0]));
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = std::ldexp(w[i], step * int(of_inputs ? i % size_t(in) : i / size_t(in)));
  std::vector<float> b = test::noise(size_t(out), uint32_t(name[0]) + 1);
  for (size_t c = 0; c < b.size() && !of_inputs; ++c) b[c] = std::ldexp(b[c], step * int(c));
  return m.node(Op::Conv, name, {x, m.constant(name + "_w", {out, in, 1, 1}, w), m.constant(name + "_b", {out}, b)},
                schema::ConvAttrsT());
}

TensorId depthwise(GraphMaker& m, const std::string& name, TensorId x, int64_t channels) {
  schema::ConvAttrsT attrs;
  attrs.groups = channels;
  attrs.pads = {1, 1, 1, 1};
  return m.node(Op::Conv, name, {x, m.constant(name + "_w", {channels, 1, 3, 3}, test::noise(size_t(channels) * 9, 7))},
                attrs);
}

/// a -> Relu -> depthwise d -> s = d + p(x) -> y, where `a` and `p` make channel c 2^c times as large as channel 0 and
/// `y` makes that good: all channels matter alike.
void uneven_net(GraphMaker& m, Op activation = Op::Relu) {
  const TensorId x = m.input("x", {1, 3, 6, 6});
  const TensorId a = conv(m, "a", x, 3, 6, 1, false);
  const TensorId act =
      activation == Op::Relu ? m.node(Op::Relu, "act", {a}) : m.node(Op::Clip, "act", {a, m.scalar(0), m.scalar(6)});
  const TensorId sum = m.node(Op::Add, "sum", {depthwise(m, "d", act, 6), conv(m, "p", x, 3, 6, 1, false)});
  m.output(conv(m, "y", sum, 6, 4, -1, true));
  m.finish();
}

std::vector<float> run(const ModelIr& ir, float scale) {
  auto model = Model::create(ir);
  EXPECT_TRUE(model.ok()) << model.status().message();
  auto session = Session::create(*model, SessionOptions());
  EXPECT_TRUE(session.ok()) << session.status().message();
  std::vector<float> x = test::noise(3 * 36, 77);
  for (float& v : x) v *= scale;
  std::memcpy((*session)->input_data(0), x.data(), x.size() * sizeof(float));
  EXPECT_TRUE((*session)->run().ok());
  const auto* y = static_cast<const float*>((*session)->output_data(0));
  return std::vector<float>(y, y + element_count((*session)->output(0).shape));
}

TEST(ChannelBalance, FactorsKeepTheFloatModelsBits) {
  GraphMaker m;
  uneven_net(m);
  const ModelIr before = m.model;
  const std::vector<ChannelFactors> factors = {{"act", {-5, -4, -3, -2, -1, 0}}, {"sum", {-1, 0, -7, 0, -2, -3}}};
  const Status applied = apply_channel_factors(m.graph(), factors);
  ASSERT_TRUE(applied.ok()) << applied.message();
  m.finish();
  for (float scale : {0.01f, 1.0f, 50.0f}) EXPECT_EQ(run(m.model, scale), run(before, scale)) << scale;
  // The depthwise layer undoes the factors of what it reads and has those of what it writes: 2^(-5 + 1) for channel 0.
  for (const Node& node : m.graph().nodes) {
    if (node.name != "d") continue;
    const std::vector<float> w = *constant_floats(m.graph(), node.inputs[1]);
    EXPECT_EQ(w[0], std::ldexp(test::noise(9, 7)[0], -4));
  }
}

TEST(ChannelBalance, TensorsThatDoNotScaleAreRefused) {
  GraphMaker clipped;
  uneven_net(clipped, Op::Clip);
  EXPECT_THAT(apply_channel_factors(clipped.graph(), {{"act", std::vector<int>(6, -1)}}).message(),
              HasSubstr("channels of 'act' cannot be scaled"));
  GraphMaker m;
  uneven_net(m);
  EXPECT_THAT(apply_channel_factors(m.graph(), {{"sum", {-1, 0}}}).message(), HasSubstr("has 6 channels, not 2"));
  for (const char* fixed : {"x", "y", "no such tensor"})
    EXPECT_FALSE(apply_channel_factors(m.graph(), {{fixed, std::vector<int>(6, -1)}}).ok()) << fixed;
}

class BalanceQuantized : public test::QuantizerFixture {
 protected:
  void SetUp() override {
    QuantizerFixture::SetUp();
    write_samples(12, {1, 3, 6, 6});
  }
  QuantizeReport with(GraphMaker& m, const std::string& balance, int threads = 1) {
    uneven_net(m);
    QuantizeOptions o = options(threads);
    o.balance = balance;
    return quantized(m, o);
  }
};

/// Channel 0 is 2^-5 of the largest: it has three of the eight bits. Its error counts as much as any other's, so even
/// channels are worth many dB; 6 (one bit) is far below what is left when weights and bias take their share.
TEST_F(BalanceQuantized, UnevenChannelsGain) {
  GraphMaker off, on, threads;
  const double without = *with(off, "off").output_sqnr_db, balanced = *with(on, "on").output_sqnr_db;
  EXPECT_GE(balanced, without + 6);
  with(threads, "on", 3);
  EXPECT_EQ(test::fingerprint(on.graph()), test::fingerprint(threads.graph()));
}

TEST_F(BalanceQuantized, APlanHoldsTheFactors) {
  GraphMaker first, second, third;
  const QuantizeReport made = with(first, "on");
  nlohmann::json plan = nlohmann::json::parse(made.plan);
  ASSERT_EQ(plan["channels"].size(), 2u);
  const auto quantize_with = [&](GraphMaker& m) {
    uneven_net(m);
    QuantizeOptions o = options();
    o.plan = folder_.string() + ".json";
    std::ofstream(o.plan) << plan.dump();
    auto report = quantize(m.model, o);
    return report.ok() ? report->plan : report.status().message();
  };
  EXPECT_EQ(quantize_with(second), made.plan);
  EXPECT_EQ(test::fingerprint(first.graph()), test::fingerprint(second.graph()));
  plan["channels"][0]["exponents"][0] = 99;
  EXPECT_THAT(quantize_with(third), HasSubstr("channels[0]: 'exponents' are whole numbers from -24 to 24"));
}

}  // namespace
}  // namespace lq::quantization
