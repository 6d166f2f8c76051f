// The graph's own operations: order, dead parts, constants, text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph_builder.h"

namespace lq {
namespace {

using test::Builder;
using testing::HasSubstr;

TEST(Graph, SortKeepsAnOrderedGraphAndMendsAnother) {
  ModelIr model;
  Builder b(model);
  const TensorId x = b.input("x", {1});
  const TensorId y = b.tensor("y"), z = b.tensor("z"), w = b.tensor("w");
  b.node(Op::Exp, {y}, {z}).name = "second";
  b.node(Op::Neg, {x}, {y}).name = "first";
  b.node(Op::Abs, {x}, {w}).name = "free";
  ASSERT_TRUE(sort_topologically(b.graph()).ok());
  EXPECT_EQ(b.graph().nodes[0].name, "first");
  EXPECT_EQ(b.graph().nodes[1].name, "second");
  EXPECT_EQ(b.graph().nodes[2].name, "free");
  ASSERT_TRUE(sort_topologically(b.graph()).ok());
  EXPECT_EQ(b.graph().nodes[1].name, "second");
}

TEST(Graph, SortRefusesCyclesAndOrphans) {
  ModelIr model;
  Builder b(model);
  const TensorId p = b.tensor("p"), q = b.tensor("q");
  b.node(Op::Exp, {p}, {q}).name = "a";
  b.node(Op::Log, {q}, {p}).name = "b";
  EXPECT_THAT(sort_topologically(b.graph()).message(), HasSubstr("Exp 'a': part of a cycle"));
  EXPECT_EQ(b.graph().nodes.size(), 2u);
  b.graph().nodes.pop_back();
  EXPECT_THAT(sort_topologically(b.graph()).message(), HasSubstr("input 'p' is produced by no node"));
}

TEST(Graph, RemoveDeadRenumbers) {
  ModelIr model;
  Builder b(model);
  const TensorId unused = b.floats({1, 2});
  const TensorId x = b.input("x", {1});
  const TensorId dead = b.call(Op::Exp, {x});
  const TensorId y = b.call(Op::Neg, {x});
  b.call(Op::Log, {dead});
  b.graph().outputs = {y};
  EXPECT_EQ(consumers_of(b.graph())[size_t(x)].size(), 2u);
  EXPECT_EQ(producers_of(b.graph())[size_t(y)], 1);
  EXPECT_EQ(producers_of(b.graph())[size_t(unused)], -1);
  remove_dead(b.graph());
  ASSERT_EQ(b.graph().nodes.size(), 1u);
  EXPECT_EQ(b.graph().tensors.size(), 2u);
  EXPECT_EQ(b.graph().nodes[0].inputs[0], b.graph().inputs[0]);
  EXPECT_TRUE(is_graph_output(b.graph(), b.graph().nodes[0].outputs[0]));
  EXPECT_EQ(b.graph().tensor(b.graph().inputs[0]).name, "x");
}

TEST(Graph, ConstantsAndCounts) {
  ModelIr model;
  Builder b(model);
  const TensorId narrow = b.constant<int32_t>(DType::Int32, {2}, {-5, 7});
  EXPECT_EQ(constant_ints(b.graph(), narrow), (std::vector<int64_t>{-5, 7}));
  EXPECT_EQ(constant_floats(b.graph(), narrow), std::nullopt);
  EXPECT_EQ(constant_ints(b.graph(), kNoTensor), std::nullopt);
  b.graph().tensor(narrow).shape = {3};  // a lying shape is not read past the end
  EXPECT_EQ(constant_ints(b.graph(), narrow), std::nullopt);
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, -1}), -1);
  EXPECT_EQ(element_count({int64_t(1) << 40, int64_t(1) << 40}), -1);
  EXPECT_EQ(element_count({0, 5}), 0);
}

TEST(Graph, LabelsAndText) {
  ModelIr model;
  Builder b(model);
  const TensorId x = b.input("x", {1, -1});
  b.graph().outputs = {b.call(Op::Relu, {x})};
  EXPECT_EQ(node_label(b.graph(), b.graph().nodes[0]), "Relu #0 (-> 't1')");
  b.graph().nodes[0].name = "act";
  EXPECT_EQ(node_label(b.graph(), b.graph().nodes[0]), "Relu 'act'");
  EXPECT_THAT(to_string(b.graph()), HasSubstr("%1 't1' undefined[...] = Relu 'act' (%0 'x' float32[1,?])"));
  Node odd;
  odd.op = Op(9999);
  EXPECT_EQ(node_label(b.graph(), odd), "operator 9999");
}

}  // namespace
}  // namespace lq
