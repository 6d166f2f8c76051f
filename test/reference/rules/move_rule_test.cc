// Operators that move values: int8 through with equal parameters, float otherwise.
#include <functional>

#include "reference/rules/rule_check.h"

namespace lq::reference {
namespace {

using Make = std::function<TensorId(RuleGraph&, TensorId x)>;
struct Mover {
  Op op;
  Make make;
};

template <typename AttrsT>
AttrsT with(const std::function<void(AttrsT&)>& set) {
  AttrsT a;
  set(a);
  return a;
}

schema::AxisAttrsT axis(int a) { return with<schema::AxisAttrsT>([a](auto& t) { t.axis = a; }); }

schema::PadAttrsT pad_mode(schema::PadMode mode) { return with<schema::PadAttrsT>([mode](auto& t) { t.mode = mode; }); }

/// On x[1, 12, 6, 4].
const std::vector<Mover>& movers() {
  static const std::vector<Mover> kMovers = {
      {Op::Reshape, [](RuleGraph& g, TensorId x) { return g.op(Op::Reshape, {x, g.ints("s", {0, 6, -1})}); }},
      {Op::Transpose, [](RuleGraph& g, TensorId x) { return g.op(Op::Transpose, {x}, with<schema::TransposeAttrsT>([](auto& t) { t.perm = {0, 2, 3, 1}; })); }},
      {Op::Transpose, [](RuleGraph& g, TensorId x) { return g.op(Op::Transpose, {x}, with<schema::TransposeAttrsT>([](auto& t) { t.perm = {3, 1, 0, 2}; })); }},
      {Op::Flatten, [](RuleGraph& g, TensorId x) { return g.op(Op::Flatten, {x}, axis(2)); }},
      {Op::Squeeze, [](RuleGraph& g, TensorId x) { return g.op(Op::Squeeze, {x, g.ints("a", {0})}); }},
      {Op::Unsqueeze, [](RuleGraph& g, TensorId x) { return g.op(Op::Unsqueeze, {x, g.ints("a", {2})}); }},
      {Op::Slice, [](RuleGraph& g, TensorId x) { return g.op(Op::Slice, {x, g.ints("s", {1, -1}), g.ints("e", {9, -100}), g.ints("a", {1, 2}), g.ints("t", {3, -2})}); }},
      {Op::Slice, [](RuleGraph& g, TensorId x) { return g.op(Op::Slice, {x, g.ints("s", {3}), g.ints("e", {11}), g.ints("a", {1})}); }},
      {Op::Gather, [](RuleGraph& g, TensorId x) { return g.op(Op::Gather, {x, g.ints("i", {3, 0, -1, 5})}, axis(1)); }},
      {Op::DepthToSpace, [](RuleGraph& g, TensorId x) { return g.op(Op::DepthToSpace, {x}, with<schema::BlockAttrsT>([](auto& t) { t.block_size = 2; })); }},
      {Op::DepthToSpace, [](RuleGraph& g, TensorId x) { return g.op(Op::DepthToSpace, {x}, with<schema::BlockAttrsT>([](auto& t) { t.block_size = 2, t.crd = true; })); }},
      {Op::SpaceToDepth, [](RuleGraph& g, TensorId x) { return g.op(Op::SpaceToDepth, {x}, with<schema::BlockAttrsT>([](auto& t) { t.block_size = 2; })); }},
      {Op::Expand, [](RuleGraph& g, TensorId x) { return g.op(Op::Expand, {x, g.ints("s", {3, 12, 6, 4})}); }},
      {Op::Tile, [](RuleGraph& g, TensorId x) { return g.op(Op::Tile, {x, g.ints("r", {2, 1, 1, 3})}); }},
      {Op::Pad, [](RuleGraph& g, TensorId x) { return g.op(Op::Pad, {x, g.ints("p", {0, 0, 1, 2, 0, 3, 0, 1}), g.scalar(0.7f)}, pad_mode(schema::PadMode::Constant)); }},
      {Op::Pad, [](RuleGraph& g, TensorId x) { return g.op(Op::Pad, {x, g.ints("p", {0, 1, 1, 2, 0, 3, -1, 1})}, pad_mode(schema::PadMode::Constant)); }},
      {Op::Pad, [](RuleGraph& g, TensorId x) { return g.op(Op::Pad, {x, g.ints("p", {0, 0, 1, 2, 0, 0, 3, 1})}, pad_mode(schema::PadMode::Reflect)); }},
      {Op::Pad, [](RuleGraph& g, TensorId x) { return g.op(Op::Pad, {x, g.ints("p", {0, 0, 1, 2, 0, 0, 3, 1})}, pad_mode(schema::PadMode::Edge)); }},
      {Op::Pad, [](RuleGraph& g, TensorId x) { return g.op(Op::Pad, {x, g.ints("p", {0, 2, 1, 2, 0, 2, 3, 1})}, pad_mode(schema::PadMode::Wrap)); }},
      {Op::GlobalMaxPool, [](RuleGraph& g, TensorId x) { return g.op(Op::GlobalMaxPool, {x}); }},
      {Op::ReduceMax, [](RuleGraph& g, TensorId x) { return g.op(Op::ReduceMax, {x, g.ints("a", {1, 3})}); }},
      {Op::ReduceMin, [](RuleGraph& g, TensorId x) { return g.op(Op::ReduceMin, {x, g.ints("a", {-1})}); }},
      {Op::Identity, [](RuleGraph& g, TensorId x) { return g.op(Op::Identity, {x}); }},
  };
  return kMovers;
}

enum class Around { kInputs, kConvolutions };

/// The operator alone (linear tensors) or between convolutions (blocked tensors), with equal or different parameters.
void check_mover(const Mover& mover, Around around, bool equal, uint64_t seed) {
  SCOPED_TRACE(std::string(op_name(mover.op)) + (around == Around::kConvolutions ? " behind a convolution" : "") + " seed " + std::to_string(seed));
  RuleGraph g(seed);
  const QuantParams p = g.params();
  QuantParams out = p;
  if (!equal) out.scale[0] *= 1.5f;
  TensorId x = g.activation("x", {1, 12, 6, 4}, p);
  if (around == Around::kConvolutions) {
    std::vector<float> scales;
    x = g.dequantize(g.quantize(g.op(Op::Conv, {x, g.random_weights({12, 12, 1, 1}, 0, 12, &scales)}), p));
  }
  TensorId y = g.dequantize(g.quantize(mover.make(g, x), out));
  if (around == Around::kConvolutions) y = g.op(Op::MaxPool, {g.op(Op::Reshape, {y, g.ints("back", {1, 1, 1, -1})})}, with<schema::PoolAttrsT>([](auto& a) { a.kernel_shape = {1, 2}; }));
  g.finish(y, out, false);
  if (equal) check(g, {{mover.op}});
  else check(g);
}

TEST(Movers, EqualParametersPassThrough) {
  uint64_t seed = 3000;
  for (const Mover& m : movers()) {
    check_mover(m, Around::kInputs, true, ++seed);
    check_mover(m, Around::kConvolutions, true, ++seed);
  }
}

TEST(Movers, OtherParametersAreFloat) {
  uint64_t seed = 3100;
  for (const Mover& m : movers()) check_mover(m, Around::kConvolutions, false, ++seed);
}

TEST(Split, EveryOutputNeedsTheSameParameters) {
  for (const bool equal : {true, false}) {
    for (const int a : {1, 2}) {
      RuleGraph g(uint64_t(3200 + a));
      const QuantParams p = g.params();
      QuantParams other = p;
      other.scale[0] *= 2;
      const TensorId x = g.activation("x", {1, 12, 6, 5}, p);
      const TensorId first = g.op(Op::Split, {x, g.ints("sizes", a == 1 ? std::vector<int64_t>{5, 7} : std::vector<int64_t>{1, 5})}, axis(a));
      const TensorId second = g.tensor("second", DType::Float32, {});
      g.graph().nodes.back().outputs.push_back(second);
      g.finish(first, p, false);
      g.finish(second, equal ? p : other, false);
      if (equal) check(g, {{Op::Split}});
      else check(g);
    }
  }
}

TEST(Concat, OfConvolutionsInputsAndConstants) {
  for (uint64_t seed = 3300; seed < 3320; ++seed) {
    SCOPED_TRACE(seed);
    RuleGraph g(seed);
    const QuantParams p = g.params();
    const bool equal = !g.rng.chance(3);
    const int a = int(g.rng.between(1, 3));
    std::vector<TensorId> parts;
    for (int i = 0; i < int(g.rng.between(1, 4)); ++i) {
      Shape shape{1, 11, 6, 5};
      shape[size_t(a)] = g.rng.pick<int64_t>({1, 3, 8, 11, 16});
      const QuantParams own = equal || i == 0 ? p : g.params();
      if (g.rng.chance(4)) {
        parts.push_back(g.quantized_constant(g.unique("c"), shape, own));
        continue;
      }
      TensorId x = g.activation(g.unique("x"), shape, own);
      std::vector<float> scales;
      if (g.rng.chance(2)) x = g.dequantize(g.quantize(g.op(Op::Conv, {x, g.random_weights({shape[1], shape[1], 1, 1}, 0, shape[1], &scales)}), own));
      parts.push_back(x);
    }
    if (g.rng.chance(4)) parts.push_back(parts[0]);  // one tensor twice
    g.finish(g.op(Op::Concat, parts, axis(a)), p, false);
    check(g);
    if (::testing::Test::HasFailure()) return;
  }
}

/// ShuffleNet's channel shuffle and a Pad in front of a convolution: shapes change between blocked tensors.
TEST(Movers, ChannelShuffle) {
  RuleGraph g(3400);
  const QuantParams p = g.params();
  std::vector<float> s;
  TensorId x = g.activation("x", {1, 24, 5, 6}, p);
  const auto q = [&](TensorId t) { return g.dequantize(g.quantize(t, p)); };
  x = q(g.op(Op::Conv, {x, g.random_weights({24, 24, 1, 1}, 0, 24, &s)}));
  x = q(g.op(Op::Reshape, {x, g.ints("s1", {1, 2, 12, 5, 6})}));
  x = q(g.op(Op::Transpose, {x}, with<schema::TransposeAttrsT>([](auto& t) { t.perm = {0, 2, 1, 3, 4}; })));
  x = q(g.op(Op::Reshape, {x, g.ints("s2", {1, 24, 5, 6})}));
  x = q(g.op(Op::Pad, {x, g.ints("p", {0, 0, 0, 0, 0, 0, 1, 1})}, pad_mode(schema::PadMode::Constant)));
  x = g.op(Op::Conv, {x, g.random_weights({24, 1, 3, 3}, 0, 24, &s)}, with<schema::ConvAttrsT>([](auto& a) { a.groups = 24, a.strides = {2, 2}; }));
  g.finish(x, g.params(0.1f));
  check(g, {{Op::Conv}, {Op::Gather}, {Op::Pad}});
}

/// A Relu folded into the convolution narrows what it writes, not what Pad may put around it.
TEST(Moves, PadsConstantBehindAFoldedRelu) {
  RuleGraph g(2900);
  std::vector<float> s;
  const QuantParams p = per_tensor_params(DType::Int8, 0.5f, 0);
  const TensorId c = g.op(Op::Conv, {g.activation("x", {1, 9, 5, 4}), g.random_weights({9, 9, 1, 1}, 0, 9, &s)});
  const TensorId q = g.dequantize(g.quantize(g.op(Op::Relu, {c}), p));
  const TensorId y = g.op(Op::Pad, {q, g.ints("p", {0, 0, 1, 2, 0, 0, 1, 0}), g.scalar(-7.0f)}, schema::PadAttrsT());
  g.finish(y, p, false);
  check(g, {{Op::Pad}});
}

}  // namespace
}  // namespace lq::reference
