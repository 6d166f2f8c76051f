// int16 activations (docs/NUMERICS.md, "Sixteen bits") beside convolutions, which conv_rule_test.cc has: matrices, sums
// and products of mixed types, changes of type, moves, and what looks like a rule but is none.
#include <cmath>

#include "reference/rules/rule_check.h"

namespace lq::reference {
namespace {

/// Every mixture of int8 and int16 operands and results with at least one int16.
struct Mixture {
  bool a, b, y;
};
constexpr Mixture kMixtures[] = {{true, true, true},  {true, true, false},  {true, false, true}, {true, false, false},
                                 {false, true, true}, {false, true, false}, {false, false, true}};

const std::pair<Shape, Shape> kBroadcasts[] = {
    {{2, 19, 3, 5}, {2, 19, 3, 5}}, {{1, 12, 4, 4}, {12, 1, 1}},   {{2, 9, 3, 3}, {}},
    {{1, 10, 6, 5}, {1, 1, 6, 5}},  {{1, 10, 6, 1}, {1, 1, 1, 5}}, {{3, 17}, {3, 1}},
    {{1, 13, 9}, {1, 13, 9}},       {{1, 8, 70, 5}, {1, 8, 70, 5}}};

TEST(ShortAddSubMul, EveryMixtureAndBroadcast) {
  uint64_t seed = 7000;
  for (const Op op : {Op::Add, Op::Sub, Op::Mul}) {
    for (const auto& [a, b] : kBroadcasts) {
      for (const Mixture& m : kMixtures) {
        SCOPED_TRACE(std::string(op_name(op)) + shape_string(a) + shape_string(b));
        RuleGraph g(++seed);
        const auto params = [&](bool wide, float s) { return wide ? g.int16_params(s / 256) : g.params(s); };
        const QuantParams pa = params(m.a, g.rng.uniform(0.01f, 0.1f)), pb = params(m.b, g.rng.uniform(0.01f, 0.1f));
        const int kind = int(g.rng.between(0, 3));  // two inputs, swapped, a constant second, a constant first
        const TensorId x = g.activation("a", a, pa);
        const TensorId y = kind < 2 ? g.activation("b", b, pb) : g.quantized_constant("b", b, pb);
        const TensorId z = kind % 2 == 0 ? g.op(op, {x, y}) : g.op(op, {y, x});
        const double unit = op == Op::Mul ? double(pa.scale[0]) * double(pb.scale[0]) : double(pa.scale[0]);
        const double largest =
            op == Op::Mul ? unit * pa.qmax * pb.qmax : double(pa.scale[0]) * pa.qmax + double(pb.scale[0]) * pb.qmax;
        const double wanted = largest / (m.y ? 32767 : 127) * double(g.rng.uniform(0.3f, 1.5f));
        const float scale = g.scale_near(wanted, unit);
        g.finish(z, m.y ? g.int16_params(scale, g.rng.pick({32767, 20000})) : g.params(scale));
        check(g, {{op, m.y ? DType::Int16 : DType::Int8}});
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

/// Between convolutions: blocked tensors, with channels that do not fill their last block.
TEST(ShortAddSubMul, BetweenConvolutions) {
  for (uint64_t seed = 7300; seed < 7312; ++seed) {
    RuleGraph g(seed);
    const int64_t c = g.rng.pick<int64_t>({5, 8, 12, 24});
    std::vector<float> s;
    const auto conv = [&](TensorId in, const QuantParams& q) {
      return g.dequantize(g.quantize(g.op(Op::Conv, {in, g.random_weights({c, c, 1, 1}, 0, c, &s)}), q));
    };
    const TensorId x = g.activation("x", {1, c, 6, 7}, g.int16_params(0.001f));
    const TensorId a = conv(x, g.int16_params(0.003f)), b = conv(a, g.params(0.5f));
    const TensorId r = g.dequantize(g.quantize(g.op(Op::Relu, {g.op(Op::Add, {a, b})}), g.int16_params(0.004f)));
    g.finish(g.op(Op::Mul, {conv(r, g.params(1.0f)), r}), g.int16_params(0.5f));
    check(g, {{Op::Add, DType::Int16}, {Op::Conv, DType::Int16}, {Op::Conv, DType::Int8}, {Op::Mul, DType::Int16}});
    if (::testing::Test::HasFailure()) return;
  }
}

void random_matrix(uint64_t seed, bool wide_x, int output) {
  RuleGraph g(seed);
  const int64_t m = g.rng.pick<int64_t>({1, 2, 5, 12, 13, 40, 300}), k = g.rng.pick<int64_t>({1, 3, 8, 13, 64, 200}),
                n = g.rng.pick<int64_t>({1, 7, 8, 9, 16, 17, 33, 100});
  const QuantParams x = wide_x ? g.int16_params(2e-4f, RuleGraph::int16_limit(double(k))) : g.params(0.02f);
  const bool gemm = g.rng.chance(2), trans = gemm && g.rng.chance(2);
  std::vector<float> scales;
  const Shape w = trans ? Shape{n, k} : Shape{k, n};
  std::vector<TensorId> in{g.activation("x", gemm ? Shape{m, k} : Shape{2, m, k}, x),
                           g.random_weights(w, trans ? 0 : 1, n, &scales)};
  if (gemm && g.rng.chance(2)) in.push_back(g.random_bias(x.scale[0], scales));
  schema::GemmAttrsT attrs;
  attrs.trans_b = trans;
  const TensorId y = gemm ? g.op(Op::Gemm, in, attrs) : g.op(Op::MatMul, in);
  const Op op = gemm ? Op::Gemm : Op::MatMul;
  if (output == 2) {
    g.output(y);
    return check(g, {{op, DType::Float32}});
  }
  const double wanted = double(x.scale[0]) * x.qmax / 127 * 0.7 * std::sqrt(double(k)) / (output == 1 ? 256 : 1);
  const float scale = g.scale_near(wanted, double(x.scale[0]) * double(scales[0]));
  g.finish(y, output == 1 ? g.int16_params(scale) : g.params(scale));
  check(g, {{op, output == 1 ? DType::Int16 : DType::Int8}});
}

TEST(ShortMatrix, GemmAndMatMul) {
  for (uint64_t seed = 7400; seed < 7520; ++seed) {
    SCOPED_TRACE(seed);
    const bool wide_x = seed % 2 == 0;
    random_matrix(seed, wide_x, wide_x ? int(seed / 2 % 3) : 1);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ShortRequantize, ChangesOfScaleAndType) {
  for (uint64_t seed = 7600; seed < 7660; ++seed) {
    SCOPED_TRACE(seed);
    RuleGraph g(seed);
    const bool narrow = g.rng.chance(2);
    const QuantParams a = narrow ? g.params(0.05f) : g.int16_params(2e-4f);
    const Shape shape = g.rng.pick({Shape{1, 21, 3, 5}, Shape{1, 21, 30, 50}});
    TensorId x = g.activation("x", shape, a);
    QuantParams b = narrow || g.rng.chance(3) ? g.int16_params(g.rng.pick({2e-4f, 4e-4f, 1e-4f, 3e-3f}), 30000)
                                              : g.params(g.rng.pick({0.0512f, 0.03f, 1e-3f}));
    if (!narrow && g.rng.chance(5)) b = a;
    if (b.dtype == DType::Int8 && g.rng.chance(3)) {
      b.dtype = DType::UInt8;
      b.zero_point[0] += 128, b.qmin += 128, b.qmax += 128;
    }
    x = g.dequantize(g.quantize(x, b));
    if (g.rng.chance(2)) x = g.dequantize(g.quantize(x, a));
    g.output(x);
    check(g);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ShortMoves, KeepTheirType) {
  schema::PoolAttrsT pool;
  pool.kernel_shape = {2, 3}, pool.strides = {2, 1}, pool.pads = {1, 1, 0, 1};
  schema::AxisAttrsT axis;
  axis.axis = 1;
  schema::TransposeAttrsT perm;
  perm.perm = {0, 2, 3, 1};
  schema::PadAttrsT pad;
  schema::ResizeAttrsT nearest;
  for (int kind = 0; kind < 10; ++kind) {
    SCOPED_TRACE(kind);
    RuleGraph g(uint64_t(7700 + kind));
    const QuantParams p = g.int16_params(1e-3f, 30000);
    TensorId x = g.activation("x", {2, 11, 6, 7}, p), y = kNoTensor;
    if (kind >= 5) {  // blocked, from a convolution
      std::vector<float> s;
      x = g.dequantize(g.quantize(g.op(Op::Conv, {x, g.random_weights({11, 11, 1, 1}, 0, 11, &s)}), p));
    }
    Op op = Op::MaxPool;
    switch (kind % 5) {
      case 0:
        y = g.op(op, {x}, pool);
        break;
      case 1:
        y = g.op(op = Op::Concat, {x, x}, axis);
        break;
      case 2:
        y = g.op(op = Op::Transpose, {x}, perm);
        break;
      case 3:
        y = g.op(op = Op::Pad, {x, g.ints("p", {0, 1, 0, 1, 0, 0, 2, 0}), g.scalar(4.5f)}, pad);
        break;
      default:
        y = g.op(op = Op::Resize, {x, g.floats("s", {4}, {1, 1, 1.5f, 2.0f})}, nearest);
        break;
    }
    g.finish(y, p, false);
    check(g, {{op, DType::Int16}});
    if (::testing::Test::HasFailure()) return;
  }
}

/// A zero point, tables, averages, other limits on one side of a move, two int16 activations: literally float.
TEST(ShortNearMisses, AreFloat) {
  for (int kind = 0; kind < 7; ++kind) {
    SCOPED_TRACE(kind);
    RuleGraph g(uint64_t(7800 + kind));
    QuantParams p = g.int16_params(1e-3f, 3000);
    if (kind == 0) p.zero_point = {5};
    TensorId y = g.activation("x", {1, 9, 4, 5}, p);
    std::vector<float> s;
    if (kind == 0) y = g.op(Op::Conv, {y, g.random_weights({7, 9, 1, 1}, 0, 7, &s)});
    if (kind == 1) y = g.op(Op::Sigmoid, {y});
    if (kind == 2) y = g.op(Op::GlobalAveragePool, {y});
    if (kind == 3) y = g.op(Op::MatMul, {y, g.activation("z", {1, 9, 5, 6}, p)});
    if (kind == 4) y = g.op(Op::Relu, {y});
    if (kind == 6) y = g.op(Op::Relu, {g.activation("z", {1, 9, 4, 5})});  // an int8 table into int16
    if (kind == 5) p.qmax = 2999;
    if (kind == 5) y = g.op(Op::Identity, {y});
    const TensorId q = g.quantize(y, p);
    g.output(g.dequantize(q));
    check(g);
    if (::testing::Test::HasFailure()) return;
  }
}

/// As many products of 32767 · 127 as an int32 holds: a pair of them is what vpmaddwd adds.
TEST(ShortConv, TheLargestAccumulators) {
  for (const int8_t weight : {int8_t(127), int8_t(-127)}) {
    for (const bool depthwise : {false, true}) {
      RuleGraph g(7900);
      const int64_t in = depthwise ? 16 : 57;  // 57·9·127·32767 = 2.13e9
      QuantParams x = per_tensor_params(DType::Int16, 1.0f, 0);
      x.qmin = -32767;
      const TensorId w = g.weights("w", {16, depthwise ? 1 : in, 3, 3},
                                   std::vector<int8_t>(size_t(16 * (depthwise ? 1 : in) * 9), weight),
                                   std::vector<float>(16, 1.0f), 0);
      schema::ConvAttrsT attrs;
      attrs.kernel_shape = {3, 3};
      attrs.pads = {1, 1, 1, 1};
      attrs.groups = depthwise ? 16 : 1;
      const TensorId a = g.activation("x", {1, in, 5, 6}, x);
      g.graph().tensor(g.graph().inputs[0]).range = ValueRange{40000, 50000};  // all saturate
      g.output(g.op(Op::Conv, {a, w}, attrs));
      g.output(g.quantize(g.op(Op::Conv, {a, w}, attrs), g.int16_params(70000.0f)));
      check(g, {{Op::Conv, DType::Int16}, {Op::Conv, DType::Float32}});
    }
  }
}

}  // namespace
}  // namespace lq::reference
