// From a float graph and a folder of .npy samples to the explicit int8 graph, and what it computes.
#include <gmock/gmock.h>

#include <fstream>

#include "quantization/quantizer_fixture.h"

namespace lq {
namespace {

using test::GraphMaker;
using ::testing::HasSubstr;

using test::conv;
using test::fingerprint;
using test::noise;
using test::small_net;

class QuantizerTest : public test::QuantizerFixture {};

TEST_F(QuantizerTest, TheExplicitGraph) {
  write_samples(20, {1, 3, 8, 8});
  GraphMaker m;
  small_net(m);
  const QuantizeReport report = quantized(m, options());
  EXPECT_EQ(report.samples_used, 20u);
  EXPECT_EQ(report.float_nodes, 1u);  // the pooling that makes the output
  const Graph& graph = m.graph();
  const auto producers = producers_of(graph);
  const auto made_by = [&](TensorId id) {
    return producers[size_t(id)] < 0 ? Op::Undefined : graph.nodes[size_t(producers[size_t(id)])].op;
  };
  for (const Node& node : graph.nodes) {
    if (node.op == Op::Conv) {
      for (TensorId id : node.inputs) EXPECT_EQ(made_by(id), Op::DequantizeLinear);
    }
    if (node.op != Op::QuantizeLinear) continue;
    EXPECT_TRUE(is_valid_params(*graph.tensor(node.outputs[0]).quant));
  }
  // MaxPool moves values: the same parameters before and behind it.
  const Tensor *before = m.tensor("relu_q"), *behind = m.tensor("pool_q");
  ASSERT_TRUE(before && behind);
  EXPECT_EQ(before->quant->scale, behind->quant->scale);
  EXPECT_EQ(before->quant->zero_point, behind->quant->zero_point);
  EXPECT_EQ(before->quant->zero_point[0], -128);  // behind a Relu all 256 steps are for [0, T]
  EXPECT_EQ(m.tensor("a_q"), nullptr);            // nothing between a product and its Relu
  EXPECT_EQ(m.tensor("c_q"), nullptr);            // the last product writes float
  EXPECT_GT(report.output_sqnr_db.value_or(0), 25);
  EXPECT_EQ(report.int8_mac_share.value_or(0), 1.0);
}

TEST_F(QuantizerTest, TheSameBytesForAnyThreadCount) {
  write_samples(9, {1, 3, 8, 8});
  GraphMaker one, three;
  small_net(one);
  small_net(three);
  const QuantizeReport a = quantized(one, options(1)), b = quantized(three, options(3));
  EXPECT_EQ(fingerprint(one.graph()), fingerprint(three.graph()));
  EXPECT_EQ(a.output_sqnr_db, b.output_sqnr_db);
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (size_t n = 0; n < a.nodes.size(); ++n) EXPECT_EQ(a.nodes[n].sqnr_db, b.nodes[n].sqnr_db);
}

TEST_F(QuantizerTest, SharedWeightsAndBiasAreQuantizedForEachInputScale) {
  write_samples(8, {1, 3, 8, 8});
  GraphMaker m;
  const TensorId x = m.input("x", {1, 3, 8, 8});
  const TensorId w = m.constant("w", {4, 3, 1, 1}, noise(12, 5)), b = m.constant("b", {4}, {1, -1, 0.5f, 0.25f});
  const TensorId twelve = m.node(Op::Mul, "x12", {x, m.scalar(12)});
  m.output(m.node(Op::Conv, "small", {x, w, b}));
  m.output(m.node(Op::Conv, "large", {twelve, w, b}));
  m.finish();
  const QuantizeReport report = quantized(m, options());
  const auto bias_of = [&](const char* name) {
    const Node& dq = m.graph().nodes[size_t(producers_of(m.graph())[size_t(m.find(name)->inputs[2])])];
    const Tensor& t = m.graph().tensor(dq.inputs[0]);
    return std::make_pair(t.data.as<int32_t>()[0], t.quant->scale[0]);
  };
  const auto [q_small, s_small] = bias_of("small");
  const auto [q_large, s_large] = bias_of("large");
  EXPECT_NEAR(double(q_small) * double(s_small), 1, 1e-3);
  EXPECT_NEAR(double(q_large) * double(s_large), 1, 1e-2);
  EXPECT_NEAR(double(s_large) / double(s_small), 12, 0.2);
  EXPECT_GT(report.output_sqnr_db.value_or(0), 30);
}

TEST_F(QuantizerTest, OneConcatFeedsTwoConvolutions) {
  write_samples(8, {1, 3, 8, 8});
  GraphMaker m;
  const TensorId x = m.input("x", {1, 3, 8, 8});
  const TensorId a = conv(m, "a", x, 3, 4, 1),
                 b = m.node(Op::Mul, "hundred", {conv(m, "b", x, 3, 4, 2), m.scalar(100)});
  schema::AxisAttrsT axis;
  axis.axis = 1;
  const TensorId cat = m.node(Op::Concat, "cat", {a, b}, axis);
  m.output(conv(m, "left", cat, 8, 4, 3));
  m.output(conv(m, "right", cat, 8, 4, 4));
  m.finish();
  const QuantizeReport report = quantized(m, options());
  EXPECT_GT(report.output_sqnr_db.value_or(0), 20);
  EXPECT_EQ(m.tensor("a_q")->quant->scale, m.tensor("cat_q")->quant->scale);
}

TEST_F(QuantizerTest, AnOutputThatOtherOperatorsReadKeepsItsName) {
  write_samples(8, {1, 3, 8, 8});
  GraphMaker m;
  const TensorId x = m.input("x", {1, 3, 8, 8});
  const TensorId act = m.node(Op::HardSwish, "middle", {conv(m, "a", x, 3, 4, 1)});
  m.output(act);
  m.output(conv(m, "end", act, 4, 4, 2));
  m.finish();
  quantized(m, options());
  EXPECT_EQ(m.graph().tensor(m.graph().outputs[0]).name, "middle");
  EXPECT_EQ(m.graph().tensor(m.graph().outputs[0]).dtype, DType::Float32);
}

TEST_F(QuantizerTest, GraphsWithCornersSurvive) {
  write_samples(4, {1, 3, 8, 8}, 0);  // blank samples
  GraphMaker m;
  const TensorId x = m.input("x", {1, 3, 8, 8});
  const TensorId w = m.constant("w", {2, 3, 1, 1}, std::vector<float>(6, 0));
  m.output(x);  // an output that is an input
  m.output(conv(m, "end", m.node(Op::Relu, "r", {m.node(Op::Conv, "dead", {x, w, m.constant("b", {2}, {-10, -10})})}),
                2, 3, 7));
  m.finish();
  const QuantizeReport report = quantized(m, options());
  for (const Tensor& t : m.graph().tensors) {
    EXPECT_TRUE(!t.quant || is_valid_params(*t.quant)) << t.name;
  }
  bool blank = false, dead = false;
  for (const auto& warning : report.warnings) {
    blank = blank || warning.message.find("blank") != std::string::npos;
    dead = dead || warning.message.find("dead output channels") != std::string::npos;
  }
  EXPECT_TRUE(blank);
  EXPECT_TRUE(dead);
}

TEST_F(QuantizerTest, FloatOnlyNeedsNoSamples) {
  GraphMaker m;
  small_net(m);
  QuantizeOptions o;
  o.float_only = true;
  const QuantizeReport report = quantized(m, o);
  EXPECT_EQ(report.int8_nodes, 0u);
  for (const Node& node : m.graph().nodes) EXPECT_NE(node.op, Op::QuantizeLinear);
}

TEST_F(QuantizerTest, ErrorsSayWhatToDo) {
  GraphMaker m;
  small_net(m);
  EXPECT_THAT(quantize(m.model, QuantizeOptions()).status().message(), HasSubstr("--calib"));
  EXPECT_FALSE(quantize(m.model, options()).ok());  // empty folder
  write_samples(2, {1, 3, 8, 8});
  QuantizeOptions o = options();
  o.skip = {"no such node"};
  EXPECT_THAT(quantize(m.model, o).status().message(), HasSubstr("no such node"));
  GraphMaker folded;
  const TensorId x = folded.input("x", {1, 3, 8, 8});
  folded.output(folded.node(Op::Add, "plus", {conv(folded, "a", x, 3, 4, 1), folded.scalar(1)}));
  folded.finish();
  o.skip = {"plus"};
  EXPECT_THAT(quantize(folded.model, o).status().message(), HasSubstr("folded"));
  o = options();
  o.weights = "per-row";
  EXPECT_THAT(quantize(m.model, o).status().message(), HasSubstr("per-row"));
  o = options();
  o.method = "magic";
  EXPECT_FALSE(quantize(m.model, o).ok());
}

TEST_F(QuantizerTest, ABrokenSampleIsSkippedAndReported) {
  write_samples(3, {1, 3, 8, 8});
  std::ofstream(folder_ / "broken.npy") << "not an array";
  GraphMaker m;
  small_net(m);
  const QuantizeReport report = quantized(m, options());
  EXPECT_EQ(report.samples_used, 3u);
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_THAT(report.skipped[0].name, HasSubstr("broken.npy"));
}

}  // namespace
}  // namespace lq
