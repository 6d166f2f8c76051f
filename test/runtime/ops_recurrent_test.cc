// LSTM, GRU and Einsum against their definitions written out in double, and bits across ISAs and threads.
#include <gmock/gmock.h>

#include <cmath>

#include "runtime/model.h"
#include "runtime/op_runner.h"

namespace lq {
namespace {

using schema::RnnDirection;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using testing::OpTest;
using ::testing::Pointwise;
using testing::run_plan;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Small numbers without a pattern.
std::vector<float> noise(size_t n, unsigned seed) {
  std::vector<float> v(n);
  for (float& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = float(int(seed >> 8 & 0xffff) - 0x8000) / 0x8000;
  }
  return v;
}

struct Rnn {
  int64_t sequence = 4, batch = 3, input = 5, hidden = 11, directions = 1;
  RnnDirection direction = RnnDirection::Forward;
  bool lstm = true, peepholes = false, linear_before_reset = false, batch_first = false;
  std::vector<int32_t> lengths;
  int64_t gates() const { return lstm ? 4 : 3; }
  std::vector<float> x() const { return noise(size_t(sequence * batch * input), 1); }
  std::vector<float> w() const { return noise(size_t(directions * gates() * hidden * input), 2); }
  std::vector<float> r() const { return noise(size_t(directions * gates() * hidden * hidden), 3); }
  std::vector<float> b() const { return noise(size_t(directions * 2 * gates() * hidden), 4); }
  std::vector<float> p() const { return noise(size_t(directions * 3 * hidden), 5); }
};

OpTest build(const Rnn& s, bool constant_weights = true) {
  OpTest t;
  std::vector<float> x = s.x();
  Shape shape = {s.sequence, s.batch, s.input};
  if (s.batch_first) std::swap(shape[0], shape[1]);
  const Shape ws = {s.directions, s.gates() * s.hidden, s.input}, rs = {s.directions, s.gates() * s.hidden, s.hidden};
  std::vector<TensorId> inputs = {t.input("x", shape)};
  inputs.push_back(constant_weights ? t.floats("w", ws, s.w()) : t.input("w", ws));
  inputs.push_back(constant_weights ? t.floats("r", rs, s.r()) : t.input("r", rs));
  inputs.push_back(t.floats("b", {s.directions, 2 * s.gates() * s.hidden}, s.b()));
  inputs.push_back(s.lengths.empty() ? kNoTensor : t.constant<int32_t>({s.batch}, s.lengths));
  if (s.peepholes) {
    inputs.insert(inputs.end(), {kNoTensor, kNoTensor});
    inputs.push_back(t.floats("p", {s.directions, 3 * s.hidden}, s.p()));
  }
  Shape y = {s.sequence, s.directions, s.batch, s.hidden};
  if (s.batch_first) y = {s.batch, s.sequence, s.directions, s.hidden};
  t.output(t.node(s.lstm ? Op::LSTM : Op::GRU, inputs, y));
  auto& attrs = t.attrs<schema::RnnAttrsT>();
  attrs.hidden_size = int(s.hidden);
  attrs.direction = s.direction;
  attrs.linear_before_reset = s.linear_before_reset;
  attrs.batch_first = s.batch_first;
  return t;
}

// Y by ONNX's equations in double, [sequence, directions, batch, hidden].
std::vector<float> expected(const Rnn& s) {
  const std::vector<float> x = s.x(), w = s.w(), r = s.r(), b = s.b(), p = s.p();
  std::vector<float> y(size_t(s.sequence * s.directions * s.batch * s.hidden), 0.0f);
  const int64_t H = s.hidden, G = s.gates();
  for (int64_t d = 0; d < s.directions; ++d)
    for (int64_t n = 0; n < s.batch; ++n) {
      std::vector<double> h(size_t(H), 0), c(size_t(H), 0);
      const int64_t length = s.lengths.empty() ? s.sequence : s.lengths[size_t(n)];
      const bool reverse = s.direction == RnnDirection::Reverse || d == 1;
      for (int64_t step = 0; step < length; ++step) {
        const int64_t t = reverse ? length - 1 - step : step;
        const auto bias = [&](int64_t g, int64_t j, bool recurrent) {
          return double(b[size_t(d * 2 * G * H + (recurrent ? G * H : 0) + g * H + j)]);
        };
        const auto from_x = [&](int64_t g, int64_t j) {
          double v = bias(g, j, false);
          for (int64_t k = 0; k < s.input; ++k)
            v += double(x[size_t((t * s.batch + n) * s.input + k)]) *
                 double(w[size_t(((d * G + g) * H + j) * s.input + k)]);
          return v;
        };
        const auto from_h = [&](int64_t g, int64_t j, const std::vector<double>& state) {
          double v = bias(g, j, true);
          for (int64_t k = 0; k < H; ++k) v += state[size_t(k)] * double(r[size_t(((d * G + g) * H + j) * H + k)]);
          return v;
        };
        std::vector<double> next(h.size());
        if (s.lstm) {
          std::vector<double> next_c(c.size());
          for (int64_t j = 0; j < H; ++j) {
            const auto peep = [&](int64_t g, double v) {
              return s.peepholes ? double(p[size_t((d * 3 + g) * H + j)]) * v : 0.0;
            };
            const size_t at = size_t(j);
            const double i = sigmoid(from_x(0, j) + from_h(0, j, h) + peep(0, c[at]));
            const double f = sigmoid(from_x(2, j) + from_h(2, j, h) + peep(2, c[at]));
            next_c[at] = f * c[at] + i * std::tanh(from_x(3, j) + from_h(3, j, h));
            next[at] = sigmoid(from_x(1, j) + from_h(1, j, h) + peep(1, next_c[at])) * std::tanh(next_c[at]);
          }
          c = next_c;
        } else {
          std::vector<double> gated(h.size()), reset(h.size());
          for (int64_t j = 0; j < H; ++j) {
            reset[size_t(j)] = sigmoid(from_x(1, j) + from_h(1, j, h));
            gated[size_t(j)] = reset[size_t(j)] * h[size_t(j)];
          }
          for (int64_t j = 0; j < H; ++j) {
            const double z = sigmoid(from_x(0, j) + from_h(0, j, h));
            const double fresh = s.linear_before_reset ? reset[size_t(j)] * from_h(2, j, h) : from_h(2, j, gated);
            next[size_t(j)] = (1 - z) * std::tanh(from_x(2, j) + fresh) + z * h[size_t(j)];
          }
        }
        h = next;
        for (int64_t j = 0; j < H; ++j) y[size_t(((t * s.directions + d) * s.batch + n) * H + j)] = float(h[size_t(j)]);
      }
    }
  return y;
}

std::vector<Rnn> variants() {
  std::vector<Rnn> v;
  for (bool lstm : {true, false}) {
    Rnn s;
    s.lstm = lstm;
    v.push_back(s);
    s.direction = RnnDirection::Reverse;
    s.lengths = {4, 1, 3};
    v.push_back(s);
    s.direction = RnnDirection::Bidirectional;
    s.directions = 2;
    v.push_back(s);
    s.lengths.clear();
    s.hidden = 16;
    s.peepholes = lstm;
    s.linear_before_reset = !lstm;
    v.push_back(s);
  }
  return v;
}

TEST(Recurrent, EqualsItsEquations) {
  for (const Rnn& s : variants()) {
    OpTest t = build(s);
    EXPECT_THAT(run_plan(t.model, {s.x()}), Pointwise(FloatNear(2e-6f), expected(s)));
  }
}

TEST(Recurrent, SameBitsOnEveryIsaThreadCountAndForWeightsGivenAtRunTime) {
  for (const Rnn& s : variants()) {
    OpTest t = build(s), dynamic = build(s, false);
    const std::vector<float> y = run_plan(t.model, {s.x()});
    EXPECT_EQ(run_plan(t.model, {s.x()}, 3), y);
    EXPECT_EQ(run_plan(t.model, {s.x()}, 1, default_isa().value()), y);
    EXPECT_EQ(run_plan(dynamic.model, {s.x(), s.w(), s.r()}, 2), y);
  }
}

TEST(Recurrent, BatchFirstIsTheSameTransposed) {
  for (bool lstm : {true, false}) {
    Rnn s;
    s.lstm = lstm;
    const std::vector<float> y = run_plan(build(s).model, {s.x()});
    Rnn first = s;
    first.batch_first = true;
    std::vector<float> x = s.x(), swapped(x.size());
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t t = 0; t < s.sequence; ++t)
        for (int64_t k = 0; k < s.input; ++k)
          swapped[size_t((n * s.sequence + t) * s.input + k)] = x[size_t((t * s.batch + n) * s.input + k)];
    const std::vector<float> z = run_plan(build(first).model, {swapped});
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t t = 0; t < s.sequence; ++t)
        for (int64_t j = 0; j < s.hidden; ++j)
          EXPECT_EQ(z[size_t((n * s.sequence + t) * s.hidden + j)], y[size_t((t * s.batch + n) * s.hidden + j)]);
  }
}

