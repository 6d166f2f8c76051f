// Moves of channels in a row are one step, and what follows element by element is done on its pieces.
#include <algorithm>

#include "runtime/graphs.h"

namespace lq {
namespace {

using testing::get_output;
using testing::GraphBuilder;
using testing::make_model;
using testing::make_session;
using testing::set_input;

constexpr int64_t kChannels = 29, kPixels = 35;
const Shape kHalf = {2, kChannels, 5, 7}, kWhole = {2, 2 * kChannels, 5, 7};

TensorId pool(GraphBuilder& g, TensorId x, const Shape& shape) {  // of one pixel: only makes its tensors blocked
  const TensorId y = g.node(Op::MaxPool, {x}, shape);
  g.attrs<schema::PoolAttrsT>().kernel_shape = {1, 1};
  return y;
}

/// Two images, joined, shuffled in two groups, split; the first half with twice the scale from there on. Everything
/// between is int8 of scale 1, or float.
GraphBuilder shuffle_unit(bool quantized, bool whole_is_output) {
  GraphBuilder g;
  const auto q = [&](TensorId x, float scale = 1) { return quantized ? g.through_int8(x, scale, 3) : x; };
  std::vector<TensorId> halves;
  for (const char* name : {"a", "b"}) halves.push_back(q(pool(g, q(g.input(name, kHalf)), kHalf)));
  const TensorId joined = g.node(Op::Concat, halves, kWhole);
  g.attrs<schema::AxisAttrsT>().axis = 1;
  const Shape grouped = {2, 2, kChannels, 5, 7}, swapped = {2, kChannels, 2, 5, 7};
  const TensorId groups = g.node(Op::Reshape, {q(joined), g.ints("groups", grouped)}, grouped);
  const TensorId mixed = g.node(Op::Transpose, {q(groups)}, swapped);
  g.attrs<schema::TransposeAttrsT>().perm = {0, 2, 1, 3, 4};
  const TensorId whole = q(g.node(Op::Reshape, {q(mixed), g.ints("whole", kWhole)}, kWhole));
  const TensorId first = g.node(Op::Split, {whole}, kHalf), second = g.tensor("second", DType::Float32, kHalf);
  g.graph().nodes.back().outputs.push_back(second);
  g.attrs<schema::AxisAttrsT>().axis = 1;
  const TensorId wide = quantized ? q(q(first), 2) : g.node(Op::Relu, {first}, kHalf);
  g.output(quantized ? q(pool(g, wide, kHalf), 2) : pool(g, wide, kHalf));
  g.output(q(pool(g, q(second), kHalf)));
  if (whole_is_output) g.output(whole);
  return g;
}

/// Even and at least 0: Requantize to scale 2 and Relu leave them as they are.
std::vector<float> values(int seed) {
  std::vector<float> v;
  for (int64_t i = 0; i < 2 * kChannels * kPixels; ++i) v.push_back(float((i * 37 + seed) % 60 * 2));
  return v;
}

/// Channel c of the shuffled whole is channel c / 2 of a or of b.
std::vector<float> expected_half(const std::vector<float>& a, const std::vector<float>& b, int64_t half) {
  std::vector<float> y;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t c = half * kChannels; c < (half + 1) * kChannels; ++c) {
      const auto from = (c % 2 == 0 ? a : b).begin() + (n * kChannels + c / 2) * kPixels;
      y.insert(y.end(), from, from + kPixels);
    }
  }
  return y;
}

int count(const Session& session, Op op) {
  return int(std::count_if(session.steps().begin(), session.steps().end(), [&](const Step& s) { return s.op == op; }));
}

TEST(JoinMoves, ConcatShuffleAndSplitAreOneStep) {
  for (const bool quantized : {false, true}) {
    for (const bool whole_is_output : {false, true}) {
      SessionOptions options;
      options.threads = whole_is_output ? 3 : 1;
      const auto session = make_session(make_model(shuffle_unit(quantized, whole_is_output).model), options);
      ASSERT_TRUE(session);
      EXPECT_EQ(count(*session, Op::Concat), 0);
      EXPECT_EQ(count(*session, Op::Gather), whole_is_output ? 1 : 0);
      EXPECT_EQ(count(*session, Op::Transpose), 0);
      for (const Step& step : session->steps()) {
        if (step.op != Op::Split) continue;
        EXPECT_EQ(step.detail.find("with Gather with Concat") == 0, !whole_is_output) << step.detail;
        EXPECT_EQ(step.fused.size(), 1u);  // the Requantize, or the float Relu
      }
      std::vector<float> a = values(1), b = values(2);
      if (!quantized) a[5] = b[6] = -4.0f;
      set_input(*session, 0, a);
      set_input(*session, 1, b);
      if (!quantized) a[5] = b[6] = 0.0f;  // channel 0 of both: the Relu
      for (int run = 0; run < 2; ++run) {
        ASSERT_TRUE(session->run().ok());
        EXPECT_EQ(get_output<float>(*session, 0), expected_half(a, b, 0));
        EXPECT_EQ(get_output<float>(*session, 1), expected_half(a, b, 1));
      }
    }
  }
}

}  // namespace
}  // namespace lq
