// int8 Add, Sub, Mul, PRelu, tables and ReduceMean as operators: every broadcasting in both layouts, against naive
// loops.
#include "kernels/op_case.h"
#include "numerics/elementary.h"

namespace lq::test {
namespace {

/// Row-major index of output element i in a tensor of `shape` broadcast to `out`.
int64_t broadcast_index(int64_t i, const Shape& shape, const Shape& out) {
  int64_t index = 0, stride = 1;
  for (size_t back = 1; back <= out.size(); ++back) {
    const int64_t at = i % out[out.size() - back];
    i /= out[out.size() - back];
    if (back > shape.size()) continue;
    const int64_t dim = shape[shape.size() - back];
    if (dim != 1) index += at * stride;
    stride *= dim;
  }
  return index;
}

struct Pair {
  Shape a, b, out;
};
const Pair kPairs[] = {
    {{2, 13, 5, 6}, {2, 13, 5, 6}, {2, 13, 5, 6}},  // same
    {{2, 13, 5, 6}, {1, 13, 1, 1}, {2, 13, 5, 6}},  // squeeze-and-excitation
    {{2, 13, 5, 6}, {2, 13, 1, 1}, {2, 13, 5, 6}},
    {{2, 8, 1, 1}, {2, 8, 5, 6}, {2, 8, 5, 6}},  // the varying operand second
    {{2, 13, 5, 6}, {1}, {2, 13, 5, 6}},         // scalar
    {{}, {2, 13, 5, 6}, {2, 13, 5, 6}},
    {{2, 13, 5, 6}, {13, 1, 1}, {2, 13, 5, 6}},
    {{2, 13, 5, 6}, {2, 1, 5, 6}, {2, 13, 5, 6}},  // spatial attention
    {{2, 13, 5, 6}, {6}, {2, 13, 5, 6}},
    {{2, 13, 5, 1}, {1, 13, 1, 6}, {2, 13, 5, 6}},  // both broadcast
    {{3, 1}, {1, 37}, {3, 37}},
    {{4, 9, 40}, {4, 9, 40}, {4, 9, 40}},
    {{1, 16, 200, 190}, {1, 16, 200, 190}, {1, 16, 200, 190}},  // several threads
};

const std::pair<QuantParams, QuantParams> kParams[] = {{s8(0.3f, -128), s8(0.01f, 127)}, {s8(1.0f, 5), s8(30.0f, -7)}};

void check_binary(Op op, const Pair& pair, const QuantParams& qa, const QuantParams& qb, const QuantParams& qy) {
  const std::vector<int8_t> a = random_s8(count_of(pair.a), 1), b = random_s8(count_of(pair.b), 2);
  const float sa = qa.scale[0], sb = qb.scale[0], sy = qy.scale[0];
  std::vector<int8_t> y;
  for (int64_t i = 0; i < count_of(pair.out); ++i) {
    const int32_t da = a[size_t(broadcast_index(i, pair.a, pair.out))] - qa.zero_point[0];
    const int32_t db = b[size_t(broadcast_index(i, pair.b, pair.out))] - qb.zero_point[0];
    float t;
    if (op == Op::Mul) {
      t = float(da * db) * float(double(sa) * double(sb) / double(sy));
    } else {
      const float ta = float(da) * float(double(sa) / double(sy)), tb = float(db) * float(double(sb) / double(sy));
      t = op == Op::Add ? ta + tb : ta - tb;
    }
    y.push_back(int8_t(round_to_quantized(t, qy.zero_point[0], qy.qmin, qy.qmax)));
  }
  const std::string what = std::string(op_name(op)) + " " + shape_string(pair.a) + " " + shape_string(pair.b);
  const bool can_block = pair.out.size() == 3 || pair.out.size() == 4;
  for (int kind = 0; kind < (can_block ? 5 : 2); ++kind) {
    // 0: linear; 1: linear, b constant; 2: blocked where of the output's rank; 3: blocked, b constant; 4: blocked, b
    // linear
    OpCase c(op);
    c.input(pair.a, a, kind >= 2 && pair.a.size() == pair.out.size(), qa);
    if (kind == 1 || kind == 3) {
      c.constant(pair.b, b, qb);
    } else {
      c.input(pair.b, b, kind == 2 && pair.b.size() == pair.out.size(), qb);
    }
    c.output(DType::Int8, pair.out, kind >= 2, qy);
    c.expect(y, what + " kind " + std::to_string(kind));
  }
}

TEST(ElementwiseS8, AddSubMulBroadcast) {
  for (Op op : {Op::Add, Op::Sub, Op::Mul}) {
    for (const Pair& pair : kPairs) {
      for (const auto& [qa, qb] : kParams) check_binary(op, pair, qa, qb, s8(0.9f, -11, -120, 101));
    }
  }
}

// A skip connection whose scales differ 30 : 1, by hand: 10·(3/0.1) + 4·(0.1/0.1) saturates; −2·30 + 7 = −53.
TEST(ElementwiseS8, UnequalScales) {
  OpCase add(Op::Add);
  add.input<int8_t>({2}, {10, -2}, false, s8(3.0f, 0)).input<int8_t>({2}, {4, 7}, false, s8(0.1f, 0));
  add.output(DType::Int8, {2}, false, s8(0.1f, 0)).expect<int8_t>({127, -53});
}

TEST(ElementwiseS8, PRelu) {
  const Shape shape = {2, 13, 5, 6};
  const std::vector<int8_t> x = random_s8(count_of(shape), 3);
  const QuantParams from = s8(0.3f, 9), to = s8(0.25f, -20, -128, 100);
  for (const Shape& slope_shape : {Shape{13, 1, 1}, Shape{1}, Shape{1, 13, 1, 1}, Shape{13, 5, 6}, Shape{6}, Shape{}}) {
    const std::vector<float> slope = random_f32(count_of(slope_shape), 4, 2.0f);
    std::vector<int8_t> y;
    for (int64_t i = 0; i < count_of(shape); ++i) {
      const int32_t acc = x[size_t(i)] - 9;
      const double s = acc < 0 ? double(slope[size_t(broadcast_index(i, slope_shape, shape))]) : 1.0;
      y.push_back(int8_t(requantize(acc, float(double(0.3f) * s / double(0.25f)), -20, -128, 100)));
    }
    for (bool blocked : {false, true}) {
      OpCase prelu(Op::PRelu);
      prelu.input(shape, x, blocked, from).constant(slope_shape, slope).output(DType::Int8, shape, blocked, to);
      prelu.expect(y, "slope " + shape_string(slope_shape));
    }
  }
}

void check_table(Op op, const std::function<double(double)>& f, const std::function<void(OpCase&)>& configure = {}) {
  const Shape shape = {1, 5, 8, 13};
  std::vector<int8_t> x;
  for (int64_t i = 0; i < count_of(shape); ++i) x.push_back(int8_t(i));
  for (const auto& [from, to] :
       {std::pair{s8(0.05f, -20), s8(0.02f, 3, -120, 120)}, std::pair{s8(0.7f, 127), s8(0.01f, -128)}}) {
    std::vector<int8_t> y;
    for (int8_t q : x) {
      const double value = f(double(q - from.zero_point[0]) * double(from.scale[0]));
      y.push_back(int8_t(quantize(float(value), to.scale[0], to.zero_point[0], to.qmin, to.qmax)));
    }
    for (bool blocked : {false, true}) {
      OpCase c(op);
      c.input(shape, x, blocked, from).output(DType::Int8, shape, blocked, to);
      if (configure) configure(c);
      c.expect(y, op_name(op));
    }
  }
}

TEST(ElementwiseS8, Tables) {
  namespace el = elementary;
  check_table(Op::Relu, [](double x) { return x > 0 ? x : 0.0; });
  check_table(Op::Sigmoid, [](double x) { return el::sigmoid(x); });
  check_table(Op::Silu, [](double x) { return x * el::sigmoid(x); });
  check_table(Op::HardSwish, [](double x) { return x * std::fmax(0.0, std::fmin(1.0, x / 6 + 0.5)); });
  check_table(Op::Tanh, [](double x) { return el::tanh(x); });
  check_table(Op::Gelu, [](double x) { return el::gelu(x, false); });
  check_table(Op::Exp, [](double x) { return el::exp(x); });
  check_table(Op::Log, [](double x) { return el::log(x); });     // NaN below zero: qmin
  check_table(Op::Sqrt, [](double x) { return std::sqrt(x); });  // the same
  check_table(Op::Reciprocal, [](double x) { return 1 / x; });   // infinite at the zero point: saturates
  check_table(Op::Neg, [](double x) { return -x; });
  check_table(Op::Floor, [](double x) { return std::floor(x); });
  check_table(Op::Round, [](double x) { return std::nearbyint(x); });
  check_table(
      Op::LeakyRelu, [](double x) { return x < 0 ? double(0.1f) * x : x; },
      [](OpCase& c) {
        schema::ActivationAttrsT a;
        a.alpha = 0.1f;
        c.node().attrs.Set(a);
      });
  check_table(
      Op::Clip, [](double x) { return x < -1.5   ? -1.5
                                      : x > 2.25 ? 2.25
                                                 : x; },
      [](OpCase& c) { c.constant<float>({}, {-1.5f}).constant<float>({}, {2.25f}); });
  check_table(
      Op::Clip, [](double x) { return x > 0.5 ? 0.5 : x; }, [](OpCase& c) { c.absent().constant<float>({}, {0.5f}); });
}

TEST(ElementwiseS8, ReduceMean) {
  const Shape shape = {2, 13, 4, 5};
  const std::vector<int8_t> x = random_s8(count_of(shape), 5);
  const QuantParams from = s8(0.3f, -128), to = s8(0.2f, 11, -100, 120);
  const std::vector<std::vector<int64_t>> axes_cases = {{2, 3}, {-1}, {1}, {0, 2}, {0, 1, 2, 3}, {2}};
  for (const std::vector<int64_t>& axes : axes_cases) {
    for (bool keepdims : {true, false}) {
      std::vector<bool> reduced(4, false);
      for (int64_t a : axes) reduced[size_t((a + 4) % 4)] = true;
      Shape full, out;
      int64_t n = 1;
      for (size_t i = 0; i < 4; ++i) {
        full.push_back(reduced[i] ? 1 : shape[i]);
        if (reduced[i]) n *= shape[i];
        if (!reduced[i] || keepdims) out.push_back(full.back());
      }
      std::vector<int32_t> acc(size_t(count_of(full)), 0);
      for (int64_t i = 0; i < count_of(shape); ++i) acc[size_t(broadcast_index(i, full, shape))] += x[size_t(i)] + 128;
      std::vector<int8_t> y;
      for (int32_t a : acc)
        y.push_back(int8_t(requantize(a, float(double(0.3f) / (double(0.2f) * double(n))), 11, -100, 120)));
      for (bool in : {false, true}) {
        for (bool blocked : {false, true}) {
          if (blocked && out.size() < 3) continue;
          OpCase mean(Op::ReduceMean);
          schema::ReduceAttrsT attrs;
          attrs.keepdims = keepdims;
          mean.node().attrs.Set(attrs);
          mean.input(shape, x, in, from)
              .constant<int64_t>({int64_t(axes.size())}, axes)
              .output(DType::Int8, out, blocked, to);
          mean.expect(y, "axes " + shape_string(axes) + (in ? " blocked" : " linear"));
        }
      }
    }
  }
}

TEST(ElementwiseS8, RefusesWhatTheRulesDoNotCover) {
  OpCase add(Op::Add);  // a constant with one scale a channel
  QuantParams q = per_channel_weights({1, 2}, 0);
  add.input<int8_t>({2}, {1, 2}, false, s8(1, 0))
      .constant<int8_t>({2}, {1, 2}, q)
      .output(DType::Int8, {2}, false, s8(1, 0));
  EXPECT_EQ(add.run(Isa::kScalar, 1).code(), StatusCode::kUnsupported);
  OpCase prelu(Op::PRelu);  // a slope known at run time only
  prelu.input<int8_t>({2}, {1, 2}, false, s8(1, 0))
      .input<float>({1}, {0.5f}, false)
      .output(DType::Int8, {2}, false, s8(1, 0));
  EXPECT_EQ(prelu.run(Isa::kScalar, 1).code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace lq::test
