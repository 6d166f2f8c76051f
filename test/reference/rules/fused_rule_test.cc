// Elementwise operators done on the pieces of a convolution's output: which ones a plan moves there, and that the bits
// stay those of the reference, which knows nothing of it.
#include <algorithm>

#include "reference/rules/rule_check.h"
#include "runtime/session.h"

namespace lq::reference {
namespace {

struct Layer {
  int64_t in, out, h, w;
  int k, stride = 1, groups = 1, dilation = 1;
  int pads[4] = {};  // top, left, bottom, right
};
// Every way of running: 1×1, byte steps, int16, Winograd (large maps of 3×3), first layers, strides, groups, depthwise.
const Layer kLayers[] = {
    {16, 24, 7, 9, 1},
    {8, 13, 5, 6, 1},
    {3, 12, 11, 9, 3, 2, 1, 1, {1, 1, 1, 1}},
    {32, 40, 30, 29, 3, 1, 1, 1, {1, 1, 1, 1}},
    {64, 60, 28, 28, 3, 1, 1, 1, {1, 1, 1, 1}},
    {16, 16, 6, 6, 3, 1, 1, 2, {2, 0, 1, 3}},
    {16, 24, 9, 5, 3, 2, 4, 1, {0, 1, 1, 0}},
    {12, 18, 8, 8, 1, 1, 3},
    {24, 24, 21, 23, 3, 1, 24, 1, {1, 1, 1, 1}},
    {13, 13, 10, 7, 5, 2, 13, 1, {2, 2, 2, 2}},
    {20, 20, 1, 1, 1},
    {9, 9, 9, 4, 3, 4, 9, 1, {1, 0, 0, 1}},
};

schema::ConvAttrsT attributes(const Layer& l) {
  schema::ConvAttrsT a;
  a.kernel_shape = {l.k, l.k}, a.strides = {l.stride, l.stride}, a.dilations = {l.dilation, l.dilation};
  a.groups = l.groups;
  a.pads = {l.pads[0], l.pads[1], l.pads[2], l.pads[3]};
  return a;
}

/// Convolution of x, dequantized from int8 with `p`.
TensorId convolution(RuleGraph& g, const Layer& l, TensorId x, float s_x, const QuantParams& p) {
  const schema::ConvAttrsT a = attributes(l);
  std::vector<float> scales;
  std::vector<TensorId> inputs{x, g.random_weights({l.out, l.in / l.groups, l.k, l.k}, 0, l.out, &scales)};
  if (g.rng.chance(2)) inputs.push_back(g.random_bias(s_x, scales));
  return g.dequantize(g.quantize(g.random_clamp(g.op(Op::Conv, inputs, a), p), p));
}

/// The same in float, of a float tensor; a constant bias, one of the run, or none.
TensorId float_convolution(RuleGraph& g, const Layer& l, TensorId x) {
  const auto values = [&](int64_t count) {
    std::vector<float> v(static_cast<size_t>(count));
    for (float& value : v) value = g.rng.uniform(-0.3f, 0.3f);
    return v;
  };
  const Shape shape{l.out, l.in / l.groups, l.k, l.k};
  std::vector<TensorId> inputs{x, g.floats(g.unique("w"), shape, values(element_count(shape)))};
  if (g.rng.chance(2)) inputs.push_back(g.floats(g.unique("b"), {l.out}, values(l.out)));
  return g.op(Op::Conv, inputs, attributes(l));
}

/// The maps that Winograd wants are left out in float, which has none: the scalar plan's fmaf would take half a minute.
bool is_for_winograd(const Layer& l) { return l.k == 3 && l.groups == 1 && l.h >= 28; }

/// Do the results of this float layer come by whole blocks of channels?
bool comes_by_blocks(const Layer& l) { return l.groups == 1 || l.groups == l.in || l.out / l.groups % 8 == 0; }

Shape output_shape(const Layer& l) {
  const int64_t span = l.dilation * (l.k - 1) + 1;
  return {1, l.out, (l.h + l.pads[0] + l.pads[2] - span) / l.stride + 1,
          (l.w + l.pads[1] + l.pads[3] - span) / l.stride + 1};
}

std::unique_ptr<Session> session_of(const RuleGraph& g, Isa isa) {
  auto model = Model::create(g.model);
  EXPECT_TRUE(model.ok()) << model.status().message();
  SessionOptions options;
  options.isa = isa;
  auto session = Session::create(*model, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return std::move(*session);
}

/// Steps of `op`, and how many elementwise steps the products took over.
struct Counted {
  int64_t steps = 0, fused = 0;
};
Counted count(const RuleGraph& g, Op op) {
  const std::unique_ptr<Session> session = session_of(g, Isa::kScalar);
  Counted c;
  for (const Step& step : session->steps()) {
    c.steps += step.op == op;
    for (const Step& fused : step.fused) {
      c.fused += fused.op == op;
      EXPECT_NE(step.detail.find(fused.kernel), std::string::npos) << step.detail;
    }
  }
  return c;
}

TEST(Fused, TableBehindEveryKindOfConvolution) {
  uint64_t seed = 100;
  for (const Layer& l : kLayers) {
    for (const Op op : {Op::Silu, Op::HardSwish, Op::Sigmoid}) {
      RuleGraph g(++seed);
      const QuantParams p_x = g.params(0.05f), p = g.params(), p_y = g.params();
      const TensorId x = g.activation("x", {1, l.in, l.h, l.w}, p_x);
      g.finish(g.op(op, {convolution(g, l, x, p_x.scale[0], p)}), p_y, false);
      SCOPED_TRACE(seed);
      check(g, {{Op::Conv}, {op}});
      EXPECT_EQ(count(g, op).fused, 1);
      EXPECT_EQ(count(g, op).steps, 0);
    }
  }
}

TEST(Fused, ResidualBehindEveryKindOfConvolution) {
  uint64_t seed = 200;
  for (const Layer& l : kLayers) {
    for (const Op op : {Op::Add, Op::Sub, Op::Mul}) {
      RuleGraph g(++seed);
      const QuantParams p_x = g.params(0.05f), p = g.params(), p_r = g.params(), p_y = g.params();
      const TensorId x = g.activation("x", {1, l.in, l.h, l.w}, p_x), r = g.activation("r", output_shape(l), p_r);
      // r comes through an operator that is blocked.
      schema::PoolAttrsT pool;
      pool.kernel_shape = {1, 1};
      const TensorId other = g.dequantize(g.quantize(g.op(Op::MaxPool, {r}, pool), p_r));
      const TensorId t = convolution(g, l, x, p_x.scale[0], p);
      const bool first = g.rng.chance(2);
      g.finish(g.op(op, first ? std::vector<TensorId>{t, other} : std::vector<TensorId>{other, t}), p_y);
      SCOPED_TRACE(seed);
      check(g, {{Op::Conv}, {op}});
      EXPECT_EQ(count(g, op).fused, 1);
      EXPECT_EQ(count(g, op).steps, 0);
    }
  }
}

// Functions with kernels and without, of which some make something else than 0 of the lanes behind the last channel.
TEST(Fused, FloatFunctionBehindEveryKindOfConvolution) {
  uint64_t seed = 500;
  for (const Layer& l : kLayers) {
    if (is_for_winograd(l)) continue;
    for (const Op op : {Op::Silu, Op::HardSwish, Op::Sigmoid, Op::Tanh, Op::Abs}) {
      RuleGraph g(++seed);
      const TensorId x = g.input("x", {2, l.in, l.h, l.w});
      g.output(g.random_clamp(g.op(op, {float_convolution(g, l, x)}), g.params()));
      SCOPED_TRACE(seed);
      check(g, {});
      EXPECT_EQ(count(g, op).fused, comes_by_blocks(l));
      EXPECT_EQ(count(g, op).steps, !comes_by_blocks(l));
    }
  }
}

TEST(Fused, FloatResidualBehindEveryKindOfConvolution) {
  uint64_t seed = 600;
  for (const Layer& l : kLayers) {
    if (is_for_winograd(l)) continue;
    for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div}) {
      RuleGraph g(++seed);
      const TensorId x = g.input("x", {2, l.in, l.h, l.w});
      Shape shape = output_shape(l);
      shape[0] = 2;
      schema::PoolAttrsT pool;
      pool.kernel_shape = {1, 1};
      const TensorId other = g.op(Op::MaxPool, {g.input("r", shape)}, pool), t = float_convolution(g, l, x);
      const bool first = g.rng.chance(2);
      const TensorId y = g.op(op, first ? std::vector<TensorId>{t, other} : std::vector<TensorId>{other, t});
      g.output(g.random_clamp(y, g.params()));
      SCOPED_TRACE(seed);
      check(g, {});
      EXPECT_EQ(count(g, op).fused, comes_by_blocks(l));
    }
  }
}

// One value a channel is another shape: the sum stays a step, and its bits are right.
TEST(Fused, FloatBroadcastStays) {
  for (const Shape& shape : {Shape{1, 12, 1, 1}, Shape{1, 1, 6, 6}, Shape{1}}) {
    RuleGraph g(700);
    const TensorId x = g.input("x", {1, 8, 6, 6}), c = g.input("c", shape);
    g.output(g.op(Op::Add, {float_convolution(g, {8, 12, 6, 6, 1}, x), c}));
    check(g, {});
    EXPECT_EQ(count(g, Op::Add).fused, 0);
    EXPECT_EQ(count(g, Op::Add).steps, 1);
  }
}

// x -> Conv -> Silu -> + (x -> Conv): the table and the sum follow the convolution they stand behind, in order.
TEST(Fused, ChainsAndBranches) {
  for (uint64_t seed = 300; seed < 306; ++seed) {
    RuleGraph g(seed);
    const Layer l{12, 20, 9, 9, 3, 1, 1, 1, {1, 1, 1, 1}};
    const QuantParams p_x = g.params(0.05f), p = g.params(), p_s = g.params(), p_y = g.params();
    const TensorId x = g.activation("x", {2, l.in, l.h, l.w}, p_x);
    const TensorId a = convolution(g, l, x, p_x.scale[0], p);
    const TensorId b = convolution(g, l, x, p_x.scale[0], p);
    const TensorId table = g.dequantize(g.quantize(g.op(Op::Silu, {b}), p_s));
    g.finish(g.op(Op::Add, {table, a}), p_y);
    SCOPED_TRACE(seed);
    check(g, {{Op::Conv}, {Op::Silu}, {Op::Add}});
    EXPECT_EQ(count(g, Op::Silu).fused, 1);
    EXPECT_EQ(count(g, Op::Add).fused, 1);
  }
}

// Two readers, the same operand twice, or an operand that the product's own output leads to: nothing moves.
TEST(Fused, WhatOthersReadStays) {
  const Layer l{8, 12, 6, 6, 1}, next{12, 12, 6, 6, 1};
  for (int variant = 0; variant < 4; ++variant) {
    RuleGraph g(uint64_t(400 + variant));
    const QuantParams p_x = g.params(0.05f), p = g.params(), p_y = g.params();
    const TensorId x = g.activation("x", {1, l.in, l.h, l.w}, p_x);
    const TensorId t = convolution(g, l, x, p_x.scale[0], p);
    int64_t fused = 0;
    if (variant == 0) {  // t is an output of the model as well
      g.output(t);
      g.finish(g.op(Op::Silu, {t}), p_y, false);
    } else if (variant == 1) {
      g.finish(g.op(Op::Add, {t, t}), p_y);
    } else if (variant == 2) {  // a residual around a second convolution: the sum moves there, t stays whole
      const TensorId u = convolution(g, next, t, p.scale[0], p);
      g.finish(g.op(Op::Add, {t, u}), p_y);
      fused = 1;
    } else {  // the operand that comes last is no product
      const TensorId table = g.dequantize(g.quantize(g.op(Op::Sigmoid, {x}), p_y));
      const TensorId u = convolution(g, l, table, p_y.scale[0], p);
      schema::PoolAttrsT pool;
      pool.kernel_shape = {1, 1};
      const TensorId pooled = g.dequantize(g.quantize(g.op(Op::MaxPool, {u}, pool), p));
      g.finish(g.op(Op::Add, {t, pooled}), p_y);
    }
    SCOPED_TRACE(variant);
    check(g, {{Op::Conv}});
    EXPECT_EQ(count(g, Op::Add).fused + count(g, Op::Silu).fused, fused);
  }
}

/// The sum that moves into the first convolution is the last reader of x in the file's order, but no longer when it runs:
/// x must live until the other sum, whatever is computed between them.
TEST(Fused, OtherReadersOfAnOperandRunLater) {
  RuleGraph g(4700);
  const Layer l{16, 16, 12, 11, 1};
  const QuantParams px = g.params(0.1f), pv = g.params(0.1f), p = g.params(0.4f);
  // From convolutions: tensors whose memory the plan gives to others once it believes them read.
  const TensorId x = convolution(g, l, g.activation("x", {1, 16, 12, 11}, px), px.scale[0], p);
  const TensorId v = convolution(g, l, g.activation("v", {1, 16, 12, 11}, pv), pv.scale[0], p);
  const TensorId a = convolution(g, l, v, p.scale[0], p);
  const TensorId b = convolution(g, l, v, p.scale[0], p);
  g.finish(g.op(Op::Mul, {x, b}), g.params(1.0f), false);
  g.finish(g.op(Op::Add, {a, x}), g.params(0.8f), false);
  check(g, {{Op::Add}, {Op::Mul}});
  EXPECT_EQ(count(g, Op::Add).fused, 1);
}

}  // namespace
}  // namespace lq::reference
