// int16 activations on request: which tensors become it, what stays float beside them, qmax, and the plan file.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "quantization/param_groups.h"
#include "quantization/quantizer_fixture.h"
#include "runtime/session.h"

namespace lq {
namespace {

using nlohmann::json;
using quantization::Precision;
using ::testing::HasSubstr;

class Int16Test : public test::QuantizerFixture {
 protected:
  void SetUp() override {
    QuantizerFixture::SetUp();
    write_samples(20, {1, 3, 8, 8});
  }
  QuantizeOptions asking(const std::vector<PrecisionRule>& rules, int threads = 1) {
    QuantizeOptions o = options(threads);
    o.precision = rules;
    return o;
  }
  QuantizeOptions with_plan(const std::string& text) {
    std::ofstream(folder_.string() + ".json") << text;
    QuantizeOptions o = options();
    o.plan = folder_.string() + ".json";
    return o;
  }
  static std::map<std::string, std::string> precisions(const QuantizeReport& report) {
    std::map<std::string, std::string> found;
    for (const auto& node : report.nodes) found[node.output] = node.precision;
    return found;
  }
  static DType type_of(test::GraphMaker& m, const std::string& name) {
    const Tensor* t = m.tensor(name);
    return t == nullptr ? DType::Undefined : t->dtype;
  }
};

TEST_F(Int16Test, AWholeModelGainsWhatEightMoreBitsGive) {
  test::GraphMaker narrow, wide;
  test::small_net(narrow), test::small_net(wide);
  const QuantizeReport of_int8 = quantized(narrow, options());
  const QuantizeReport of_int16 = quantized(wide, asking({{".*", "int16"}}));
  auto found = precisions(of_int16);
  for (const char* name : {"a", "relu", "pool", "b", "add", "c"}) EXPECT_EQ(found[name], "int16") << name;
  EXPECT_EQ(found["act"], "float");  // HardSwish: no table of 65536 entries
  EXPECT_EQ(found["y"], "float");
  for (const char* name : {"x_q", "relu_q", "pool_q", "add_q", "act_q"})
    EXPECT_EQ(type_of(wide, name), DType::Int16) << name;
  EXPECT_EQ(of_int16.int8_nodes, 0u);
  EXPECT_EQ(of_int16.int16_nodes, 6u);
  EXPECT_EQ(of_int16.int8_mac_share, 0.0);
  // Only the rounding of weights is left.
  EXPECT_GT(*of_int16.output_sqnr_db, *of_int8.output_sqnr_db + 5);
}

TEST_F(Int16Test, ItsReadersDecideATensorsType) {
  test::GraphMaker m;
  test::small_net(m);
  auto found = precisions(quantized(m, asking({{"^b$", "int16"}})));
  EXPECT_EQ(found["b"], "int16");
  EXPECT_EQ(found["pool"], "int16");  // moves what b reads
  EXPECT_EQ(found["a"], "int8");      // reads int8, writes what the pooling takes
  EXPECT_EQ(found["add"], "int8");
  EXPECT_EQ(type_of(m, "x_q"), DType::Int8);
  EXPECT_EQ(type_of(m, "relu_q"), DType::Int16);
  EXPECT_EQ(type_of(m, "pool_q"), DType::Int16);
  EXPECT_EQ(type_of(m, "pool_int8_q"), DType::Int8);  // for the sum
  EXPECT_EQ(type_of(m, "b_q"), DType::Int8);
  auto model = Model::create(m.model);
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto session = Session::create(*model, {});
  ASSERT_TRUE(session.ok()) << session.status().message();
  const std::string plan = to_string((*session)->fused_graph());
  EXPECT_THAT(plan, HasSubstr("Requantize"));
  EXPECT_THAT(plan, Not(HasSubstr("= DequantizeLinear 'pool")));
}

TEST_F(Int16Test, ThePlanGivesTheSameBytesForAnyThreads) {
  for (const std::vector<PrecisionRule>& rules :
       {std::vector<PrecisionRule>{{".*", "int16"}}, {{"^b$", "int16"}}, {{".*", "int16"}, {"^c$", "int8"}}}) {
    test::GraphMaker first, second, third;
    test::small_net(first), test::small_net(second), test::small_net(third);
    const QuantizeReport made = quantized(first, asking(rules));
    quantized(second, with_plan(made.plan));
    quantized(third, asking(rules, 2));
    EXPECT_EQ(test::fingerprint(first.graph()), test::fingerprint(second.graph()));
    EXPECT_EQ(test::fingerprint(first.graph()), test::fingerprint(third.graph()));
  }
}

TEST_F(Int16Test, AnEditedPlanIsObeyed) {
  test::GraphMaker first, second, third;
  test::small_net(first), test::small_net(second), test::small_net(third);
  json plan = json::parse(quantized(first, options()).plan);
  for (json& node : plan["nodes"]) {
    if (node["output"] == "b") node["precision"] = "int16";
  }
  const QuantizeReport report = quantized(second, with_plan(plan.dump()));
  EXPECT_EQ(precisions(report)["b"], "int16");
  EXPECT_THAT(json::parse(report.plan)["tensors"].dump(), HasSubstr("\"type\":\"int16\""));

  plan["tensors"].push_back(
      {{"names", {"pool"}}, {"type", "int16"}, {"scale", 0.001}, {"zero_point", 0}, {"qmax", 4000}});
  quantized(third, with_plan(plan.dump()));
  const QuantParams& q = *third.tensor("pool_q")->quant;
  EXPECT_EQ(q.scale[0], 0.001f);
  EXPECT_EQ(q.qmax, 4000);
  plan["tensors"].back()["zero_point"] = 3;
  test::GraphMaker fourth;
  test::small_net(fourth);
  EXPECT_THAT(quantize(fourth.model, with_plan(plan.dump())).status().message(), HasSubstr("'zero_point'"));
}

/// 64 channels of 3×3 weights of one size: Σ|q_w| = 64·9·127 = 73152, and ⌊(2³¹ − 1)/73152⌋ = 29356.
TEST_F(Int16Test, QmaxIsTheLargestTheAccumulatorAllows) {
  for (const float bias : {0.0f, 1e5f}) {
    test::GraphMaker m;
    const TensorId x = m.input("x", {1, 3, 8, 8});
    const TensorId a = test::conv(m, "a", x, 3, 64, 5);
    schema::ConvAttrsT attrs;
    const TensorId w = m.constant("w", {2, 64, 3, 3}, std::vector<float>(2 * 64 * 9, 0.5f));
    m.output(m.node(Op::Conv, "b", {a, w, m.constant("bias", {2}, {0, bias})}, attrs));
    m.finish();
    const QuantizeReport report = quantized(m, asking({{"^b$", "int16"}}));
    const QuantParams& q = *m.tensor("a_q")->quant;
    EXPECT_EQ(q.qmin, -q.qmax);
    EXPECT_EQ(q.zero_point[0], 0);
    if (bias == 0) {
      EXPECT_EQ(q.qmax, 29356);
    } else {
      // |b|/(s_x·s_w) takes a part: with s_w = 0.5/127 and s_x = T/qmax the sum of both is the accumulator's limit.
      double largest = 0;
      for (const auto& t : report.tensors) {
        if (t.names[0] == "a") largest = std::max(-t.min, t.max);
      }
      const double used = double(q.qmax) * (73152 + double(bias) / (largest * 0.5 / 127));
      EXPECT_LE(used, 2147483647.0);
      EXPECT_GT(used, 2147483647.0 * 0.99);
    }
  }
}

/// A net of a convolution, one operator and a convolution asked for in int16; what becomes of the operator.
quantization::NodePlan between(Op op, Precision asked_first) {
  test::GraphMaker m;
  const TensorId x = m.input("x", {1, 8, 8, 8});
  const TensorId a = test::conv(m, "a", x, 8, 8, 1);
  const TensorId side = m.node(Op::Sigmoid, "side", {a});  // a second reader: nothing is folded into a
  const TensorId y = m.node(op, "op", {a});
  m.output(test::conv(m, "b", y, 8, 8, 3));
  m.output(side);
  m.finish();
  quantization::NodeRequests requests(m.graph().nodes.size());
  for (size_t n = 0; n < requests.size(); ++n) {
    const std::string& name = m.graph().nodes[n].name;
    if (name == "b" || (name == "op" && asked_first == Precision::kInt16))
      requests[n].wish = quantization::Wish::kInt16;
    if (name == "op" && asked_first == Precision::kInt8) requests[n].wish = quantization::Wish::kInt8;
  }
  const auto plan = quantization::plan_precision(m.graph(), requests);
  for (size_t n = 0; n < plan.size(); ++n) {
    if (m.graph().nodes[n].name == "op") return plan[n];
  }
  return {};
}

TEST(Int16Precision, WhatCannotWriteItIsFloatBeforeItsReaders) {
  for (const Op op : {Op::Sigmoid, Op::Relu, Op::HardSwish}) {
    for (const Precision asked : {Precision::kFloat, Precision::kInt8}) {
      const quantization::NodePlan plan = between(op, asked);
      EXPECT_EQ(plan.precision, Precision::kFloat) << op_name(op);
      EXPECT_THAT(plan.reason, HasSubstr("an int16 operator reads its result"));
    }
  }
  EXPECT_THAT(between(Op::Sigmoid, Precision::kInt16).reason, HasSubstr("no int16 form"));
  EXPECT_THAT(between(Op::Relu, Precision::kInt16).reason, HasSubstr("folded into no operator"));
  EXPECT_EQ(between(Op::GlobalMaxPool, Precision::kFloat).precision, Precision::kInt16);
}

}  // namespace
}  // namespace lq
