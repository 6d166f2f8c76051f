// Elementwise operators: values by hand, ONNX's rules for integers, layouts.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "runtime/op_runner.h"
#include "runtime/ops/half.h"

namespace lq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::OpTest;
using testing::run_plan;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Elementwise, AddBroadcastsBothWays) {
  OpTest t;
  t.op(Op::Add, {t.constant<float>({2, 1, 2}, {1, 2, 10, 20}), t.constant<float>({3, 1}, {100, 200, 300})});
  EXPECT_THAT(t.result<float>(), ElementsAre(101, 102, 201, 202, 301, 302, 110, 120, 210, 220, 310, 320));
}

TEST(Elementwise, EmptyTensors) {
  OpTest t;
  t.op(Op::Mul, {t.constant<float>({0, 3}, {}), t.constant<float>({3}, {1, 2, 3})});
  EXPECT_TRUE(t.result<float>().empty());
}

TEST(Elementwise, IntegersWrapAndDivideTowardZero) {
  OpTest sum;
  sum.op(Op::Add, {sum.constant<int32_t>({2}, {INT32_MAX, -5}), sum.constant<int32_t>({}, {1})});
  EXPECT_THAT(sum.result<int32_t>(), ElementsAre(INT32_MIN, -4));
  OpTest div;
  div.op(Op::Div, {div.constant<int64_t>({3}, {7, -7, INT64_MIN}), div.constant<int64_t>({3}, {2, 2, -1})});
  EXPECT_THAT(div.result<int64_t>(), ElementsAre(3, -3, INT64_MIN));
}

TEST(Elementwise, IntegerDivisionByZeroNamesTheNode) {
  OpTest t;
  t.op(Op::Div, {t.constant<int64_t>({2}, {1, 2}), t.constant<int64_t>({2}, {1, 0})});
  const Status status = t.run();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("division by zero"));
  EXPECT_THAT(status.message(), HasSubstr("Div"));
}

// The signs of Python's % and of C's fmod: −4 % 2, 7 % −3, 5 % 8, 4 % −2, −7 % 3, 8 % 5.
TEST(Elementwise, ModSigns) {
  const std::vector<int32_t> a = {-4, 7, 5, 4, -7, 8}, b = {2, -3, 8, -2, 3, 5};
  OpTest floor_mod;
  floor_mod.op(Op::Mod, {floor_mod.constant<int32_t>({6}, a), floor_mod.constant<int32_t>({6}, b)});
  EXPECT_THAT(floor_mod.result<int32_t>(), ElementsAre(0, -2, 5, 0, 2, 3));
  OpTest trunc_mod;
  trunc_mod.op(Op::Mod, {trunc_mod.constant<int32_t>({6}, a), trunc_mod.constant<int32_t>({6}, b)});
  trunc_mod.attrs<schema::ModAttrsT>().fmod = true;
  EXPECT_THAT(trunc_mod.result<int32_t>(), ElementsAre(0, 1, 5, 0, -1, 3));
}

TEST(Elementwise, MinAndMaxOfSeveral) {
  OpTest t;
  t.op(Op::Max,
       {t.constant<float>({2, 2}, {1, 5, -3, 0}), t.constant<float>({2}, {2, 2}), t.constant<float>({2, 1}, {-9, 4})});
  EXPECT_THAT(t.result<float>(), ElementsAre(2, 5, 4, 4));
  OpTest one;
  one.op(Op::Min, {one.constant<uint8_t>({3}, {3, 200, 0})});
  EXPECT_THAT(one.result<uint8_t>(), ElementsAre(3, 200, 0));
}

TEST(Elementwise, PowOfIntegersIsExact) {
  OpTest t;
  t.op(Op::Pow, {t.constant<int64_t>({5}, {3, -1, 2, 7, 0}), t.constant<int64_t>({5}, {39, -3, -1, 0, 0})});
  EXPECT_THAT(t.result<int64_t>(), ElementsAre(4052555153018976267, -1, 0, 1, 1));  // 3^39 needs 62 bits
  OpTest mixed;
  mixed.op(Op::Pow, {mixed.constant<float>({3}, {1, 2, 3}), mixed.constant<int32_t>({3}, {4, 5, 6})});
  EXPECT_THAT(mixed.result<float>(), ElementsAre(1, 32, 729));
}

TEST(Elementwise, ClipWithOneBoundOrNone) {
  OpTest low;
  low.op(Op::Clip, {low.constant<float>({4}, {-kInf, -1, 0.5, kNaN}), low.constant<float>({}, {0})});
  EXPECT_THAT(low.result<float>(), ElementsAre(0, 0, 0.5f, 0));  // a NaN takes the lower bound, as everywhere
  OpTest high;
  high.op(Op::Clip, {high.constant<int8_t>({3}, {-128, 5, 127}), kNoTensor, high.constant<int8_t>({}, {6})});
  EXPECT_THAT(high.result<int8_t>(), ElementsAre(-128, 5, 6));
}

