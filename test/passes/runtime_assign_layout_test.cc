#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/passes.h"
#include "passes/runtime_graphs.h"

namespace lq {
namespace {

using ::testing::ElementsAre;
using testing::GraphBuilder;
using testing::ops_of;

const Shape kImage = {1, 2, 4, 4};
constexpr auto kToBlocked = Op::LayoutToBlocked;
constexpr auto kToLinear = Op::LayoutToLinear;

TensorId conv(GraphBuilder& g, TensorId x) {
  return g.node(Op::Conv, {x, g.floats(std::string("w").append(std::to_string(x)), {2, 2, 1, 1}, {1, 2, 3, 4})},
                kImage);
}

/// Every reader gets the layout its rule wants, graph inputs and outputs are linear.
void check(const Graph& graph) {
  for (TensorId id : graph.inputs) EXPECT_EQ(graph.tensor(id).blocked_axis, -1);
  for (TensorId id : graph.outputs) EXPECT_EQ(graph.tensor(id).blocked_axis, -1);
  for (const Node& node : graph.nodes) {
    const int in = graph.tensor(node.inputs[0]).blocked_axis, out = graph.tensor(node.outputs[0]).blocked_axis;
    if (node.op == kToBlocked) {
      EXPECT_TRUE(in == -1 && out == 1);
    } else if (node.op == kToLinear) {
      EXPECT_TRUE(in == 1 && out == -1);
    } else {
      EXPECT_EQ(in, out);
    }
  }
  ModelIr copy;
  copy.graphs.push_back(graph);
  EXPECT_TRUE(sort_topologically(copy.main()).ok());
}

TEST(AssignLayout, ChainOfConvsConvertsOnceAtEachEnd) {
  GraphBuilder g;
  const TensorId a = conv(g, g.input("x", kImage));
  const TensorId b = conv(g, g.node(Op::Relu, {a}, kImage));
  g.output(b);
  g.graph().tensor(b).name = "result";
  ASSERT_TRUE(passes::assign_layout(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(kToBlocked, Op::Conv, Op::Relu, Op::Conv, kToLinear));
  EXPECT_EQ(g.graph().tensor(g.graph().outputs[0]).name, "result");
  check(g.graph());
}

TEST(AssignLayout, ConversionsAreShared) {
  GraphBuilder g;
  const TensorId x = g.input("x", kImage);
  const TensorId a = conv(g, x), b = conv(g, x);
  const TensorId sum = g.node(Op::Add, {a, b}, kImage);
  g.output(g.node(Op::Softmax, {sum}, kImage));
  g.output(g.node(Op::Softmax, {sum}, kImage));
  g.output(sum);
  ASSERT_TRUE(passes::assign_layout(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()),
              ElementsAre(kToBlocked, Op::Conv, Op::Conv, Op::Add, kToLinear, Op::Softmax, Op::Softmax));
  check(g.graph());
}

/// Channels are joined in blocked layout whatever their number, rows too.
TEST(AssignLayout, ConcatOfChannelsAndRows) {
  const auto ops = [](int64_t channels, int64_t axis, const Shape& joined) {
    GraphBuilder g;
    const Shape wide = {1, channels, 4, 4};
    const auto wide_conv = [&](const std::string& name) {
      const std::vector<float> w(size_t(channels) * 2, 1.0f);
      return g.node(Op::Conv, {g.input(name, kImage), g.floats("w" + name, {channels, 2, 1, 1}, w)}, wide);
    };
    const TensorId y = g.node(Op::Concat, {wide_conv("a"), wide_conv("b")}, joined);
    g.attrs<schema::AxisAttrsT>().axis = axis;
    g.output(g.node(Op::MaxPool, {y}, joined));
    EXPECT_TRUE(passes::assign_layout(g.model).ok());
    check(g.graph());
    return ops_of(g.graph());
  };
  const auto blocked = ElementsAre(kToBlocked, Op::Conv, kToBlocked, Op::Conv, Op::Concat, Op::MaxPool, kToLinear);
  EXPECT_THAT(ops(8, 1, {1, 16, 4, 4}), blocked);
  EXPECT_THAT(ops(2, 1, {1, 4, 4, 4}), blocked);
  EXPECT_THAT(ops(2, 2, {1, 2, 8, 4}), blocked);
}

/// The operators between a convolution of 8 channels and a pool, where `make` gives the operator under test.
template <typename F>
std::vector<Op> around(const Shape& shape, F make) {
  GraphBuilder g;
  const TensorId x =
      g.node(Op::Conv, {g.input("x", kImage), g.floats("w", {8, 2, 1, 1}, std::vector<float>(16, 1.0f))}, {1, 8, 4, 4});
  g.output(g.node(Op::MaxPool, {make(g, x)}, shape));
  EXPECT_TRUE(passes::assign_layout(g.model).ok());
  check(g.graph());
  const std::vector<Op> ops = ops_of(g.graph());
  return std::vector<Op>(ops.begin() + 2, ops.end() - 2);
}

TEST(AssignLayout, SlicesOfChannelsOrOfPixels) {
  const auto slice = [](const std::vector<int64_t>& axes, const Shape& shape) {
    return around(shape, [&](GraphBuilder& g, TensorId x) {
      const std::vector<int64_t> starts(axes.size(), 1), ends(axes.size(), 100);
      return g.node(Op::Slice, {x, g.ints("s", starts), g.ints("e", ends), g.ints("a", axes)}, shape);
    });
  };
  EXPECT_THAT(slice({1}, {1, 7, 4, 4}), ElementsAre(Op::Slice));
  EXPECT_THAT(slice({-1, 2}, {1, 8, 3, 3}), ElementsAre(Op::Slice));
  EXPECT_THAT(slice({-3, 2}, {1, 7, 3, 4}), ElementsAre(kToLinear, Op::Slice, kToBlocked));
}

TEST(AssignLayout, PadAndResizeOfPixels) {
  const auto pad = [](const std::vector<int64_t>& pads, const Shape& shape) {
    return around(shape, [&](GraphBuilder& g, TensorId x) { return g.node(Op::Pad, {x, g.ints("p", pads)}, shape); });
  };
  EXPECT_THAT(pad({0, 0, 1, 0, 0, 0, 0, 2}, {1, 8, 5, 6}), ElementsAre(Op::Pad));
  EXPECT_THAT(pad({0, 1, 0, 0, 0, 0, 0, 0}, {1, 9, 4, 4}), ElementsAre(kToLinear, Op::Pad, kToBlocked));
  EXPECT_THAT(pad({0, 1, 0, 0, 0, -1, 0, 0}, {1, 8, 4, 4}), ElementsAre(kToLinear, Op::Pad, kToBlocked));
  const auto resize = [](const std::vector<float>& scales, const Shape& shape) {
    return around(shape, [&](GraphBuilder& g, TensorId x) {
      return g.node(Op::Resize, {x, g.floats("scales", {4}, scales)}, shape);
    });
  };
  EXPECT_THAT(resize({1, 1, 2, 2}, {1, 8, 8, 8}), ElementsAre(Op::Resize));
  EXPECT_THAT(resize({1, 2, 1, 1}, {1, 16, 4, 4}), ElementsAre(kToLinear, Op::Resize, kToBlocked));
}

/// Gather with indices of a model's input may be anything; constant ones of one axis are channels in another order.
TEST(AssignLayout, GatherOfChannels) {
  const auto gather = [](int64_t axis, bool constant) {
    return around({1, 8, 4, 4}, [&](GraphBuilder& g, TensorId x) {
      const TensorId indices = constant ? g.ints("i", std::vector<int64_t>(axis == 1 ? 8 : 4, 3))
                                        : g.input("i", {axis == 1 ? 8 : 4}, DType::Int64);
      const TensorId y = g.node(Op::Gather, {x, indices}, {1, 8, 4, 4});
      g.attrs<schema::AxisAttrsT>().axis = axis;
      return y;
    });
  };
  EXPECT_THAT(gather(1, true), ElementsAre(Op::Gather));
  EXPECT_THAT(gather(2, true), ElementsAre(kToLinear, Op::Gather, kToBlocked));
  EXPECT_THAT(gather(1, false), ElementsAre(kToLinear, Op::Gather, kToBlocked));
}

/// int8 means over all pixels read blocks; float ones, and means over other axes, read rows.
TEST(AssignLayout, MeansOverPixels) {
  const auto ops = [](const std::vector<int64_t>& axes, bool keepdims, const Shape& shape, DType dtype) {
    GraphBuilder g;
    const TensorId x = g.node(Op::MaxPool, {g.input("x", kImage, dtype)}, kImage, dtype);
    const TensorId y = g.node(Op::ReduceMean, {x, g.ints("axes", axes)}, shape, dtype);
    g.attrs<schema::ReduceAttrsT>().keepdims = keepdims;
    for (TensorId id : {x, y}) {
      if (dtype == DType::Int8) g.graph().tensor(id).quant = per_tensor_params(dtype, 1, 0);
    }
    g.output(y);
    EXPECT_TRUE(passes::assign_layout(g.model).ok());
    EXPECT_EQ(g.graph().tensor(g.graph().outputs[0]).blocked_axis, -1);
    return ops_of(g.graph());
  };
  EXPECT_THAT(ops({2, -1}, false, {1, 2}, DType::Int8), ElementsAre(kToBlocked, Op::MaxPool, Op::ReduceMean));
  EXPECT_THAT(ops({-2, 3}, true, {1, 2, 1, 1}, DType::Int8),
              ElementsAre(kToBlocked, Op::MaxPool, Op::ReduceMean, kToLinear));
  const auto linear = ElementsAre(kToBlocked, Op::MaxPool, kToLinear, Op::ReduceMean);
  EXPECT_THAT(ops({1, 2}, false, {1, 4}, DType::Int8), linear);
  EXPECT_THAT(ops({2}, true, {1, 2, 1, 4}, DType::Int8), linear);
  EXPECT_THAT(ops({2, 3}, false, {1, 2}, DType::Float32), linear);
}

/// Bytes that a file only calls values of another zero point: lanes behind the last channel would be wrong.
TEST(AssignLayout, MovesBetweenZeroPointsStayLinear) {
  for (const int zero_point : {0, 3}) {
    GraphBuilder g;
    const Shape shape = {1, 6, 4, 4}, joined = {1, 12, 4, 4};
    std::vector<TensorId> ids;
    for (const char* name : {"a", "b"})
      ids.push_back(g.node(Op::MaxPool, {g.input(name, shape, DType::Int8)}, shape, DType::Int8));
    ids.push_back(g.node(Op::Concat, {ids[0], ids[1]}, joined, DType::Int8));
    g.attrs<schema::AxisAttrsT>().axis = 1;
    for (TensorId id : ids)
      g.graph().tensor(id).quant = per_tensor_params(DType::Int8, 1, id == ids[1] ? zero_point : 0);
    g.output(ids[2]);
    ASSERT_TRUE(passes::assign_layout(g.model).ok());
    const Node* concat = testing::find_node(g.graph(), Op::Concat);
    for (TensorId id : concat->inputs) EXPECT_EQ(g.graph().tensor(id).blocked_axis, zero_point == 0 ? 1 : -1);
  }
}

/// Blocks of one channel would be seven eighths padding.
TEST(AssignLayout, SplitIntoFewChannelsStaysLinear) {
  for (const int64_t each : {4, 2}) {
    GraphBuilder g;
    const Shape shape = {1, each, 4, 4};
    const std::vector<float> w(size_t(4 * each), 1.0f);
    const TensorId x =
        g.node(Op::Conv, {g.input("x", kImage), g.floats("w", {2 * each, 2, 1, 1}, w)}, {1, 2 * each, 4, 4});
    const TensorId a = g.node(Op::Split, {x}, shape);
    g.attrs<schema::AxisAttrsT>().axis = 1;
    const TensorId b = g.tensor("b", DType::Float32, shape);
    g.graph().nodes.back().outputs.push_back(b);
    g.output(g.node(Op::MaxPool, {a}, shape));
    g.output(g.node(Op::MaxPool, {b}, shape));
    ASSERT_TRUE(passes::assign_layout(g.model).ok());
    check(g.graph());
    if (each == 4) {
      EXPECT_THAT(ops_of(g.graph()),
                  ElementsAre(kToBlocked, Op::Conv, Op::Split, Op::MaxPool, Op::MaxPool, kToLinear, kToLinear));
    } else {
      EXPECT_EQ(ops_of(g.graph())[2], kToLinear);
    }
  }
}

TEST(AssignLayout, ElementwiseWithoutBlockedInputStaysLinear) {
  GraphBuilder g;
  const TensorId x = g.input("x", kImage);
  g.output(g.node(Op::Relu, {g.node(Op::Add, {x, x}, kImage)}, kImage));
  ASSERT_TRUE(passes::assign_layout(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(Op::Add, Op::Relu));
}

TEST(AssignLayout, SkipConnectionFromTheInputIsConverted) {
  GraphBuilder g;
  const TensorId x = g.input("x", kImage);
  g.output(g.node(Op::Add, {conv(g, x), x}, kImage));
  ASSERT_TRUE(passes::assign_layout(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(kToBlocked, Op::Conv, Op::Add, kToLinear));
  check(g.graph());
}

TEST(AssignLayout, ConstantOperandsByShape) {
  const struct {
    Shape shape;
    bool blocked;
  } cases[] = {
      {{}, true},   {{1}, true},     {{2, 1, 1}, true},     {{1, 2, 1, 1}, true}, {{1, 2, 4, 4}, false},
      {{4}, false}, {{4, 1}, false}, {{1, 1, 4, 4}, false},
  };
  for (const auto& c : cases) {
    GraphBuilder g;
    const TensorId k = g.floats("k", c.shape, std::vector<float>(size_t(element_count(c.shape)), 1.0f));
    const TensorId y = g.node(Op::Mul, {conv(g, g.input("x", kImage)), k}, kImage);
    g.output(y);
    ASSERT_TRUE(passes::assign_layout(g.model).ok());
    check(g.graph());
    const Node* mul = testing::find_node(g.graph(), Op::Mul);
    EXPECT_EQ(g.graph().tensor(mul->inputs[0]).blocked_axis == 1, c.blocked) << shape_string(c.shape);
    EXPECT_EQ(g.graph().tensor(mul->inputs[1]).blocked_axis, -1);  // constants stay linear
  }
}

// Squeeze-and-excitation: [N,C,1,1] times the image, both blocked. [N,1,H,W] forbids it.
TEST(AssignLayout, BroadcastActivations) {
  GraphBuilder g;
  const TensorId image = conv(g, g.input("x", kImage));
  const TensorId gate = g.node(Op::GlobalAveragePool, {image}, {1, 2, 1, 1});
  g.output(g.node(Op::Mul, {image, gate}, kImage));
  ASSERT_TRUE(passes::assign_layout(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(kToBlocked, Op::Conv, Op::GlobalAveragePool, Op::Mul, kToLinear));
  check(g.graph());

  GraphBuilder h;
  const TensorId y = h.node(Op::Mul, {conv(h, h.input("x", kImage)), h.input("mask", {1, 1, 4, 4})}, kImage);
  h.output(y);
  ASSERT_TRUE(passes::assign_layout(h.model).ok());
  EXPECT_THAT(ops_of(h.graph()), ElementsAre(kToBlocked, Op::Conv, kToLinear, Op::Mul));
}

TEST(AssignLayout, MaxPoolIndicesAndRank2StayLinear) {
  GraphBuilder g;
  const TensorId y = g.node(Op::MaxPool, {g.input("x", kImage)}, {1, 2, 2, 2});
  g.attrs<schema::PoolAttrsT>().kernel_shape = {2, 2};
  const TensorId indices = g.tensor("indices", DType::Int64, {1, 2, 2, 2});
  g.graph().nodes.back().outputs.push_back(indices);
  g.output(y);
  g.output(indices);
  ASSERT_TRUE(passes::assign_layout(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(kToBlocked, Op::MaxPool, kToLinear));
  EXPECT_EQ(g.graph().tensor(g.graph().nodes[1].outputs[1]).blocked_axis, -1);
}

TEST(AssignLayout, IntegerTensorsStayLinear) {
  GraphBuilder g;
  const TensorId c = conv(g, g.input("x", kImage));
  g.output(g.node(Op::Cast, {c}, kImage, DType::Int64));
  ASSERT_TRUE(passes::assign_layout(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(kToBlocked, Op::Conv, kToLinear, Op::Cast));
}

TEST(AssignLayout, ConstantDataInputOfAConvolution) {
  GraphBuilder g;
  g.output(conv(g, g.floats("x", kImage, std::vector<float>(32, 1.0f))));
  ASSERT_TRUE(passes::assign_layout(g.model).ok());
  EXPECT_THAT(ops_of(g.graph()), ElementsAre(kToBlocked, Op::Conv, kToLinear));
  check(g.graph());
}

// x -> Q -> int8 Conv -> DQ -> output: both ends convert values and layout at once. A conversion someone else reads
// stays.
TEST(AssignLayout, QuantizeAndDequantizeChangeLayoutThemselves) {
  for (const bool shared : {false, true}) {
    GraphBuilder g;
    const TensorId q = g.quantize(g.input("x", kImage), per_tensor_params(DType::Int8, 1, 0));
    const TensorId y = g.node(Op::Conv, {q, g.floats("w", {2, 2, 1, 1}, {1, 2, 3, 4})}, kImage, DType::Int8);
    g.graph().tensor(y).quant = per_tensor_params(DType::Int8, 1, 0);
    g.output(g.dequantize(y));
    if (shared) g.output(q);
    ASSERT_TRUE(passes::assign_layout(g.model).ok());
    const Graph& graph = g.graph();
    if (shared) {
      EXPECT_THAT(ops_of(graph), ElementsAre(Op::QuantizeLinear, kToBlocked, Op::Conv, Op::DequantizeLinear));
    } else {
      EXPECT_THAT(ops_of(graph), ElementsAre(Op::QuantizeLinear, Op::Conv, Op::DequantizeLinear));
      EXPECT_EQ(graph.tensor(graph.nodes[0].outputs[0]).blocked_axis, 1);
    }
    EXPECT_EQ(graph.tensor(graph.outputs[0]).blocked_axis, -1);
    EXPECT_EQ(graph.tensor(graph.outputs[0]).dtype, DType::Float32);
    ModelIr copy = g.model;
    EXPECT_TRUE(sort_topologically(copy.main()).ok());
  }
}

}  // namespace
}  // namespace lq
