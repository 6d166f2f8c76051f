// What a file leaves out is exactly what its reader puts back, and only that.
#include "format/compact.h"

#include <gtest/gtest.h>

#include <cmath>

#include "format/sample_model.h"
#include "passes/runtime_graphs.h"

namespace lq {
namespace {

using namespace lq::test;
using testing::find_node;
using testing::GraphBuilder;
using testing::ops_of;

constexpr float kInputScale = 0.5f, kWeightScales[] = {0.25f, 0.125f};
const std::vector<float> kBiasScales = {0.125f, 0.0625f};  // 0.5 · 0.25, 0.5 · 0.125: exact

/// Quantize -> Gemm with bias -> Relu -> Quantize -> Softmax, as the toolchain writes it.
struct Net : GraphBuilder {
  explicit Net(std::vector<float> bias_scales = kBiasScales) {
    x = input("x", {1, 4});
    const TensorId q = through_int8(x, kInputScale, 3);
    const TensorId w = weights("w", {4, 2}, {1, -2, 3, -4, 5, -6, 7, -8}, {kWeightScales[0], kWeightScales[1]}, 1);
    const TensorId gemm = node(Op::Gemm, {q, w, bias("b", {100, -200}, std::move(bias_scales))}, {1, 2});
    relu = node(Op::Relu, {gemm}, {1, 2});
    y = through_int8(relu, 0.25f, -128);
  }
  void finish() { output(node(Op::Softmax, {y}, {1, 2})); }
  /// What is left once compacted; the graph itself stays.
  Graph stored() const {
    Graph copy = model.main();
    compact(copy);
    return copy;
  }
  void expect_round_trip() {
    Graph copy = stored();
    expand(copy);
    expect_same(model.main(), copy);
    ModelIr back;
    back.graphs.push_back(copy);
    EXPECT_TRUE(verify(back).ok()) << verify(back).message();
    const std::string file = bytes_of(model);
    const Result<ModelIr> read = read_string(file);
    ASSERT_TRUE(read.ok()) << read.status().message();
    expect_same(model.main(), read->main());
    EXPECT_EQ(file, bytes_of(*read));
  }
  TensorId x, relu, y;
};

const Tensor& named(const Graph& graph, const std::string& name) {
  for (const Tensor& t : graph.tensors) {
    if (t.name == name) return t;
  }
  std::abort();
}

TEST(Compact, UsualPlacesTakeNoNodes) {
  Net net;
  net.finish();
  const Graph stored = net.stored();
  EXPECT_EQ(ops_of(stored), (std::vector<Op>{Op::Gemm, Op::Relu, Op::Softmax}));
  EXPECT_EQ(stored.tensors.size(), 6u);  // x, w, b and three results
  EXPECT_FALSE(named(stored, "b").quant);
  ASSERT_TRUE(named(stored, "x").quant);
  EXPECT_EQ(named(stored, "x").dtype, DType::Float32);
  EXPECT_EQ(named(stored, "x").quant->scale, std::vector<float>{kInputScale});
  net.expect_round_trip();
}

TEST(Compact, ExpandedTensorsAreNamedAfterTheirSource) {
  Net net;
  net.finish();
  Graph copy = net.stored();
  expand(copy);
  EXPECT_EQ(copy.tensor(find_node(copy, Op::QuantizeLinear)->outputs[0]).name, "x_q");
  EXPECT_EQ(copy.tensor(find_node(copy, Op::Gemm)->inputs[0]).name, "x_dq");
  EXPECT_EQ(copy.tensor(find_node(copy, Op::Gemm)->inputs[1]).name, "w_dq");
}

TEST(Compact, BiasScaleOffByOneBitIsWritten) {
  Net net({kBiasScales[0], std::nextafter(kBiasScales[1], 1.0f)});
  net.finish();
  ASSERT_TRUE(named(net.stored(), "b").quant);
  net.expect_round_trip();
}

TEST(Compact, BiasOfTwoProductsIsWritten) {
  Net net;
  const Node gemm = *find_node(net.graph(), Op::Gemm);
  net.output(net.node(Op::Gemm, {net.y, net.weights("w2", {2, 2}, {1, 2, 3, 4}, {1, 1}, 1), gemm.inputs[2]}, {1, 2}));
  net.finish();
  ASSERT_TRUE(named(net.stored(), "b").quant);
  net.expect_round_trip();
}

TEST(Compact, ValueReadAsFloatTooKeepsItsQuantize) {
  Net net;
  net.output(net.node(Op::Sigmoid, {net.relu}, {1, 2}));
  net.finish();
  EXPECT_EQ(ops_of(net.stored()), (std::vector<Op>{Op::Gemm, Op::Relu, Op::QuantizeLinear, Op::Sigmoid, Op::Softmax}));
  net.expect_round_trip();
}

TEST(Compact, FloatOutputThatIsQuantizedForOthersToo) {
  Net net;
  net.output(net.relu);
  net.finish();
  EXPECT_EQ(ops_of(net.stored()), (std::vector<Op>{Op::Gemm, Op::Relu, Op::Softmax}));
  net.expect_round_trip();
}

TEST(Compact, DequantizedOutputKeepsItsNodes) {
  Net net;
  net.output(net.y);
  net.finish();
  EXPECT_EQ(ops_of(net.stored()),
            (std::vector<Op>{Op::Gemm, Op::Relu, Op::QuantizeLinear, Op::DequantizeLinear, Op::Softmax}));
  net.expect_round_trip();
}

TEST(Compact, ManyReadersOfOneDequantize) {
  Net net;
  net.output(net.node(Op::Sigmoid, {net.y}, {1, 2}));
  net.output(net.node(Op::Add, {net.y, net.y}, {1, 2}));
  net.finish();
  EXPECT_EQ(ops_of(net.stored()), (std::vector<Op>{Op::Gemm, Op::Relu, Op::Sigmoid, Op::Add, Op::Softmax}));
  net.expect_round_trip();
}

TEST(Compact, TwoDequantizesOfOneTensorStay) {
  Net net;
  const TensorId q = net.graph().nodes.back().inputs[0];
  net.output(net.node(Op::Sigmoid, {net.dequantize(q)}, {1, 2}));
  net.finish();
  EXPECT_EQ(ops_of(net.stored()), (std::vector<Op>{Op::Gemm, Op::Relu, Op::QuantizeLinear, Op::DequantizeLinear,
                                                   Op::DequantizeLinear, Op::Sigmoid, Op::Softmax}));
  net.expect_round_trip();
}

/// Requantization: Dequantize straight into another Quantize.
TEST(Compact, ChainOfQuantizations) {
  Net net;
  net.y = net.through_int8(net.y, 0.5f, 0);
  net.finish();
  EXPECT_EQ(ops_of(net.stored()), (std::vector<Op>{Op::Gemm, Op::Relu, Op::QuantizeLinear, Op::Softmax}));
  net.expect_round_trip();
}

/// An If may take quantized tensors, so there a tensor is what it says.
TEST(Compact, WhatAnIfCapturesKeepsItsDequantize) {
  Net net;
  const TensorId flag = net.input("flag", {}, DType::Bool);
  net.output(net.node(Op::If, {flag, net.y}, {1, 2}));
  net.graph().nodes.back().subgraphs = {1, 2};
  net.finish();
  for (const Op op : {Op::Add, Op::Mul}) {
    GraphBuilder g;
    const TensorId in = g.input("in", {1, 2});
    g.output(g.node(op, {in, in}, {1, 2}));
    net.model.graphs.push_back(std::move(g.model.graphs[0]));
  }
  EXPECT_NE(find_node(net.stored(), Op::DequantizeLinear), nullptr);
  const Result<ModelIr> back = read_string(bytes_of(net.model));
  ASSERT_TRUE(back.ok()) << back.status().message();
  for (size_t g = 0; g < 3; ++g) expect_same(net.model.graphs[g], back->graphs[g]);
}

/// Ids and operators of a file are anything before verify(): expanding must not look behind them.
TEST(Compact, ExpandStandsHostileIds) {
  Net net;
  net.finish();
  Graph graph = net.stored();
  for (Node& node : graph.nodes) {
    node.inputs.insert(node.inputs.end(), {-7, 100000, INT32_MAX, INT32_MIN});
    node.outputs.insert(node.outputs.end(), {-7, 100000, graph.inputs[0]});
  }
  graph.inputs.push_back(-5);
  graph.inputs.push_back(graph.inputs[0]);
  graph.inputs.push_back(1 << 30);
  for (Tensor& t : graph.tensors) t.quant = named(graph, "x").quant;
  expand(graph);
  ModelIr model;
  model.graphs.push_back(std::move(graph));
  EXPECT_FALSE(verify(model).ok());
}

}  // namespace
}  // namespace lq