TEST(Elementwise, WhereAndComparisons) {
  OpTest t;
  const TensorId x = t.constant<float>({2, 2}, {1, 2, 3, 4});
  t.op(Op::Where, {t.constant<uint8_t>({2}, {1, 0}, DType::Bool), x, t.constant<float>({1}, {9})});
  EXPECT_THAT(t.result<float>(), ElementsAre(1, 9, 3, 9));
  OpTest c;
  c.op(Op::LessOrEqual, {c.constant<float>({3}, {1, 2, kNaN}), c.constant<float>({}, {1})});
  EXPECT_THAT(c.result<uint8_t>(), ElementsAre(1, 0, 0));
}

TEST(Elementwise, SignsAndRounding) {
  OpTest t;
  t.op(Op::Round, {t.constant<float>({6}, {0.5, 1.5, 2.5, -0.5, -1.5, 1e30f})});
  EXPECT_THAT(t.result<float>(), ElementsAre(0, 2, 2, -0.0f, -2, 1e30f));
  OpTest s;
  s.op(Op::Sign, {s.constant<float>({3}, {-4, 0, 7})});
  EXPECT_THAT(s.result<float>(), ElementsAre(-1, 0, 1));
  OpTest n;
  n.op(Op::Neg, {n.constant<int8_t>({3}, {-128, 5, 0})});
  EXPECT_THAT(n.result<int8_t>(), ElementsAre(-128, -5, 0));
}

TEST(Elementwise, PReluSlopePerChannel) {
  OpTest t;
  t.op(Op::PRelu, {t.constant<float>({1, 2, 2}, {-1, 2, -3, 4}), t.constant<float>({2, 1}, {0.5, 2})});
  EXPECT_THAT(t.result<float>(), ElementsAre(-0.5f, 2, -6, 4));
}

// IEEE 754 binary16: largest 65504, smallest subnormal 2^-24, ties to even.
TEST(Cast, Float16Rounding) {
  EXPECT_EQ(half_bits(65519.0f), 0x7bff);
  EXPECT_EQ(half_bits(65520.0f), 0x7c00);
  EXPECT_EQ(half_bits(std::ldexp(1.0f, -24)), 0x0001);
  EXPECT_EQ(half_bits(std::ldexp(1.0f, -25)), 0x0000);
  EXPECT_EQ(half_bits(std::ldexp(3.0f, -25)), 0x0002);
  EXPECT_EQ(half_bits(1.0f + std::ldexp(1.0f, -11)), 0x3c00);
  EXPECT_EQ(half_bits(1.0f + std::ldexp(3.0f, -11)), 0x3c02);
  EXPECT_EQ(half_bits(-2.0f), 0xc000);
  // Just above a tie: rounding double -> float -> half would lose the excess and go to even.
  EXPECT_EQ(Half(1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)).bits, 0x3c01);
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) EXPECT_EQ(half_bits(half_value(uint16_t(bits))), bits);
}

TEST(Cast, RealToIntegerSaturatesAndTruncates) {
  OpTest t;
  t.op(Op::Cast, {t.constant<float>({6}, {1.9f, -1.9f, 300, -300, kNaN, kInf})});
  t.attrs<schema::CastAttrsT>().to = DType::Int8;
  EXPECT_THAT(t.result<int8_t>(), ElementsAre(1, -1, 127, -128, 0, 127));
  OpTest wide;
  wide.op(Op::Cast, {wide.constant<double>({3}, {9.3e18, -9.3e18, -1.5})});
  wide.attrs<schema::CastAttrsT>().to = DType::Int64;
  EXPECT_THAT(wide.result<int64_t>(), ElementsAre(INT64_MAX, INT64_MIN, -1));
  OpTest b;
  b.op(Op::Cast, {b.constant<float>({3}, {0, -0.5f, kNaN})});
  b.attrs<schema::CastAttrsT>().to = DType::Bool;
  EXPECT_THAT(b.result<uint8_t>(), ElementsAre(0, 1, 1));
}

// NCHWc8 [1, 3, 1, 2] is [1, 1, 1, 2, 8]: two pixels of eight lanes, lanes 3…7 zero.
std::vector<float> blocked(const std::vector<float>& linear, int64_t channels, int64_t spatial) {
  const int64_t blocks = (channels + 7) / 8;
  std::vector<float> out(size_t(blocks * spatial * 8), 0.0f);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t s = 0; s < spatial; ++s)
      out[size_t((c / 8 * spatial + s) * 8 + c % 8)] = linear[size_t(c * spatial + s)];
  }
  return out;
}

TEST(Blocked, ConstantAlongChannelsAndScalar) {
  OpTest t;
  const TensorId x = t.input("x", {1, 3, 1, 2});
  const TensorId sum = t.node(Op::Add, {x, t.constant<float>({3, 1, 1}, {10, 20, 30})}, {1, 3, 1, 2});
  const TensorId y = t.node(Op::Div, {t.constant<float>({}, {12}), sum}, {1, 3, 1, 2});
  t.output(y);
  for (TensorId id : {x, sum, y}) t.graph().tensor(id).blocked_axis = 1;
  const std::vector<float> expected =
      blocked({12.0f / 11, 12.0f / 12, 12.0f / 23, 12.0f / 24, 12.0f / 35, 12.0f / 36}, 3, 2);
  EXPECT_EQ(run_plan(t.model, {blocked({1, 2, 3, 4, 5, 6}, 3, 2)}), expected);
}

