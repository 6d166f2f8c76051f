// Conv and ConvTranspose: random layers that hurt, by fixed seeds.
#include <cmath>

#include "graph/op_def.h"
#include "reference/rules/rule_check.h"

namespace lq::reference {
namespace {

struct Layer {
  Shape x, w;
  schema::ConvAttrsT attrs;
  int64_t outputs = 0;
};

int random_kernel(Rng& rng) { return rng.pick({1, 1, 2, 3, 3, 3, 4, 5, 7}); }

/// Channels of one group: around the block of 8 and a few wide ones.
int64_t random_channels(Rng& rng) { return rng.pick<int64_t>({1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33}); }

/// A layer whose output is not empty; spatial sizes from 1 on, strides beyond the kernel, uneven pads, groups.
Layer random_layer(Rng& rng, bool transposed) {
  for (;;) {
    Layer l;
    const size_t axes = rng.chance(8) ? 1 : 2;
    l.x = {rng.chance(4) ? 2 : 1, 0};
    const int kind = int(rng.between(0, 5));  // 0: depthwise, 1: groups, else plain
    const int groups = kind == 0 ? int(rng.pick({2, 3, 8, 9, 16, 19, 40})) : kind == 1 ? int(rng.pick({2, 3, 4})) : 1;
    const int64_t in = kind == 0 ? 1 : random_channels(rng), out = kind == 0 ? rng.pick<int64_t>({1, 1, 1, 2, 3}) : random_channels(rng);
    l.x[1] = in * groups;
    l.outputs = out * groups;
    l.w = transposed ? Shape{in * groups, out} : Shape{out * groups, in};
    l.attrs.groups = groups;
    const int k = random_kernel(rng);
    for (size_t a = 0; a < axes; ++a) {
      const int kernel = rng.chance(4) ? random_kernel(rng) : k;
      l.x.push_back(rng.pick<int64_t>({1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 21}));
      l.w.push_back(kernel);
      l.attrs.kernel_shape.push_back(kernel);
      l.attrs.strides.push_back(rng.pick({1, 1, 1, 2, 2, 3, 5}));
      l.attrs.dilations.push_back(rng.chance(5) ? int(rng.between(2, 3)) : 1);
      if (transposed) l.attrs.output_padding.push_back(rng.chance(4) ? int(rng.between(0, l.attrs.strides[a] - 1)) : 0);
    }
    if (rng.chance(8)) {
      l.attrs.auto_pad = rng.pick({schema::AutoPad::SameUpper, schema::AutoPad::SameLower, schema::AutoPad::Valid});
    } else {
      const bool same = rng.chance(2);  // the usual padding keeps the size
      for (size_t i = 0; i < 2 * axes; ++i) {
        l.attrs.pads.push_back(same ? (l.attrs.kernel_shape[i % axes] - 1) / 2 : int(rng.between(0, l.attrs.kernel_shape[i % axes])));
      }
    }
    const auto g = transposed ? conv_transpose_geometry(l.attrs, l.x, l.w) : conv_geometry(l.attrs, l.x, l.w);
    if (g.ok() && element_count(g->output) > 0 && element_count(g->output) < 3000) return l;
  }
}

/// Types of a layer's input and output.
struct Types {
  DType x = DType::Int8, y = DType::Int8;
};

void random_convolution(uint64_t seed, bool transposed, Types types = {}) {
  RuleGraph g(seed);
  const Layer l = random_layer(g.rng, transposed);
  const double k = double(element_count(l.w)) / double(std::max<int64_t>(1, l.outputs));
  const bool wide = types.x == DType::Int16;
  const QuantParams x =
      wide ? g.int16_params(g.rng.uniform(1e-5f, 1e-3f), RuleGraph::int16_limit(k)) : g.params();
  std::vector<float> scales;
  std::vector<TensorId> inputs{g.activation("x", l.x, x), g.random_weights(l.w, transposed ? 1 : 0, l.outputs, &scales)};
  if (!g.rng.chance(4)) inputs.push_back(g.random_bias(x.scale[0], scales));
  const TensorId y = g.op(transposed ? Op::ConvTranspose : Op::Conv, inputs, l.attrs);
  const Op op = transposed ? Op::ConvTranspose : Op::Conv;
  if (g.rng.chance(6)) {  // float output, with or without an activation behind it
    g.output(g.random_clamp(y, g.params(1.0f)));
    return check(g, {{op, DType::Float32}});
  }
  // Accumulators are about 73²·√K units of s_x·s_w; half of the outputs saturate in some layers, in others none.
  // int16 values are as much larger as their limit is, an int16 output's scale is as much smaller.
  double wanted = double(x.scale[0]) * 0.73 * std::sqrt(k) * double(g.rng.uniform(0.2f, 3));
  if (wide) wanted *= double(x.qmax) / 127;
  if (types.y == DType::Int16) wanted /= 256;
  const float scale = g.scale_near(wanted, double(x.scale[0]) * double(scales[0]));
  g.finish(y, types.y == DType::Int16 ? g.int16_params(scale, g.rng.pick({32767, 20001})) : g.params(scale));
  check(g, {{op, types.y}});
}

/// Seeds of instance `part`: `count` of them, spread so that more rounds only add some.
void random_convolutions(int part, int count, bool transposed, Types types = {}) {
  for (int i = 0; i < count * random_rounds(); ++i) {
    const uint64_t seed = uint64_t(part) + uint64_t(i) * 16 + (transposed ? 1 : 0) * 1000003;
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_convolution(seed, transposed, types);
    if (::testing::Test::HasFailure()) return;
  }
}

class RandomConv : public ::testing::TestWithParam<int> {};
TEST_P(RandomConv, EveryPlanEqualsTheReference) { random_convolutions(GetParam(), 40, false); }
INSTANTIATE_TEST_SUITE_P(Seeds, RandomConv, ::testing::Range(0, 10));

class RandomConvTranspose : public ::testing::TestWithParam<int> {};
TEST_P(RandomConvTranspose, EveryPlanEqualsTheReference) { random_convolutions(GetParam(), 40, true); }
INSTANTIATE_TEST_SUITE_P(Seeds, RandomConvTranspose, ::testing::Range(0, 4));

constexpr Types kShortTypes[] = {{DType::Int16, DType::Int16}, {DType::Int16, DType::Int8}, {DType::Int8, DType::Int16}};

class RandomShortConv : public ::testing::TestWithParam<int> {};
TEST_P(RandomShortConv, EveryPlanEqualsTheReference) {
  for (const Types& types : kShortTypes) random_convolutions(GetParam(), 25, false, types);
}
TEST_P(RandomShortConv, TransposedToo) {
  for (const Types& types : kShortTypes) random_convolutions(GetParam(), 10, true, types);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomShortConv, ::testing::Range(0, 6));

struct Named {
  const char* name;
  Shape x, w;
  std::vector<int> strides, pads, dilations;
  int groups;
};

/// Shapes the fast kernels are made for, and their borders: stem, 1x1, depthwise 3x3 and 5x5 with stride, wide rows.
TEST(Conv, LayersOfRealNetworks) {
  const Named layers[] = {
      {"stem", {1, 3, 33, 35}, {32, 3, 3, 3}, {2, 2}, {0, 0, 1, 1}, {1, 1}, 1},
      {"stem 7x7", {1, 3, 29, 31}, {16, 3, 7, 7}, {2, 2}, {3, 3, 3, 3}, {1, 1}, 1},
      {"gray stem", {1, 1, 28, 28}, {8, 1, 5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}, 1},
      {"pointwise", {2, 72, 9, 7}, {40, 72, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1},
      {"pointwise stride", {1, 17, 9, 9}, {19, 17, 1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1},
      {"classifier", {1, 256, 1, 1}, {101, 256, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1},
      {"3x3 winograd size", {1, 32, 17, 18}, {32, 32, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1},
      {"depthwise", {1, 40, 15, 14}, {40, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 40},
      {"depthwise stride", {1, 35, 15, 14}, {35, 1, 3, 3}, {2, 2}, {0, 0, 1, 1}, {1, 1}, 35},
      {"depthwise 5x5", {1, 24, 11, 13}, {24, 1, 5, 5}, {2, 2}, {2, 2, 2, 2}, {1, 1}, 24},
      {"depthwise dilated", {1, 24, 13, 13}, {24, 1, 3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}, 24},
      {"depthwise multiplier", {1, 9, 7, 7}, {18, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 9},
      {"groups of 4", {1, 16, 8, 8}, {24, 4, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 4},
      {"dilated", {1, 8, 17, 17}, {8, 8, 3, 3}, {1, 1}, {4, 4, 4, 4}, {4, 4}, 1},
      {"stride beyond kernel", {1, 8, 12, 13}, {8, 8, 2, 2}, {5, 4}, {0, 0, 0, 0}, {1, 1}, 1},
      {"all padding", {1, 4, 1, 1}, {6, 4, 3, 3}, {1, 1}, {3, 3, 3, 3}, {1, 1}, 1},
      {"row kernel", {1, 12, 9, 21}, {12, 12, 1, 7}, {1, 1}, {0, 3, 0, 3}, {1, 1}, 1},
      {"column kernel", {1, 12, 21, 6}, {12, 12, 7, 1}, {2, 1}, {3, 0, 3, 0}, {1, 1}, 1},
  };
  uint64_t seed = 5000;
  for (const Named& l : layers) {
    for (const float gain : {0.3f, 2.0f}) {
      SCOPED_TRACE(l.name);
      RuleGraph g(++seed);
      schema::ConvAttrsT attrs;
      attrs.kernel_shape = {int(l.w[2]), int(l.w[3])};
      attrs.strides = l.strides, attrs.pads = l.pads, attrs.dilations = l.dilations, attrs.groups = l.groups;
      const QuantParams x = g.params();
      std::vector<float> scales;
      const TensorId w = g.random_weights(l.w, 0, l.w[0], &scales);
      const TensorId y = g.op(Op::Conv, {g.activation("x", l.x, x), w, g.random_bias(x.scale[0], scales)}, attrs);
      const double k = double(l.w[1] * l.w[2] * l.w[3]);
      g.finish(y, g.params(g.scale_near(double(x.scale[0]) * 0.73 * std::sqrt(k) * double(gain), double(x.scale[0]) * double(scales[0]))));
      check(g, {{Op::Conv}});
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// Every product 127·127 or (−128 − 127)·127 adds up: what saturating 16-bit multiplies would lose.
TEST(Conv, TheLargestAccumulators) {
  for (const int zero_point : {-128, -1, 0, 127}) {
    for (const int8_t weight : {int8_t(127), int8_t(-127)}) {
      RuleGraph g(uint64_t(zero_point + 200));
      const QuantParams x = per_tensor_params(DType::Int8, 1.0f, zero_point);
      const TensorId w = g.weights("w", {9, 40, 3, 3}, std::vector<int8_t>(9 * 40 * 9, weight), std::vector<float>(9, 1.0f), 0);
      schema::ConvAttrsT attrs;
      attrs.kernel_shape = {3, 3};
      attrs.pads = {1, 1, 1, 1};
      const TensorId in = g.activation("x", {1, 40, 5, 6}, x);
      g.graph().tensor(g.graph().inputs[0]).range = zero_point == 127 ? ValueRange{-1000, -900} : ValueRange{900, 1000};  // all saturate
      const TensorId y = g.op(Op::Conv, {in, w}, attrs);
      g.output(y);
      g.output(g.quantize(g.op(Op::Conv, {in, w}, attrs), per_tensor_params(DType::Int8, 50000.0f, 3)));
      check(g, {{Op::Conv}, {Op::Conv, DType::Float32}});
    }
  }
}

}  // namespace
}  // namespace lq::reference
