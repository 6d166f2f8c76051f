// Random networks of many operators with odd channel counts: layouts, padding lanes, shared tensors, float and int8 mixed.
#include <algorithm>

#include "graph/op_def.h"
#include "reference/rules/rule_check.h"

namespace lq::reference {
namespace {

/// Grows a graph from one or two inputs. `live`: dequantized int8 tensors that operators may read.
class RandomNet : public RuleGraph {
 public:
  /// `shorts`: half of the activations are int16.
  explicit RandomNet(uint64_t seed, bool shorts = false) : RuleGraph(seed), shorts_(shorts) {
    const Shape shape{rng.chance(4) ? 2 : 1, rng.pick<int64_t>({3, 5, 8, 9, 16, 20}), rng.between(3, 12), rng.between(3, 12)};
    for (int i = 0; i < (rng.chance(3) ? 2 : 1); ++i) {
      const QuantParams p = params(0.05f);
      live_.push_back({activation(unique("x"), shape, p), shape, p});
    }
    const int64_t steps = rng.between(3, 14);
    while (int64_t(live_.size()) < steps) grow();
    for (size_t i = 0; i < live_.size(); ++i) {
      const bool unread = consumers_of(graph())[size_t(live_[i].id)].empty();
      if (unread || rng.chance(8)) output(live_[i].id);
    }
  }

 private:
  struct Live {
    TensorId id;
    Shape shape;
    QuantParams p;
  };

  QuantParams params(float scale) {
    if (!shorts_) return RuleGraph::params(scale);
    scale *= rng.pick({0.0625f, 1.0f, 1.0f, 16.0f});  // from one type to the other and back
    // 600 weights are the most a product here has.
    return rng.chance(2) ? int16_params(scale, rng.pick({int16_limit(600), 1000})) : RuleGraph::params(scale);
  }
  const Live& any() { return live_[size_t(rng.between(std::max<int64_t>(0, int64_t(live_.size()) - 4), int64_t(live_.size()) - 1))]; }
  /// Another live tensor of the same shape, or the same one.
  const Live& like(const Live& x) {
    std::vector<const Live*> same;
    for (const Live& l : live_) {
      if (l.shape == x.shape) same.push_back(&l);
    }
    return *same[size_t(rng.between(0, int64_t(same.size()) - 1))];
  }
  /// Quantizes y (shape found by inference) and makes it live. A graph where inference fails is taken back.
  void add(TensorId y, const QuantParams& p, bool clamp) {
    const TensorId c = clamp ? random_clamp(y, p) : y;
    const TensorId q = quantize(c, p), id = dequantize(q);
    const Status status = infer_shapes(model, nullptr);
    ASSERT_TRUE(status.ok()) << status.message();
    if (rng.chance(20)) output(rng.chance(2) ? y : q);
    live_.push_back({id, graph().tensor(id).shape, p});
  }

  void grow();
  void convolution(const Live& x);
  void transposed_convolution(const Live& x);
  void map_operator(const Live& x);
  void any_rank_operator(const Live& x);

