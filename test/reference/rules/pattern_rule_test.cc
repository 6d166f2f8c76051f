// How patterns meet: several readers, graph outputs, float islands, constants that fold, branches.
#include <cmath>

#include "reference/rules/rule_check.h"

namespace lq::reference {
namespace {

struct Net : RuleGraph {
  explicit Net(uint64_t seed) : RuleGraph(seed) {}
  QuantParams p = params(0.05f);
  std::vector<float> scales;
  TensorId x = activation("x", {1, 12, 7, 6}, p);

  TensorId q(TensorId t) { return dequantize(quantize(t, p)); }
  TensorId conv(TensorId in, int64_t from = 12, int64_t to = 12) {
    return op(Op::Conv, {in, random_weights({to, from, 3, 3}, 0, to, &scales)}, pads());
  }
  static schema::ConvAttrsT pads() {
    schema::ConvAttrsT a;
    a.pads = {1, 1, 1, 1};
    return a;
  }
};

TEST(Patterns, OneDequantizeServesManyReaders) {
  Net g(4000);
  g.finish(g.conv(g.x), g.p);
  g.finish(g.op(Op::Add, {g.x, g.x}), g.p);
  g.finish(g.op(Op::Sigmoid, {g.x}), g.p, false);
  g.output(g.op(Op::Softplus, {g.x}));  // float reader
  g.output(g.x);
  g.finish(g.op(Op::MaxPool, {g.x},
                [] {
                  schema::PoolAttrsT a;
                  a.kernel_shape = {2, 2};
                  return a;
                }()),
           g.p, false);
  check(g, {{Op::Conv}, {Op::Add}, {Op::Sigmoid}, {Op::MaxPool}});
}

TEST(Patterns, AProductWithTwoReadersIsFloat) {
  Net g(4001);
  const TensorId y = g.conv(g.x);
  g.finish(y, g.p, false);
  g.finish(g.op(Op::Relu, {y}), g.p, false);
  check(g, {{Op::Conv, DType::Float32}});
}

TEST(Patterns, AnActivationWithTwoReadersIsFloat) {
  Net g(4002);
  const TensorId r = g.op(Op::Relu, {g.conv(g.x)});
  g.finish(r, g.p, false);
  g.output(g.op(Op::Sigmoid, {r}));
  check(g, {{Op::Conv, DType::Float32}});
}

TEST(Patterns, ProductsThatAreGraphOutputs) {
  Net g(4003);
  const TensorId y = g.conv(g.x);
  g.output(y);
  g.finish(y, g.p, false);
  const TensorId r = g.op(Op::Relu, {g.conv(g.x)});
  g.output(r);
  g.finish(r, g.p, false);
  check(g, {{Op::Conv, DType::Float32}});
}

TEST(Patterns, TwoActivationsInARow) {
  Net g(4004);
  g.finish(g.op(Op::Clip, {g.op(Op::Relu, {g.conv(g.x)}), g.scalar(0), g.scalar(1)}), g.p, false);
  g.finish(g.op(Op::LeakyRelu, {g.conv(g.x)},
                [] {
                  schema::ActivationAttrsT a;
                  a.alpha = 0.1f;
                  return a;
                }()),
           g.p, false);
  check(g, {{Op::Conv, DType::Float32}});
}

TEST(Patterns, ClipsThatLeaveTheZeroPointOut) {
  for (uint64_t seed = 4010; seed < 4022; ++seed) {
    SCOPED_TRACE(seed);
    Net g(seed);
    const float low = g.rng.pick({0.3f, -3.0f, 100.0f, 0.05f}), high = low + g.rng.pick({0.0f, 0.1f, 2.0f});
    const TensorId a = g.q(g.op(Op::Clip, {g.conv(g.x), g.scalar(low), g.scalar(high)}));
    const TensorId b = g.q(g.op(Op::Clip, {g.op(Op::Add, {a, g.x}), g.scalar(low)}));
    g.finish(g.conv(b), g.params(0.2f), false);
    g.finish(g.op(Op::AveragePool, {b},
                  [] {
                    schema::PoolAttrsT p;
                    p.kernel_shape = {2, 2}, p.pads = {1, 1, 1, 1}, p.count_include_pad = true;
                    return p;
                  }()),
             g.p);
    check(g, {{Op::Conv}, {Op::Add}});
    if (::testing::Test::HasFailure()) return;
  }
}

/// A product whose tail has per-channel or uint8 parameters is no integer rule.
TEST(Patterns, TailsOfOtherKinds) {
  for (const bool uint8 : {false, true}) {
    Net g(uint64_t(4030 + uint8));
    QuantParams p = per_tensor_params(uint8 ? DType::UInt8 : DType::Int8, 0.05f, uint8 ? 100 : 0);
    if (!uint8) {
      p = per_channel_weights(std::vector<float>(12, 0.05f), 1);
      p.scale[3] = 0.2f;
    }
    const TensorId q = g.quantize(g.conv(g.x), p);
    g.output(q);
    g.output(g.op(Op::Sigmoid, {g.dequantize(q)}));
    check(g, {{Op::Conv, DType::Float32}});
  }
}

TEST(Patterns, FloatIslands) {
  for (uint64_t seed = 4040; seed < 4046; ++seed) {
    SCOPED_TRACE(seed);
    Net g(seed);
    TensorId y = g.q(g.op(Op::Relu, {g.conv(g.x)}));
    // Float convolution, norm, softmax, pooling and arithmetic between integer layers.
    std::vector<float> w(12 * 12 * 9), b(12), scale(12), shift(12);
    for (auto* v : {&w, &b, &scale, &shift}) {
      for (float& f : *v) f = g.rng.uniform(-0.5f, 0.5f);
    }
    TensorId f = g.op(Op::Conv, {y, g.floats("fw", {12, 12, 3, 3}, w), g.floats("fb", {12}, b)}, Net::pads());
    f = g.op(Op::InstanceNormalization, {f, g.floats("ns", {12}, scale), g.floats("nb", {12}, shift)});
    f = g.op(Op::Add, {f, y});
    f = g.op(Op::Softmax, {f}, [] {
      schema::AxisAttrsT a;
      a.axis = 1;
      return a;
    }());
    f = g.op(Op::AveragePool, {f}, [] {
      schema::PoolAttrsT a;
      a.kernel_shape = {3, 3}, a.pads = {1, 1, 1, 1};
      return a;
    }());
    f = g.op(Op::Div, {f, g.scalar(0.1f)});
    f = g.op(Op::Mul, {f, g.op(Op::Sigmoid, {f})});
    y = g.q(f);
    g.finish(g.conv(y), g.params(0.1f));
    g.output(g.op(Op::MatMul, {f, g.op(Op::Transpose, {f}, [] {
                                 schema::TransposeAttrsT a;
                                 a.perm = {0, 1, 3, 2};
                                 return a;
                               }())}));
    check(g, {{Op::Conv}});
  }
}

/// Shape reads a convolution's output, and a dead node does too: neither counts once constants are folded. A Clip's
/// bound is computed from constants.
TEST(Patterns, ReadersThatFoldAwayDoNotCount) {
  Net g(4050);
  const TensorId y = g.conv(g.x);
  const TensorId shape = g.node(Op::Shape, {y}, {}, DType::Int64);
  g.op(Op::Sigmoid, {y});  // nobody reads it
  const TensorId high = g.op(Op::Mul, {g.scalar(2), g.scalar(0.75f)});
  const TensorId c = g.q(g.op(Op::Clip, {y, g.scalar(0), high}));
  g.finish(g.op(Op::Reshape, {c, shape}), g.p, false);
  check(g, {{Op::Conv}, {Op::Reshape}});
}

/// Constants through the rules: what folds must have the bits of what runs.
TEST(Patterns, ConstantOperands) {
  Net g(4060);
  const TensorId c = g.quantized_constant("c", {1, 12, 7, 6}, g.p);
  const TensorId t = g.q(g.op(Op::Tanh, {c}));
  const TensorId r = g.dequantize(g.quantize(t, g.params(0.3f)));
  g.finish(g.op(Op::Add, {g.x, r}), g.p);
  g.finish(g.op(Op::Mul, {g.op(Op::Sigmoid, {c}), g.x}), g.p);  // a float constant: not the rule
  g.finish(g.op(Op::MatMul, {g.quantized_constant("m", {5, 7}, g.p), g.x}), g.params(0.5f));
  check(g, {{Op::Add}, {Op::MatMul}});
}

/// If at run time: weights are captured from outside, patterns stand inside the branches; both ways.
TEST(Patterns, BranchesOfIf) {
  for (const bool known : {false, true}) {
    for (uint64_t seed = 4070; seed < 4074; ++seed) {
      RuleGraph g(seed);
      const QuantParams p = g.params(0.05f);
      std::vector<float> scales;
      const TensorId x = g.activation("x", {1, 9, 4, 5}, p);
      g.random_weights({9, 9, 1, 1}, 0, 9, &scales);
      const TensorId w = g.graph().nodes.back().inputs[0];
      g.graph().nodes.pop_back();
      const uint8_t yes = seed % 2;
      const TensorId condition =
          known ? g.graph().add_constant("cond", DType::Bool, {}, &yes) : g.input("cond", {}, DType::Bool);
      for (int branch = 0; branch < 2; ++branch) {
        RuleGraph b(seed * 2 + uint64_t(branch));
        const TensorId bx = b.input("bx", {1, 9, 4, 5}), bw = b.input("bw", {9, 9, 1, 1}, DType::Int8);
        b.graph().tensor(bw).quant = g.graph().tensor(w).quant;
        const TensorId in = b.dequantize(b.quantize(bx, p));
        TensorId y = b.op(Op::Conv, {in, b.dequantize(bw)});
        if (branch == 1) y = b.op(Op::Relu, {y});
        b.output(b.dequantize(b.quantize(y, p)));
        g.model.graphs.push_back(std::move(b.model.graphs[0]));
      }
      const TensorId y = g.op(Op::If, {condition, x, w});
      g.graph().nodes.back().subgraphs = {1, 2};
      g.finish(g.op(Op::MaxPool, {y},
                    [] {
                      schema::PoolAttrsT a;
                      a.kernel_shape = {2, 2};
                      return a;
                    }()),
               p, false);
      check(g);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// Scales from 1e-18 to 1e36: products overflow, sums are inf − inf (NaN quantizes to qmin), multipliers are tiny.
TEST(Patterns, ExtremeScales) {
  uint64_t seed = 4100;
  for (const float s_x : {1e-18f, 1e-3f, 1e18f}) {
    for (const float s_y : {1e-18f, 1.0f, 1e18f}) {
      for (const bool sub : {false, true}) {
        SCOPED_TRACE(std::to_string(s_x) + " " + std::to_string(s_y));
        RuleGraph g(++seed);
        const TensorId x = g.activation("x", {1, 9, 5, 6}, g.params(s_x));
        const TensorId y = g.activation("y", {1, 9, 5, 6}, g.params(s_x * 0.9f));
        const auto out = [&] { return g.params(s_y * g.rng.uniform(0.5f, 1.5f)); };
        g.finish(g.op(sub ? Op::Sub : Op::Add, {x, y}), out());
        g.finish(g.op(Op::HardSwish, {x}), out(), false);
        // verify() refuses averages and resizes whose scales are more than 2^90 apart: s_x / (s_y · n) must be normal.
        if (s_x / s_y > 1e-25f && s_x / s_y < 1e25f) {
          schema::ResizeAttrsT linear;
          linear.mode = schema::ResizeMode::Linear;
          g.finish(g.op(Op::GlobalAveragePool, {x}), out());
          g.finish(g.op(Op::Resize, {x, g.floats("s", {4}, {1, 1, 2, 2})}, linear), out());
        }
        g.finish(x, out(), false);
        if (s_x < 1) {
          g.finish(g.op(Op::Conv, {x, g.weights("w", {4, 9, 1, 1}, std::vector<int8_t>(36, 77),
                                                {1e-10f, 1e-4f, 1.0f, 1e10f}, 0)}),
                   g.params(s_x * 1e3f));
          g.output(g.op(Op::Conv, {x, g.weights("v", {4, 9, 1, 1}, std::vector<int8_t>(36, 77),
                                                {1e-10f, 1e-4f, 1.0f, 1e10f}, 0)}));
          g.finish(g.op(Op::Mul, {x, y}), g.params(s_x * 10));
        }
        check(g);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  RuleGraph g(++seed);  // 255 · s_a/s_y leaves float
  const TensorId x = g.activation("x", {2, 300}, g.params(1e20f)), y = g.activation("y", {2, 300}, g.params(1e20f));
  g.finish(g.op(Op::Sub, {x, y}), g.params(1e-18f), false);
  g.finish(g.op(Op::Add, {x, y}), g.params(1e-18f), false);
  check(g);
}

/// A chain as the toolchain writes it, with layouts that must hand padding lanes on: odd channel counts throughout.
TEST(Patterns, ASmallNetworkOfOddChannels) {
  for (uint64_t seed = 4080; seed < 4090; ++seed) {
    SCOPED_TRACE(seed);
    Net g(seed);
    const int64_t c = g.rng.pick<int64_t>({1, 3, 5, 9, 13, 17});
    TensorId y = g.q(g.random_clamp(g.conv(g.x, 12, c), g.p));
    y = g.q(g.op(Op::HardSwish, {y}));
    schema::ConvAttrsT dw = Net::pads();
    dw.groups = int(c);
    y = g.q(g.op(Op::Conv, {y, g.random_weights({c, 1, 3, 3}, 0, c, &g.scales)}, dw));
    const TensorId gate = g.q(g.op(Op::Sigmoid, {g.q(g.conv(g.q(g.op(Op::GlobalAveragePool, {y})), c, c))}));
    y = g.q(g.op(Op::Mul, {y, gate}));
    y = g.q(g.op(Op::Resize, {y, g.floats("s", {4}, {1, 1, 2, 2})}, [] {
      schema::ResizeAttrsT a;
      a.mode = schema::ResizeMode::Linear;
      return a;
    }()));
    y = g.q(g.op(Op::Concat, {y, y}, [] {
      schema::AxisAttrsT a;
      a.axis = 1;
      return a;
    }()));
    y = g.q(g.op(Op::GlobalAveragePool, {y}));
    y = g.q(g.op(Op::Flatten, {y}, [] {
      schema::AxisAttrsT a;
      a.axis = 1;
      return a;
    }()));
    g.output(g.op(Op::Gemm, {y, g.random_weights({2 * c, 7}, 1, 7, &g.scales), g.random_bias(g.p.scale[0], g.scales)}));
    check(g, {{Op::Conv}, {Op::Mul}, {Op::Resize}, {Op::Concat}, {Op::Gemm, DType::Float32}});
    if (::testing::Test::HasFailure()) return;
  }
}

/// Concat of convolutions: along the channels where pieces fill their blocks (the last need not) and where they do not,
/// and along the other axes; in int8 and in float.
TEST(Patterns, ConcatOfConvolutions) {
  uint64_t seed = 4200;
  for (const std::vector<int64_t>& channels :
       std::vector<std::vector<int64_t>>{{8, 16}, {16, 8, 5}, {24, 3}, {5, 8}, {9, 9}}) {
    for (const int64_t axis : {1, -3, 0, 2, 3}) {
      for (const bool is_float : {false, true}) {
        SCOPED_TRACE(std::to_string(channels[0]) + " axis " + std::to_string(axis));
        Net g(++seed);
        std::vector<TensorId> pieces;
        for (const int64_t c : channels) {
          const TensorId y = g.conv(g.x, 12, axis == 1 || axis == -3 ? c : channels[0]);
          pieces.push_back(is_float ? y : g.q(y));
        }
        schema::AxisAttrsT attrs;
        attrs.axis = axis;
        const TensorId joined = g.op(Op::Concat, pieces, attrs);
        g.output(g.op(Op::Relu, {is_float ? joined : g.q(joined)}));
        check(g);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace lq::reference
