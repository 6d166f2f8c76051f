// Spelled-out activations and LayerNormalization, in the spellings exporters really write.
#include <gmock/gmock.h>

#include <cmath>

#include "passes/passes.h"
#include "passes/toolchain_graph.h"

namespace lq {
namespace {

using test::GraphMaker;
using ::testing::ElementsAre;

std::vector<std::string> fused(GraphMaker& m, TensorId y) {
  m.output(y);
  m.finish();
  EXPECT_TRUE(passes::fuse_float_patterns(m.model).ok());
  const Status status = infer_shapes(m.model, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  return m.ops();
}

TEST(FuseFloatPatterns, SiluInEitherOrder) {
  for (const bool swap : {false, true}) {
    GraphMaker m;
    const TensorId x = m.input("x", {1, 4}), s = m.node(Op::Sigmoid, "s", {x});
    EXPECT_THAT(fused(m, m.node(Op::Mul, "y", swap ? std::vector<TensorId>{s, x} : std::vector<TensorId>{x, s})),
                ElementsAre("Silu"));
  }
}

TEST(FuseFloatPatterns, SigmoidOfSomethingElseIsNoSilu) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 4}), z = m.input("z", {1, 4});
  EXPECT_THAT(fused(m, m.node(Op::Mul, "y", {x, m.node(Op::Sigmoid, "s", {z})})), ElementsAre("Sigmoid", "Mul"));
}

TEST(FuseFloatPatterns, HardSwishFromClip) {
  GraphMaker m;  // PaddleOCR's spelling: x·Clip(x + 3, 0, 6) / 6
  const TensorId x = m.input("x", {1, 4});
  const TensorId clip = m.node(Op::Clip, "clip", {m.node(Op::Add, "add", {x, m.scalar(3)}), m.scalar(0), m.scalar(6)});
  EXPECT_THAT(fused(m, m.node(Op::Div, "y", {m.node(Op::Mul, "mul", {x, clip}), m.scalar(6)})),
              ElementsAre("HardSwish"));
}

TEST(FuseFloatPatterns, HardSwishFromHardSigmoid) {
  GraphMaker m;  // PyTorch's spelling
  const TensorId x = m.input("x", {1, 4});
  schema::ActivationAttrsT attrs;
  attrs.alpha = 1.0f / 6;
  attrs.beta = 0.5f;
  EXPECT_THAT(fused(m, m.node(Op::Mul, "y", {x, m.node(Op::HardSigmoid, "h", {x}, attrs)})), ElementsAre("HardSwish"));
}

TEST(FuseFloatPatterns, HardSigmoidOfAnotherSlopeIsNoHardSwish) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 4});
  schema::ActivationAttrsT attrs;
  attrs.alpha = 0.2f;
  attrs.beta = 0.5f;
  EXPECT_THAT(fused(m, m.node(Op::Mul, "y", {x, m.node(Op::HardSigmoid, "h", {x}, attrs)})),
              ElementsAre("HardSigmoid", "Mul"));
}

TEST(FuseFloatPatterns, HardSigmoidFromClip) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 4});
  const TensorId clip = m.node(Op::Clip, "clip", {m.node(Op::Add, "add", {x, m.scalar(3)}), m.scalar(0), m.scalar(6)});
  EXPECT_THAT(fused(m, m.node(Op::Mul, "y", {clip, m.scalar(1.0f / 6)})), ElementsAre("HardSigmoid"));
}

TEST(FuseFloatPatterns, GeluByErf) {
  GraphMaker m;  // PyTorch's spelling: (x · (1 + Erf(x / √2))) · 0.5
  const TensorId x = m.input("x", {1, 4});
  const TensorId erf = m.node(Op::Erf, "erf", {m.node(Op::Div, "div", {x, m.scalar(1.41421354f)})});
  const TensorId gate = m.node(Op::Add, "add", {erf, m.scalar(1)});
  EXPECT_THAT(fused(m, m.node(Op::Mul, "y", {m.node(Op::Mul, "mul", {x, gate}), m.scalar(0.5f)})), ElementsAre("Gelu"));
  EXPECT_FALSE(attrs_as<schema::GeluAttrsT>(m.graph().nodes[0]).tanh_approximation);
}

TEST(FuseFloatPatterns, GeluByTanh) {
  GraphMaker m;
  const TensorId x = m.input("x", {1, 4});
  const TensorId cube = m.node(Op::Pow, "pow", {x, m.scalar(3)});
  const TensorId sum = m.node(Op::Add, "sum", {x, m.node(Op::Mul, "c", {cube, m.scalar(0.044715f)})});
  const TensorId tanh = m.node(Op::Tanh, "tanh", {m.node(Op::Mul, "scaled", {sum, m.scalar(0.797884583f)})});
  const TensorId half = m.node(Op::Mul, "half", {x, m.scalar(0.5f)});
  EXPECT_THAT(fused(m, m.node(Op::Mul, "y", {half, m.node(Op::Add, "add", {tanh, m.scalar(1)})})), ElementsAre("Gelu"));
  EXPECT_TRUE(attrs_as<schema::GeluAttrsT>(m.graph().nodes[0]).tanh_approximation);
}

TEST(FuseFloatPatterns, LayerNormalizationWithScaleAndBias) {
  GraphMaker m;
  const TensorId x = m.input("x", {kUnknownDim, 5, 3}), axes = m.ints({-1});
  const TensorId d = m.node(Op::Sub, "d", {x, m.node(Op::ReduceMean, "mean", {x, axes}, schema::ReduceAttrsT{})});
  const TensorId var =
      m.node(Op::ReduceMean, "var", {m.node(Op::Pow, "pow", {d, m.scalar(2)}), axes}, schema::ReduceAttrsT{});
  const TensorId root = m.node(Op::Sqrt, "sqrt", {m.node(Op::Add, "eps", {var, m.scalar(1e-6f)})});
  const TensorId scaled = m.node(Op::Mul, "mul", {m.node(Op::Div, "div", {d, root}), m.constant("g", {3}, {1, 2, 3})});
  EXPECT_THAT(fused(m, m.node(Op::Add, "y", {scaled, m.constant("b", {3}, {4, 5, 6})})),
              ElementsAre("LayerNormalization"));
  const Node& node = m.graph().nodes[0];
  EXPECT_THAT(m.floats(node.inputs[1]), ElementsAre(1, 2, 3));
  EXPECT_THAT(m.floats(node.inputs[2]), ElementsAre(4, 5, 6));
  EXPECT_EQ(attrs_as<schema::NormAttrsT>(node).axis, 2);
  EXPECT_FLOAT_EQ(attrs_as<schema::NormAttrsT>(node).epsilon, 1e-6f);
}

}  // namespace
}  // namespace lq