  const bool shorts_;
  std::vector<Live> live_;
};

void RandomNet::convolution(const Live& x) {
  schema::ConvAttrsT a;
  const int64_t in = x.shape[1];
  const bool depthwise = rng.chance(3);
  const int64_t out = depthwise ? in : rng.pick<int64_t>({1, 4, 7, 8, 12, 17, 24});
  int k = int(rng.pick({1, 3, 3, 5}));
  if (shorts_ && in > 24) k = 1;
  a.kernel_shape = {k, k};
  a.strides = rng.chance(4) && x.shape[2] > 2 ? std::vector<int>{2, 2} : std::vector<int>{1, 1};
  a.pads = {k / 2, k / 2, k / 2, k / 2};
  a.groups = depthwise ? int(in) : 1;
  std::vector<float> scales;
  std::vector<TensorId> inputs{x.id, random_weights({out, depthwise ? 1 : in, k, k}, 0, out, &scales)};
  if (rng.chance(2)) inputs.push_back(random_bias(x.p.scale[0], scales));
  add(op(Op::Conv, inputs, a), params(scale_near(double(x.p.scale[0] * rng.uniform(1, 4)), double(x.p.scale[0]) * double(scales[0]))), true);
}

void RandomNet::transposed_convolution(const Live& x) {
  schema::ConvAttrsT a;
  a.kernel_shape = {3, 2}, a.strides = {2, 1}, a.pads = {1, 0, 0, 1};
  const int64_t out = rng.pick<int64_t>({3, 8, 11});
  std::vector<float> scales;
  add(op(Op::ConvTranspose, {x.id, random_weights({x.shape[1], out, 3, 2}, 1, out, &scales)}, a), params(x.p.scale[0] * 2), true);
}

/// Operators on [N, C, H, W].
void RandomNet::map_operator(const Live& x) {
  schema::PoolAttrsT pool;
  pool.kernel_shape = {2, 3}, pool.strides = {rng.chance(2) ? 2 : 1, 1}, pool.pads = {1, 1, 0, 1};
  pool.ceil_mode = rng.chance(2), pool.count_include_pad = rng.chance(2);
  schema::AxisAttrsT axis;
  axis.axis = 1;
  schema::ResizeAttrsT resize;
  resize.mode = rng.pick({schema::ResizeMode::Nearest, schema::ResizeMode::Linear, schema::ResizeMode::Cubic});
  switch (rng.between(0, 9)) {
    case 0: return transposed_convolution(x);
    case 1: return add(op(Op::MaxPool, {x.id}, pool), x.p, false);
    case 2: return add(op(Op::AveragePool, {x.id}, pool), params(x.p.scale[0]), true);
    case 3: return add(op(Op::Concat, {x.id, like(x).id}, axis), x.p, false);
    case 4: {
      const bool large = element_count(x.shape) > 2000;
      return add(op(Op::Resize, {x.id, floats(unique("s"), {4}, {1, 1, large ? 0.5f : 2.0f, large ? 0.5f : 1.5f})}, resize),
                 resize.mode == schema::ResizeMode::Nearest ? x.p : params(x.p.scale[0]), resize.mode != schema::ResizeMode::Nearest);
    }
    case 5: {  // squeeze and excite
      const QuantParams pool_params = params(x.p.scale[0]), gate_params = params(0.01f);
      const TensorId pooled = dequantize(quantize(op(Op::GlobalAveragePool, {x.id}), pool_params));
      const TensorId gate = dequantize(quantize(op(Op::Sigmoid, {pooled}), gate_params));
      return add(op(Op::Mul, {x.id, gate}), params(x.p.scale[0] * 0.5f), true);
    }
    case 6: {
      const TensorId half = int64_t(x.shape[1]) > 1 ? op(Op::Slice, {x.id, ints(unique("b"), {x.shape[1] / 2}), ints(unique("e"), {x.shape[1]}), ints(unique("a"), {1})})
                                                    : op(Op::Identity, {x.id});
      return add(half, x.p, false);
    }
    case 7: {
      schema::PadAttrsT pad;
      return add(op(Op::Pad, {x.id, ints(unique("p"), {0, rng.between(0, 1), 0, 1, 0, rng.between(0, 2), 1, 0})}, pad), x.p, false);
    }
    case 8: {
      schema::TransposeAttrsT t;
      t.perm = rng.chance(2) ? std::vector<int>{0, 1, 3, 2} : std::vector<int>{0, 2, 3, 1};
      return add(op(Op::Transpose, {x.id}, t), x.p, false);
    }
    default: {
      std::vector<float> slope(size_t(x.shape[1]));
      for (float& s : slope) s = rng.uniform(-0.5f, 0.5f);
      return add(op(Op::PRelu, {x.id, floats(unique("slope"), {x.shape[1], 1, 1}, slope)}), params(x.p.scale[0]), false);
    }
  }
}

void RandomNet::any_rank_operator(const Live& x) {
  const Live& y = like(x);
  switch (rng.between(0, 6)) {
    case 0: return add(op(Op::Add, {x.id, y.id}), params(scale_near(double(x.p.scale[0] + y.p.scale[0]), double(x.p.scale[0]))), true);
    case 1: return add(op(Op::Sub, {x.id, y.id}), params(scale_near(double(x.p.scale[0] + y.p.scale[0]), double(x.p.scale[0]))), true);
    case 2: return add(op(Op::Mul, {x.id, y.id}), params(scale_near(double(x.p.scale[0] * y.p.scale[0] * 50), double(x.p.scale[0]) * double(y.p.scale[0]))), true);
    case 3: return add(op(rng.pick({Op::HardSwish, Op::Silu, Op::Tanh, Op::Relu, Op::Exp}), {x.id}), params(x.p.scale[0]), false);
    case 4: return add(op(Op::Div, {op(Op::Softplus, {x.id}), scalar(0.7f)}), params(x.p.scale[0]), true);  // float
    case 5: return add(op(Op::Add, {x.id, op(Op::Relu, {y.id})}), params(x.p.scale[0] * 2), true);           // float: y's Relu has no Quantize
    default: return add(x.id, params(x.p.scale[0] * rng.uniform(0.5f, 2)), false);
  }
}

void RandomNet::grow() {
  const Live x = any();
  if (x.shape.size() == 4 && !rng.chance(3)) return rng.chance(2) ? convolution(x) : map_operator(x);
  any_rank_operator(x);
}

class RandomNets : public ::testing::TestWithParam<int> {};
TEST_P(RandomNets, EveryPlanEqualsTheReference) {
  for (int i = 0; i < 40 * random_rounds(); ++i) {
    const uint64_t seed = uint64_t(GetParam() + i * 16);
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet g(seed);
    check(g);
    if (HasFailure()) return;
  }
}
TEST_P(RandomNets, EveryPlanEqualsTheReferenceWithInt16) {
  for (int i = 0; i < 40 * random_rounds(); ++i) {
    const uint64_t seed = uint64_t(GetParam() + i * 16 + 900001);
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet g(seed, true);
    check(g);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomNets, ::testing::Range(0, 8));

}  // namespace
}  // namespace lq::reference