template <typename T>
std::vector<T> einsum(const std::string& equation, std::vector<std::pair<Shape, std::vector<T>>> operands) {
  OpTest t;
  std::vector<TensorId> inputs;
  for (auto& [shape, values] : operands) inputs.push_back(t.constant<T>(shape, values));
  t.op(Op::Einsum, inputs);
  t.attrs<schema::EinsumAttrsT>().equation = equation;
  return t.template result<T>();
}

TEST(Einsum, SmallOnes) {
  const std::vector<float> m = {1, 2, 3, 4, 5, 6};  // [2, 3]
  EXPECT_THAT(einsum<float>("ij->ji", {{{2, 3}, m}}), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(einsum<float>("ij->i", {{{2, 3}, m}}), ElementsAre(6, 15));
  EXPECT_THAT(einsum<float>("ii->i", {{{2, 2}, {1, 2, 3, 4}}}), ElementsAre(1, 4));
  EXPECT_THAT(einsum<float>("ij,jk", {{{2, 3}, m}, {{3, 1}, {1, 10, 100}}}), ElementsAre(321, 654));
  EXPECT_THAT(einsum<float>("i,i->", {{{3}, {1, 2, 3}}, {{3}, {4, 5, 6}}}), ElementsAre(32));
  EXPECT_THAT(einsum<float>("i,j->ji", {{{2}, {1, 2}}, {{3}, {1, 10, 100}}}), ElementsAre(1, 2, 10, 20, 100, 200));
  EXPECT_THAT(einsum<float>("a,ab,b->", {{{2}, {1, 2}}, {{2, 3}, m}, {{3}, {1, 0, 1}}}),
              ElementsAre((1 + 3) + 2 * (4 + 6)));
  EXPECT_THAT(einsum<double>("...ij,...jk->...ik", {{{2, 1, 2}, {1, 2, 3, 4}}, {{1, 2, 1}, {1, 10}}}),
              ElementsAre(21, 43));
}

// Attention scores: a batch of matrix products with the right operand transposed and heads in the middle.
TEST(Einsum, BatchedWithTranspositionAndEveryIsa) {
  const auto build = [] {
    OpTest t;
    const TensorId q = t.input("q", {2, 5, 3, 10}), k = t.input("k", {2, 19, 3, 10});
    t.output(t.node(Op::Einsum, {q, k}, {2, 3, 5, 19}));
    t.attrs<schema::EinsumAttrsT>().equation = "bqhd,bkhd->bhqk";
    return t;
  };
  const std::vector<float> q = noise(2 * 5 * 3 * 10, 7), k = noise(2 * 19 * 3 * 10, 8);
  std::vector<float> wanted;
  for (int b = 0; b < 2; ++b)
    for (int h = 0; h < 3; ++h)
      for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 19; ++j) {
          float acc = 0;
          for (int d = 0; d < 10; ++d)
            acc = std::fmaf(q[size_t(((b * 5 + i) * 3 + h) * 10 + d)], k[size_t(((b * 19 + j) * 3 + h) * 10 + d)], acc);
          wanted.push_back(acc + 0.0f);
        }
  EXPECT_EQ(run_plan(build().model, {q, k}), wanted);
  EXPECT_EQ(run_plan(build().model, {q, k}, 2, default_isa().value()), wanted);
}

}  // namespace
}  // namespace lq