// A blocked [1, C, 1, 1] (squeeze and excitation) and a linear, not constant [C, 1, 1].
TEST(Blocked, OperandsOfOtherShapes) {
  OpTest t;
  const TensorId x = t.input("x", {1, 9, 1, 2}), gate = t.input("gate", {1, 9, 1, 1}),
                 shift = t.input("shift", {9, 1, 1});
  const TensorId scaled = t.node(Op::Mul, {x, gate}, {1, 9, 1, 2});
  const TensorId y = t.node(Op::Sub, {scaled, shift}, {1, 9, 1, 2});
  t.output(y);
  for (TensorId id : {x, gate, scaled, y}) t.graph().tensor(id).blocked_axis = 1;
  std::vector<float> xs(18), gates(9), shifts(9), expected(18);
  for (size_t c = 0; c < 9; ++c) {
    gates[c] = float(c) + 1;
    shifts[c] = 100 * float(c);
    for (size_t s = 0; s < 2; ++s) {
      xs[2 * c + s] = float(10 * c + s);
      expected[2 * c + s] = xs[2 * c + s] * gates[c] - shifts[c];
    }
  }
  EXPECT_EQ(run_plan(t.model, {blocked(xs, 9, 2), blocked(gates, 9, 1), shifts}), blocked(expected, 9, 2));
}

// One value a channel, as either operand, on a map that threads cut within a pixel.
TEST(Blocked, ValuesOfChannelsRepeat) {
  constexpr int64_t kChannels = 13, kSide = 87;
  std::vector<float> xs(size_t(kChannels * kSide * kSide)), gates(size_t(kChannels), 0.0f);
  for (size_t i = 0; i < xs.size(); ++i) xs[i] = float(i % 1009) * 0.25f - 100;
  for (size_t c = 0; c < gates.size(); ++c) gates[c] = float(c) - 5.5f;
  for (const Op op : {Op::Mul, Op::Sub, Op::Add}) {
    for (const bool gate_first : {false, true}) {
      OpTest t;
      const TensorId x = t.input("x", {1, kChannels, kSide, kSide}), gate = t.input("gate", {1, kChannels, 1, 1});
      const TensorId y = gate_first ? t.node(op, {gate, x}, {1, kChannels, kSide, kSide})
                                    : t.node(op, {x, gate}, {1, kChannels, kSide, kSide});
      t.graph().nodes.back().fused_clamp = ValueRange{-200, 250};
      t.output(y);
      for (TensorId id : {x, gate, y}) t.graph().tensor(id).blocked_axis = 1;
      std::vector<float> expected(xs.size());
      for (size_t i = 0; i < xs.size(); ++i) {
        const float v = xs[i], g = gates[i / size_t(kSide * kSide)];
        const float exact = op == Op::Mul ? v * g : op == Op::Add ? v + g : gate_first ? g - v : v - g;
        expected[i] = std::min(std::max(exact, -200.0f), 250.0f);
      }
      for (const int threads : {1, 3}) {
        EXPECT_EQ(run_plan(t.model, {blocked(xs, kChannels, kSide * kSide), blocked(gates, kChannels, 1)}, threads),
                  blocked(expected, kChannels, kSide * kSide))
            << op_name(op) << gate_first << threads;
      }
    }
  }
}

TEST(Blocked, PaddingLanesStayZero) {
  for (Op op : {Op::Sigmoid, Op::Cos, Op::Exp}) {  // f(0) != 0
    OpTest t;
    const TensorId x = t.input("x", {1, 1, 1, 3}), y = t.node(op, {x}, {1, 1, 1, 3});
    t.output(y);
    for (TensorId id : {x, y}) t.graph().tensor(id).blocked_axis = 1;
    const std::vector<float> out = run_plan(t.model, {blocked({0, 0, 0}, 1, 3)});
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i % 8 != 0 ? 0.0f : op == Op::Sigmoid ? 0.5f : 1.0f);
  }
}

TEST(Elementwise, ThreadsDoNotChangeAnything) {
  OpTest t;
  const TensorId x = t.input("x", {7, 3, 5000}), c = t.input("c", {3, 1});
  const TensorId y = t.node(Op::Sub, {x, c}, {7, 3, 5000});
  t.graph().nodes.back().fused_clamp = ValueRange{-1, 2};
  t.output(y);
  std::vector<float> values(7 * 3 * 5000), expected(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = float(i % 100) - 50;
    expected[i] = std::min(std::max(values[i] - float(i / 5000 % 3), -1.0f), 2.0f);
  }
  EXPECT_EQ(run_plan(t.model, {values, {0, 1, 2}}, 1), expected);
  EXPECT_EQ(run_plan(t.model, {values, {0, 1, 2}}, 3), expected);
}

}  // namespace
}  // namespace lq
