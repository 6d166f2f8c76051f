// Equalization: what becomes of ranges, and that the float model keeps every bit.
#include "quantization/equalization.h"

#include <cmath>
#include <cstring>

#include "quantization/quantizer_fixture.h"
#include "runtime/session.h"

namespace lq::quantization {
namespace {

using test::GraphMaker;

/// Weights whose output channel c is 4^±c times the first: what one scale for all cannot hold.
std::vector<float> uneven(int64_t out, int64_t each, uint32_t seed, int sign) {
  std::vector<float> w = test::noise(size_t(out * each), seed);
  for (size_t i = 0; i < w.size(); ++i) w[i] = std::ldexp(w[i], sign * 2 * int(i / size_t(each)));
  return w;
}

/// What the first makes large the second makes small, so that all three can be made even.
/// Conv -> activation -> depthwise Conv -> activation -> Conv.
void three_convolutions(GraphMaker& m, Op activation, float low = 0) {
  const auto act = [&](const std::string& name, TensorId x) {
    if (activation == Op::Relu) return m.node(Op::Relu, name, {x});
    return m.node(Op::Clip, name, {x, m.scalar(low), m.scalar(6)});
  };
  const TensorId x = m.input("x", {1, 2, 5, 5});
  const TensorId a =
      act("a_act",
          m.node(Op::Conv, "a",
                 {x, m.constant("a_w", {6, 2, 1, 1}, uneven(6, 2, 1, 1)), m.constant("a_b", {6}, test::noise(6, 2))},
                 schema::ConvAttrsT()));
  schema::ConvAttrsT depthwise;
  depthwise.groups = 6;
  depthwise.pads = {1, 1, 1, 1};
  const TensorId d =
      act("d_act", m.node(Op::Conv, "d", {a, m.constant("d_w", {6, 1, 3, 3}, uneven(6, 9, 3, -1))}, depthwise));
  m.output(m.node(Op::Conv, "y", {d, m.constant("y_w", {4, 6, 1, 1}, test::noise(24, 5))}, schema::ConvAttrsT()));
  m.finish();
}

std::vector<float> run(const ModelIr& ir, float scale) {
  auto model = Model::create(ir);
  EXPECT_TRUE(model.ok()) << model.status().message();
  auto session = Session::create(*model, SessionOptions());
  EXPECT_TRUE(session.ok()) << session.status().message();
  std::vector<float> x = test::noise(50, 77);
  for (float& v : x) v *= scale;
  std::memcpy((*session)->input_data(0), x.data(), x.size() * sizeof(float));
  EXPECT_TRUE((*session)->run().ok());
  const auto* y = static_cast<const float*>((*session)->output_data(0));
  return std::vector<float>(y, y + element_count((*session)->output(0).shape));
}

/// Largest over smallest of the output channels' largest weights.
double spread(const Graph& graph, const std::string& node_name) {
  double low = 1e30, high = 0;
  for (const Node& node : graph.nodes) {
    if (node.name != node_name) continue;
    const std::vector<float> w = *constant_floats(graph, node.inputs[1]);
    const size_t channels = size_t(graph.tensor(node.inputs[1]).shape[0]), each = w.size() / channels;
    for (size_t c = 0; c < channels; ++c) {
      double largest = 0;
      for (size_t i = 0; i < each; ++i) largest = std::max(largest, std::abs(double(w[c * each + i])));
      low = std::min(low, largest), high = std::max(high, largest);
    }
  }
  return high / low;
}

void expect_same_and_even(Op activation, size_t bounds) {
  GraphMaker m;
  three_convolutions(m, activation);
  const ModelIr before = m.model;
  EXPECT_GT(spread(before.main(), "a"), 200);
  const EqualizationReport report = equalize(m.graph());
  EXPECT_EQ(report.pairs, 2u);
  EXPECT_EQ(report.bounds, bounds);
  m.finish();
  EXPECT_LT(spread(m.graph(), "a"), 20);
  EXPECT_LT(spread(m.graph(), "d"), 20);
  for (float scale : {0.1f, 1.0f, 50.0f}) EXPECT_EQ(run(m.model, scale), run(before, scale)) << scale;
}

TEST(Equalization, ThroughRelu) { expect_same_and_even(Op::Relu, 0); }
TEST(Equalization, ThroughRelu6WithABoundForEachChannel) { expect_same_and_even(Op::Clip, 2); }

TEST(Equalization, LeavesOtherClipsAndSharedResultsAlone) {
  GraphMaker clipped;
  three_convolutions(clipped, Op::Clip, -1);
  EXPECT_EQ(equalize(clipped.graph()).pairs, 0u);

  GraphMaker shared;
  three_convolutions(shared, Op::Relu);
  for (size_t id = 0; id < shared.graph().tensors.size(); ++id) {
    if (shared.graph().tensors[id].name == "a_act" || shared.graph().tensors[id].name == "d_act")
      shared.output(TensorId(id));
  }
  EXPECT_EQ(equalize(shared.graph()).pairs, 0u);
}

}  // namespace
}  // namespace lq::quantization
