// The plan file: read back it gives the same graph, edited it gives what was written, and mistakes are named.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "quantization/node_requests.h"
#include "quantization/quantizer_fixture.h"

namespace lq {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class PlanTest : public test::QuantizerFixture {
 protected:
  void SetUp() override {
    QuantizerFixture::SetUp();
    write_samples(20, {1, 3, 8, 8});
  }
  /// The plan of the small net with `o`, and the graph it belongs to.
  json plan_of(const QuantizeOptions& o) {
    test::small_net(made_);
    plan_text_ = quantized(made_, o).plan;
    return json::parse(plan_text_, nullptr, false);
  }
  QuantizeOptions with_plan(const std::string& text) {
    std::ofstream(folder_.string() + ".json") << text;
    QuantizeOptions o = options();
    o.plan = folder_.string() + ".json";
    return o;
  }
  std::string error_of(const json& plan) {
    test::GraphMaker m;
    test::small_net(m);
    return quantize(m.model, with_plan(plan.dump())).status().message();
  }
  static json* find(json& list, const std::string& key, const std::string& value) {
    for (json& item : list) {
      if (item[key] == value) return &item;
    }
    return nullptr;
  }

  test::GraphMaker made_;
  std::string plan_text_;
};

TEST_F(PlanTest, ReadBackItGivesTheSameGraphAndTheSamePlan) {
  for (const std::string method : {"kl", "minmax", "mse"}) {
    test::GraphMaker first, second;
    test::small_net(first), test::small_net(second);
    QuantizeOptions o = options();
    o.method = method;
    o.activation = "asymmetric";
    o.skip = {"^b$"};
    const QuantizeReport made = quantized(first, o);
    const QuantizeReport again = quantized(second, with_plan(made.plan));
    EXPECT_EQ(test::fingerprint(first.graph()), test::fingerprint(second.graph())) << method;
    EXPECT_EQ(made.plan, again.plan);
    EXPECT_EQ(made.options, again.options);
    EXPECT_THAT(again.options, HasSubstr("method=" + method));
  }
}

TEST_F(PlanTest, EditedRangesAndPrecisionsAreUsed) {
  json plan = plan_of(options());
  for (json& t : plan["tensors"]) {
    if (t["names"][0] == "relu") t["min"] = 0, t["max"] = 2.55, t["observed_max"] = 2.55;  // and pool
  }
  json* c = find(plan["nodes"], "output", "c");
  ASSERT_NE(c, nullptr);
  (*c)["precision"] = "float";
  (*c)["reason"] = "because";
  test::GraphMaker m;
  test::small_net(m);
  const QuantizeReport report = quantized(m, with_plan(plan.dump()));
  // One-sided: 255 steps from zero point −128 up to 2.55.
  EXPECT_FLOAT_EQ(m.tensor("relu_q")->quant->scale[0], 0.01f);
  EXPECT_EQ(m.tensor("relu_q")->quant->zero_point[0], -128);
  for (const auto& node : report.nodes) {
    if (node.output == "c") {
      EXPECT_EQ(node.precision + " " + node.reason, "float because");
    }
  }
}

TEST_F(PlanTest, ScaleAndZeroPointDecideWhenGiven) {
  json plan = plan_of(options());
  for (json& t : plan["tensors"]) {
    if (t["names"][0] == "relu") t = {{"names", {"relu"}}, {"scale", 0.5}, {"zero_point", -100}, {"qmin", -100}};
  }
  test::GraphMaker m;
  test::small_net(m);
  quantized(m, with_plan(plan.dump()));
  const QuantParams& q = *m.tensor("relu_q")->quant;
  EXPECT_EQ(q.scale[0], 0.5f);
  EXPECT_EQ(q.zero_point[0], -100);
  EXPECT_EQ(q.qmin, -100);
  EXPECT_EQ(q.qmax, 127);
}

TEST_F(PlanTest, MistakesAreNamed) {
  const json plan = plan_of(options());
  const auto with = [&](const std::string& pointer, const json& value) {
    json edited = plan;
    edited[json::json_pointer(pointer)] = value;
    return error_of(edited);
  };
  EXPECT_THAT(with("/format", "x"), HasSubstr("is no plan"));
  EXPECT_THAT(with("/version", 2), HasSubstr("version 2"));
  EXPECT_THAT(with("/speed", 1), HasSubstr("unknown key 'speed'"));
  EXPECT_THAT(with("/options/method", 3), HasSubstr("'method' is not a string"));
  EXPECT_THAT(with("/options/method", "magic"), HasSubstr("magic"));
  EXPECT_THAT(with("/nodes/0/precision", "int4"), HasSubstr("nodes[0]: 'precision' is not int8, int16 or float"));
  EXPECT_THAT(with("/tensors/0/type", "int4"), HasSubstr("tensors[0]: 'type' is not int8 or int16"));
  EXPECT_THAT(with("/nodes/0/output", "nobody"), HasSubstr("'nobody', which this model does not have"));
  EXPECT_THAT(with("/tensors/0/names/0", "nobody"), HasSubstr("'nobody', which this model does not have"));
  EXPECT_THAT(with("/tensors/0/min", "low"), HasSubstr("'min' is not a finite number"));
  EXPECT_THAT(with("/tensors/0/min", 1e9), HasSubstr("'min' is above max"));
  EXPECT_THAT(with("/tensors/0/scale", 0.5), HasSubstr("scale and zero_point together"));
  EXPECT_THAT(with("/nodes/-", plan["nodes"][0]), HasSubstr("listed twice"));
  json float_only = plan;
  (*find(float_only["nodes"], "output", "y"))["pinned"] = true;  // the last pooling: int8 on request
  (*find(float_only["nodes"], "output", "y"))["precision"] = "int8";
  EXPECT_EQ(error_of(float_only), "");
  test::GraphMaker m;
  test::small_net(m);
  EXPECT_THAT(quantize(m.model, with_plan("{")).status().message(), HasSubstr("is no JSON"));
}

TEST_F(PlanTest, PrecisionRulesApplyInOrderAndCanAskForInt8) {
  QuantizeOptions o = options();
  o.precision = {{"^[abc]$", "float"}, {"^b$", "int8"}, {"^y$", "int8"}};
  test::GraphMaker m;
  test::small_net(m);
  std::map<std::string, std::string> precision;
  const QuantizeReport report = quantized(m, o);
  for (const auto& node : report.nodes) precision[node.output] = node.precision;
  EXPECT_EQ(precision["a"], "float");
  EXPECT_EQ(precision["b"], "int8");
  EXPECT_EQ(precision["c"], "float");
  EXPECT_EQ(precision["y"], "int8");  // the rules alone leave the pooling before the output in float
  EXPECT_THAT(report.options, HasSubstr("precision=^b$=int8"));
}

TEST_F(PlanTest, PrecisionRulesThatCannotHoldAreErrors) {
  EXPECT_THAT(quantization::parse_precision_rule("a=int4").status().message(), HasSubstr("not int8, int16 or float"));
  EXPECT_THAT(quantization::parse_precision_rule("=float").status().message(), HasSubstr("REGEX=int8"));
  EXPECT_EQ(quantization::parse_precision_rule("a=b=float")->pattern, "a=b");
  test::GraphMaker m;
  m.output(m.node(Op::Exp, "e", {m.input("x", {1, 3, 8, 8})}));
  m.finish();
  QuantizeOptions o = options();
  o.precision = {{"e", "int8"}};
  EXPECT_THAT(quantize(m.model, o).status().message(), HasSubstr("can compute in int8"));
  o.precision = {{"e", "int16"}};
  EXPECT_THAT(quantize(m.model, o).status().message(), HasSubstr("can compute in int16 (Exp 'e': no int16 form)"));
  o.precision = {{"nobody", "float"}};
  EXPECT_THAT(quantize(m.model, o).status().message(), HasSubstr("--precision 'nobody' matches no node"));
}

}  // namespace
}  // namespace lq
