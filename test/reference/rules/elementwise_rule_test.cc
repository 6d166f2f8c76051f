// Add, Sub, Mul, PRelu, tables, changes of scale.
#include <cmath>

#include "reference/rules/rule_check.h"

namespace lq::reference {
namespace {

const std::pair<Shape, Shape> kBroadcasts[] = {
    {{1, 8, 5, 7}, {1, 8, 5, 7}},  {{2, 19, 3, 5}, {2, 19, 3, 5}}, {{1, 12, 4, 4}, {12, 1, 1}},   {{1, 12, 4, 4}, {1, 12, 1, 1}},
    {{2, 9, 3, 3}, {1}},           {{2, 9, 3, 3}, {}},             {{1, 10, 6, 5}, {1, 1, 6, 5}}, {{1, 10, 6, 5}, {5}},
    {{1, 10, 6, 1}, {1, 1, 1, 5}}, {{3, 17}, {17}},                {{3, 17}, {3, 1}},             {{1, 13, 9}, {1, 13, 9}},
    {{2, 5, 9}, {5, 1}},           {{1, 1, 1, 1}, {1, 1, 1, 1}},   {{7}, {7}},                    {{2, 16, 4, 4}, {1, 16, 4, 4}}};

TEST(AddSubMul, EveryBroadcast) {
  uint64_t seed = 1000;
  for (const Op op : {Op::Add, Op::Sub, Op::Mul}) {
    for (const auto& [a, b] : kBroadcasts) {
      for (int kind = 0; kind < 4; ++kind) {  // two inputs, swapped, a constant second, a constant first
        SCOPED_TRACE(std::string(op_name(op)) + shape_string(a) + shape_string(b) + " " + std::to_string(kind));
        RuleGraph g(++seed);
        // Scales that are small multiples of each other: many sums are ties of rint.
        const QuantParams pa = g.params();
        const QuantParams pb = g.params(g.rng.chance(2) ? pa.scale[0] * g.rng.pick({1.0f, 0.5f, 3.0f, 1.5f, 0.7f}) : g.rng.uniform(0.004f, 0.1f));
        const TensorId x = g.activation("a", a, pa);
        const TensorId y = kind < 2 ? g.activation("b", b, pb) : g.quantized_constant("b", b, pb);
        const TensorId z = kind % 2 == 0 ? g.op(op, {x, y}) : g.op(op, {y, x});
        const double unit = op == Op::Mul ? double(pa.scale[0]) * double(pb.scale[0]) : double(pa.scale[0]);
        const double wanted = op == Op::Mul ? unit * 60 : unit + double(pb.scale[0]);
        g.finish(z, g.params(g.scale_near(wanted * double(g.rng.uniform(0.3f, 1.5f)), unit)));
        check(g, {{op}});
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(AddSubMul, OfOneTensorWithItself) {
  for (const Op op : {Op::Add, Op::Sub, Op::Mul}) {
    RuleGraph g(1290 + uint64_t(op));
    const TensorId x = g.activation("x", {1, 11, 4, 5});
    g.finish(g.op(op, {x, x}), g.params(0.1f));
    check(g, {{op}});
  }
}

/// Residual blocks: the sum of two convolutions, with the activation behind it.
TEST(AddSubMul, BetweenConvolutions) {
  for (uint64_t seed = 1300; seed < 1310; ++seed) {
    RuleGraph g(seed);
    const int64_t c = g.rng.pick<int64_t>({5, 8, 12, 24});
    const QuantParams px = g.params(), pa = g.params(0.1f), pb = g.params(0.2f);
    const TensorId x = g.activation("x", {1, c, 6, 7}, px);
    std::vector<float> s;
    const auto conv = [&](TensorId in, const QuantParams& q) { return g.dequantize(g.quantize(g.op(Op::Conv, {in, g.random_weights({c, c, 1, 1}, 0, c, &s)}), q)); };
    const TensorId a = conv(x, pa), b = conv(a, pb);
    const QuantParams sum = g.params(0.2f);
    const TensorId r = g.dequantize(g.quantize(g.op(Op::Relu, {g.op(Op::Add, {a, b})}), sum));
    g.finish(g.op(Op::Mul, {conv(r, pa), r}), g.params(0.5f));
    check(g, {{Op::Add}, {Op::Conv}, {Op::Mul}});
  }
}

TEST(PRelu, SlopesOfEveryShape) {
  uint64_t seed = 1400;
  for (const Shape& shape : {Shape{1}, Shape{}, Shape{19, 1, 1}, Shape{1, 19, 1, 1}, Shape{19, 3, 4}, Shape{4}}) {
    for (int i = 0; i < 3; ++i) {
      SCOPED_TRACE(shape_string(shape));
      RuleGraph g(++seed);
      const QuantParams p = g.params();
      std::vector<float> slope(static_cast<size_t>(element_count(shape)));
      for (float& v : slope) v = g.rng.uniform(-1.5f, 1.5f);
      slope[0] = g.rng.pick({0.0f, 0.25f, -0.5f});
      const TensorId y = g.op(Op::PRelu, {g.activation("x", {2, 19, 3, 4}, p), g.floats("slope", shape, slope)});
      g.finish(y, g.params(g.scale_near(double(p.scale[0] * g.rng.uniform(0.5f, 1.5f)), double(p.scale[0]))));
      check(g, {{Op::PRelu}});
    }
  }
}

struct Unary {
  Op op;
  schema::ActivationAttrsT attrs;
};

TEST(Tables, EveryUnaryOperator) {
  const auto attrs = [](float alpha, float beta = 0, float gamma = 0) {
    schema::ActivationAttrsT a;
    a.alpha = alpha, a.beta = beta, a.gamma = gamma;
    return a;
  };
  const Unary operators[] = {{Op::Relu, {}},      {Op::LeakyRelu, attrs(0.01f)},         {Op::LeakyRelu, attrs(-0.3f)}, {Op::Elu, attrs(1.0f)},
                             {Op::Elu, attrs(0.5f)}, {Op::Selu, attrs(1.67326f, 0, 1.0507f)}, {Op::Sigmoid, {}},            {Op::HardSigmoid, attrs(0.2f, 0.5f)},
                             {Op::HardSwish, {}}, {Op::Silu, {}},                        {Op::Tanh, {}},                {Op::Erf, {}},
                             {Op::Softplus, {}},  {Op::Sqrt, {}},                        {Op::Exp, {}},                 {Op::Log, {}},
                             {Op::Neg, {}},       {Op::Abs, {}},                         {Op::Reciprocal, {}},          {Op::Floor, {}},
                             {Op::Ceil, {}},      {Op::Round, {}},                       {Op::Sign, {}},                {Op::Sin, {}},
                             {Op::Cos, {}}};
  uint64_t seed = 1500;
  for (const Unary& u : operators) {
    for (const Shape& shape : {Shape{1, 13, 5, 7}, Shape{3, 300}}) {
      SCOPED_TRACE(op_name(u.op));
      RuleGraph g(++seed);
      const TensorId x = g.activation("x", shape, g.params(g.rng.uniform(0.01f, 0.1f)));
      const bool has_attrs = u.attrs.alpha != 0;
      const TensorId y = has_attrs ? g.op(u.op, {x}, u.attrs) : g.op(u.op, {x});
      g.finish(y, g.params(g.rng.uniform(0.005f, 0.05f)), false);
      check(g, {{u.op}});
    }
  }
}

TEST(Tables, GeluAndClip) {
  uint64_t seed = 1600;
  for (const bool tanh : {false, true}) {
    RuleGraph g(++seed);
    schema::GeluAttrsT a;
    a.tanh_approximation = tanh;
    g.finish(g.op(Op::Gelu, {g.activation("x", {2, 9, 4})}, a), g.params(), false);
    check(g, {{Op::Gelu}});
  }
  for (int i = 0; i < 12; ++i) {
    RuleGraph g(++seed);
    const QuantParams p = g.params();
    const TensorId x = g.activation("x", {1, 9, 4, 5}, p);
    const TensorId y = g.random_clamp(x, p);
    g.finish(y == x ? g.op(Op::Relu, {x}) : y, g.params(p.scale[0] * g.rng.uniform(0.4f, 1.5f)), false);
    check(g, {{i >= 0 && g.graph().nodes[2].op == Op::Relu ? Op::Relu : Op::Clip}});
  }
}

/// Two activations in a row, bounds that are no constants, bounds the wrong way round: no table, literally float.
TEST(Tables, NearMisses) {
  for (int kind = 0; kind < 3; ++kind) {
    RuleGraph g(uint64_t(1700 + kind));
    TensorId y = g.activation("x", {1, 9, 4, 5});
    if (kind == 0) y = g.op(Op::Clip, {g.op(Op::Relu, {y}), g.scalar(0), g.scalar(1)});
    if (kind == 1) y = g.op(Op::Clip, {y, g.input("low", {}), g.scalar(1)});
    if (kind == 2) y = g.op(Op::Clip, {y, g.scalar(1), g.scalar(-1)});
    g.finish(y, g.params(), false);
    check(g);
  }
}

TEST(Requantize, ChangesOfScaleAndType) {
  for (uint64_t seed = 1800; seed < 1840; ++seed) {
    SCOPED_TRACE(seed);
    RuleGraph g(seed);
    const QuantParams a = g.params();
    // Powers of two make every second value a tie of rint.
    QuantParams b = g.params(a.scale[0] * g.rng.pick({1.0f, 2.0f, 4.0f, 0.5f, g.rng.uniform(0.2f, 3)}));
    if (g.rng.chance(4)) b = a;
    TensorId x = g.activation("x", {1, 21, 3, 5}, a);
    if (g.rng.chance(3)) {
      b.dtype = DType::UInt8;
      b.zero_point[0] += 128, b.qmin += 128, b.qmax += 128;
    }
    x = g.dequantize(g.quantize(x, b));
    const bool back = g.rng.chance(2);
    if (back) x = g.dequantize(g.quantize(x, a));
    g.output(x);
    check(g);
  }
}

/// A uint8 public input, as an imported model has it: its Quantize/Dequantize pair is a change of scale.
TEST(Requantize, PublicUint8) {
  for (const int zero_point : {0, 128, 255}) {
    RuleGraph g(uint64_t(1900 + zero_point));
    QuantParams u = per_tensor_params(DType::UInt8, 0.02f, zero_point);
    const TensorId in = g.input("x", {1, 3, 9, 9}, DType::UInt8);
    g.graph().tensor(in).quant = u;
    std::vector<float> scales;
    const QuantParams p = per_tensor_params(DType::Int8, 0.02f, zero_point - 128);
    const TensorId x = g.dequantize(g.quantize(g.dequantize(in), p));
    const TensorId y = g.op(Op::Conv, {x, g.random_weights({5, 3, 3, 3}, 0, 5, &scales)});
    g.output(g.quantize(g.dequantize(g.quantize(y, per_tensor_params(DType::Int8, 0.05f, 4))), per_tensor_params(DType::UInt8, 0.05f, 132)));
    check(g, {{Op::Conv}});
  }
}

}  // namespace
}  // namespace lq::reference
