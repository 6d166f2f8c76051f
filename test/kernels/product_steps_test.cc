// What packing proves for saturating byte products, checked by brute force on the weights it leaves behind.
#include "runtime/ops/product_steps.h"

#include <cstdlib>

#include "layer_harness.h"
#include "runtime/ops/depthwise_split.h"
#include "runtime/ops/stored_range.h"

namespace lq::test {
namespace {

/// Can some of x[i] · w[i], x in 0…largest, sum to what int16 doesn't hold?
bool may_leave_int16(const std::vector<int>& w, int largest) {
  int64_t high = 0, low = 0;
  for (int v : w) (v > 0 ? high : low) += int64_t(v) * largest;
  return high > 32767 || low < -32768;
}

/// The weights of lane l that kernels sum in int16 for steps [first, first + count): groups 0 and 1.
std::vector<int> group_of(const std::vector<int8_t>& w, int64_t width, int first, int count, int64_t l, int group) {
  std::vector<int> v;
  for (int s = first; s < first + count; ++s) {
    for (int half = 0; half < 2; ++half) {
      for (int i = 2 * group; i < 2 * group + 2; ++i) v.push_back(w[size_t(((2 * s + half) * width + l) * 4 + i)]);
    }
  }
  return v;
}

/// The sum of the sorted steps that stem from natural step `s`, weight `i`.
int weight_of(const SortedSteps& sorted, int64_t width, int64_t s, int64_t i) {
  int sum = 0;
  for (size_t k = 0; k < sorted.order.size(); ++k) {
    if (sorted.order[k] == s) sum += sorted.w[k * size_t(8 * width) + size_t(i)];
  }
  return sum;
}

bool is_safe(const SortedSteps& sorted, int64_t width, int first, int count, int largest) {
  for (int64_t l = 0; l < width; ++l) {
    for (int g = 0; g < 2; ++g) {
      if (may_leave_int16(group_of(sorted.w, width, first, count, l, g), largest)) return false;
    }
  }
  return true;
}

TEST(ProductSteps, SortingKeepsEveryWeightAndProvesWhatItSays) {
  Random r(7);
  int64_t kinds[3] = {}, halved = 0;
  for (int n = 0; n < 400; ++n) {
    const int64_t steps = r.between(0, 30), width = r.chance(50) ? 8 : 16;
    const int bound = r.chance(20) ? 127 : int(r.between(5, 127)), largest = r.chance(50) ? 127 : 255;
    std::vector<int8_t> w(size_t(steps * 8 * width));
    for (int8_t& v : w) v = int8_t(r.between(-bound, bound));
    if (steps > 0 && r.chance(10)) std::fill(w.begin(), w.end(), int8_t(-127));
    const SortedSteps sorted = sort_steps(w.data(), steps, width, largest);
    const StepCounts& counts = sorted.counts;
    ASSERT_EQ(size_t(counts.total()), sorted.order.size());
    ASSERT_EQ(sorted.w.size(), sorted.order.size() * size_t(8 * width));
    ASSERT_EQ(counts.twice % 2, 0);
    ASSERT_TRUE(largest != 127 || counts.total() == steps) << "7 bits never need halves";
    halved += counts.total() - steps;
    kinds[0] += counts.twice, kinds[1] += counts.once, kinds[2] += counts.pairs;
    for (int64_t s = 0; s < steps; ++s) {
      for (int64_t i = 0; i < 8 * width; ++i) ASSERT_EQ(weight_of(sorted, width, s, i), w[size_t(s * 8 * width + i)]);
    }
    for (int s = 0; s < counts.twice + counts.once; s += s < counts.twice ? 2 : 1)
      ASSERT_TRUE(is_safe(sorted, width, s, s < counts.twice ? 2 : 1, largest));
    for (int s = counts.twice + counts.once; s < counts.total(); ++s) {
      ASSERT_FALSE(is_safe(sorted, width, s, 1, largest)) << "could have been summed";
      for (size_t i = 0; i < size_t(8 * width); i += 2) {
        const size_t at = size_t(s) * size_t(8 * width) + i;
        ASSERT_FALSE(may_leave_int16({sorted.w[at], sorted.w[at + 1]}, largest));
      }
    }
  }
  for (int64_t k : kinds) EXPECT_GT(k, 100);
  EXPECT_GT(halved, 100);
}

// 258 · 127 = 32766 is the most a group may weigh on either side.
TEST(ProductSteps, TheLastSafeWeight) {
  const auto kind = [](int last) {
    std::vector<int8_t> w(8 * 16);
    for (int i = 0; i < 2; ++i) w[size_t(i)] = 127;  // lane 0, channels 0 and 1; channel 4 is in the second half
    w[4 * 16] = int8_t(last);
    return sort_steps(w.data(), 1, 16, 127).counts.once;
  };
  EXPECT_EQ(kind(4), 1);
  EXPECT_EQ(kind(5), 0);
  EXPECT_EQ(kind(-127), 1);
}

void check_split(const std::vector<int8_t>& w, int taps, int largest, const TapSplit& split) {
  std::vector<int> seen(size_t(taps), 0);
  size_t pair = 0;
  ASSERT_EQ(split.start.size(), 8 * split.group.size());
  for (size_t g = 0; g < split.group.size(); ++g) {
    int high[8] = {}, low[8] = {};
    ASSERT_GT(split.group[g], 0);
    for (int p = 0; p < split.group[g]; ++p, ++pair) {
      for (int i = 0; i < 8; ++i) {
        std::vector<int> two;
        for (size_t k = 2 * pair; k < 2 * pair + 2; ++k) {
          if (split.taps[k] >= 0) two.push_back(w[size_t(split.taps[k]) * 8 + size_t(i)]);
        }
        ASSERT_FALSE(may_leave_int16(two, largest));
        for (int v : two) (v > 0 ? high : low)[i] += v * largest;
      }
    }
    for (int i = 0; i < 8; ++i) {
      EXPECT_LE(split.start[8 * g + size_t(i)] + high[i], 32767);
      EXPECT_GE(split.start[8 * g + size_t(i)] + low[i], -32768);
    }
  }
  ASSERT_EQ(2 * pair, split.taps.size());
  ASSERT_GE(split.taps.empty() ? 0 : split.taps[0], 0) << "the first of a pair is a tap";
  for (int16_t t : split.taps) {
    if (t >= 0) ++seen[size_t(t)];
  }
  for (int n : seen) EXPECT_EQ(n, 1);
}

TEST(DepthwiseSplit, EveryTapOnceAndNoSumLeavesInt16) {
  Random r(8);
  for (int n = 0; n < 400; ++n) {
    const int taps = r.chance(40) ? 9 : r.chance(40) ? 25 : int(r.between(1, 49)), largest = r.chance(50) ? 127 : 255;
    const std::vector<int8_t> w = r.int8(taps * 8, -127);
    SCOPED_TRACE(std::to_string(taps) + " taps, x up to " + std::to_string(largest));
    check_split(w, taps, largest, split_taps(w.data(), taps, largest));
  }
}

// Groups may start off centre, so 4 taps always fit 7 bits (4 · 127 · 127 = 64516 <= 65535), and 9 never need more
// than 3.
TEST(DepthwiseSplit, NineTapsOfSevenBitsNeedThreeGroupsAtMost) {
  for (int8_t v : {int8_t(127), int8_t(-127)}) {
    const std::vector<int8_t> w(72, v);
    const TapSplit split = split_taps(w.data(), 9, 127);
    check_split(w, 9, 127, split);
    EXPECT_EQ(split.group.size(), 3u);
  }
  const std::vector<int8_t> light(72, 57);  // 9 · 57 = 513
  EXPECT_EQ(split_taps(light.data(), 9, 127).group.size(), 1u);
}

/// x -> MaxPool -> y; the graph input is x where x is not produced.
struct RangeGraph {
  Graph graph;
  TensorId add(int32_t zp, int32_t qmin, int32_t qmax) {
    Tensor t;
    t.name = "t" + std::to_string(graph.tensors.size());
    t.dtype = DType::Int8;
    t.ranked = true;
    t.shape = {1, 8, 6, 6};
    t.quant = per_tensor_params(DType::Int8, 1.0f, zp);
    t.quant->qmin = qmin, t.quant->qmax = qmax;
    return graph.add_tensor(std::move(t));
  }
  Node& node(Op op, std::vector<TensorId> in, TensorId out) {
    Node n;
    n.op = op;
    n.inputs = std::move(in), n.outputs = {out};
    graph.nodes.push_back(std::move(n));
    return graph.nodes.back();
  }
  std::pair<int, int> of(TensorId id) const {
    const StoredRange r = stored_range(graph, id);
    return {r.low, r.high};
  }
};
using Range = std::pair<int, int>;

TEST(StoredRange, OnlyWhatTheRuntimeEnforces) {
  RangeGraph g;
  const TensorId input = g.add(0, 0, 127), relu = g.add(0, 0, 127), pool = g.add(0, -128, 127), cast = g.add(0, 0, 127);
  EXPECT_EQ(g.of(input), Range(-128, 127)) << "callers may pass any int8";
  g.node(Op::Relu, {input}, relu);
  EXPECT_EQ(g.of(relu), Range(0, 127));
  auto& attrs = mutable_attrs<schema::PoolAttrsT>(g.node(Op::MaxPool, {relu}, pool));
  attrs.kernel_shape = {3, 3}, attrs.strides = {2, 2}, attrs.pads = {1, 1, 1, 1};
  EXPECT_EQ(g.of(pool), Range(0, 127)) << "moves values: narrower than its own parameters";
  auto& dilated = mutable_attrs<schema::PoolAttrsT>(g.graph.nodes.back());
  dilated.dilations = {5, 5};  // taps at −1 and beyond 6: a window may hold padding only, which gives −128
  EXPECT_EQ(g.of(pool), Range(-128, 127));
  g.node(Op::Cast, {relu}, cast);
  EXPECT_EQ(g.of(cast), Range(-128, 127)) << "a cast clamps to no quantization parameters";
}

TEST(StoredRange, ConcatIsTheHullAndZeroPointsCount) {
  RangeGraph g;
  const TensorId a = g.add(5, 3, 90), b = g.add(5, -7, 20), both = g.add(5, 0, 127), input = g.add(5, 0, 1);
  g.node(Op::QuantizeLinear, {kNoTensor}, a);
  g.node(Op::QuantizeLinear, {kNoTensor}, b);
  g.node(Op::Concat, {a, b}, both);
  EXPECT_EQ(g.of(both), Range(-7, 90));
  g.graph.nodes.back().inputs.push_back(input);
  EXPECT_EQ(g.of(both), Range(-128, 127));
  const TensorId clipped = g.add(2, 10, 90);
  g.node(Op::QuantizeLinear, {kNoTensor}, clipped);
  EXPECT_EQ(g.of(clipped), Range(2, 90)) << "padding holds the zero point";
}

}  // namespace
}  // namespace lq::test
