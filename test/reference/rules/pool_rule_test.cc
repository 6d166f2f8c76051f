// AveragePool, GlobalAveragePool, ReduceMean, MaxPool, Resize.
#include <cmath>

#include "graph/op_def.h"
#include "reference/rules/rule_check.h"

namespace lq::reference {
namespace {

schema::PoolAttrsT random_pool(Rng& rng, const Shape& x) {
  for (;;) {
    schema::PoolAttrsT a;
    for (size_t i = 2; i < x.size(); ++i) {
      a.kernel_shape.push_back(int(rng.between(1, 5)));
      a.strides.push_back(int(rng.pick({1, 1, 2, 2, 3, 6})));
      if (rng.chance(4)) a.dilations.assign(x.size() - 2, 2);
    }
    a.dilations.resize(x.size() - 2, 1);
    for (size_t i = 0; i < 2 * (x.size() - 2); ++i) a.pads.push_back(int(rng.between(0, a.kernel_shape[i % (x.size() - 2)] - 1)));
    a.ceil_mode = rng.chance(2);
    a.count_include_pad = rng.chance(2);
    const auto g = pool_geometry(a, x);
    if (g.ok() && element_count(g->output) > 0) return a;
  }
}

Shape random_map(Rng& rng) {
  Shape x{rng.chance(3) ? 2 : 1, rng.pick<int64_t>({1, 3, 8, 9, 16, 21}), rng.between(1, 13)};
  if (!rng.chance(5)) x.push_back(rng.between(1, 13));
  return x;
}

TEST(AveragePool, RandomWindows) {
  for (uint64_t seed = 2000; seed < 2080; ++seed) {
    SCOPED_TRACE(seed);
    RuleGraph g(seed);
    const Shape shape = random_map(g.rng);
    const QuantParams p = g.params();
    const TensorId y = g.op(Op::AveragePool, {g.activation("x", shape, p)}, random_pool(g.rng, shape));
    g.finish(y, g.params(g.scale_near(double(p.scale[0] * g.rng.uniform(0.2f, 1.2f)), double(p.scale[0]))));
    check(g, {{Op::AveragePool}});
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(GlobalAveragePool, MapsOfEverySize) {
  uint64_t seed = 2100;
  for (const Shape& shape : {Shape{1, 8, 7, 7}, Shape{2, 19, 1, 1}, Shape{1, 40, 8, 9}, Shape{1, 3, 50, 60}, Shape{2, 5, 33}, Shape{1, 1, 1}}) {
    RuleGraph g(++seed);
    const QuantParams p = g.params();
    g.finish(g.op(Op::GlobalAveragePool, {g.activation("x", shape, p)}), g.params(g.scale_near(double(p.scale[0]) * 0.3, double(p.scale[0]))));
    check(g, {{Op::GlobalAveragePool}});
  }
}

TEST(ReduceMean, EveryAxis) {
  uint64_t seed = 2200;
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{2, 3}, {-1}, {1}, {0}, {0, 2}, {1, 2, 3}, {0, 1, 2, 3}, {-2, -1}, {}}) {
    for (const bool keepdims : {true, false}) {
      SCOPED_TRACE(axes.size());
      RuleGraph g(++seed);
      schema::ReduceAttrsT a;
      a.keepdims = keepdims;
      const QuantParams p = g.params();
      std::vector<TensorId> inputs{g.activation("x", {2, 11, 5, 6}, p)};
      if (!axes.empty()) inputs.push_back(g.ints("axes", axes));
      g.finish(g.op(Op::ReduceMean, inputs, a), g.params(g.scale_near(double(p.scale[0]) * 0.3, double(p.scale[0]))));
      check(g, {{Op::ReduceMean}});
    }
  }
}

TEST(MaxPool, RandomWindows) {
  for (uint64_t seed = 2300; seed < 2350; ++seed) {
    SCOPED_TRACE(seed);
    RuleGraph g(seed);
    const Shape shape = random_map(g.rng);
    const QuantParams p = g.params();
    const TensorId y = g.op(Op::MaxPool, {g.activation("x", shape, p)}, random_pool(g.rng, shape));
    const bool same = !g.rng.chance(4);
    g.finish(y, same ? p : g.params(p.scale[0] * 1.3f), false);
    if (same) check(g, {{Op::MaxPool}});
    else check(g);
    if (::testing::Test::HasFailure()) return;
  }
}

schema::ResizeAttrsT resize_attrs(schema::ResizeMode mode, schema::CoordinateMode coordinates) {
  schema::ResizeAttrsT a;
  a.mode = mode;
  a.coordinate_mode = coordinates;
  return a;
}

/// Every coordinate mode, scales and sizes, up, down and odd ratios, on blocked maps and on other axes.
TEST(Resize, LinearAndCubic) {
  uint64_t seed = 2400;
  const auto kModes = {schema::CoordinateMode::HalfPixel,  schema::CoordinateMode::PytorchHalfPixel,   schema::CoordinateMode::AlignCorners,
                       schema::CoordinateMode::Asymmetric, schema::CoordinateMode::HalfPixelSymmetric, schema::CoordinateMode::TfCropAndResize};
  for (const auto mode : {schema::ResizeMode::Linear, schema::ResizeMode::Cubic}) {
    for (const auto coordinates : kModes) {
      for (int i = 0; i < 8; ++i) {
        SCOPED_TRACE(std::to_string(seed + 1));
        RuleGraph g(++seed);
        schema::ResizeAttrsT a = resize_attrs(mode, coordinates);
        const Shape shape{g.rng.between(1, 2), g.rng.pick<int64_t>({3, 8, 13}), g.rng.between(2, 9), g.rng.between(2, 9)};
        const QuantParams p = g.params();
        const TensorId x = g.activation("x", shape, p);
        a.exclude_outside = mode == schema::ResizeMode::Cubic && g.rng.chance(3);
        a.antialias = coordinates != schema::CoordinateMode::TfCropAndResize && g.rng.chance(4);
        a.extrapolation_value = g.rng.uniform(-1, 1);
        std::vector<TensorId> inputs{x, kNoTensor, kNoTensor};
        const bool scales = g.rng.chance(2);
        const int64_t h = g.rng.between(1, 17), w = g.rng.between(1, 17);
        if (scales) {
          inputs[1] = g.floats("scales", {4}, {1, 1, g.rng.pick({2.0f, 0.5f, 1.5f, 1.0f, 0.6f}), g.rng.pick({2.0f, 0.6f, 3.0f, 1.0f, 1.3f})});
        } else {
          inputs[2] = g.ints("sizes", {shape[0], shape[1], h, w});
        }
        if (coordinates == schema::CoordinateMode::TfCropAndResize) a.roi = {0, 0, -0.25f, 0.1f, 1, 1, 0.75f, 1.2f};
        g.finish(g.op(Op::Resize, inputs, a), g.params(g.scale_near(double(p.scale[0] * g.rng.uniform(0.6f, 1.3f)), double(p.scale[0]))));
        check(g, {{Op::Resize}});
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Resize, OtherAxesAndRanks) {
  uint64_t seed = 2600;
  for (const Shape& shape : {Shape{1, 5, 7}, Shape{6, 5}, Shape{2, 9, 4, 5}, Shape{1, 2, 3, 4, 5}}) {
    for (const auto mode : {schema::ResizeMode::Linear, schema::ResizeMode::Cubic}) {
      RuleGraph g(++seed);
      Shape sizes = shape;
      for (int64_t& d : sizes) d = g.rng.between(1, 9);
      if (shape.size() > 4) sizes[0] = shape[0], sizes[1] = shape[1];
      const QuantParams p = g.params();
      const TensorId x = g.activation("x", shape, p);
      g.finish(g.op(Op::Resize, {x, kNoTensor, g.ints("sizes", sizes)}, resize_attrs(mode, schema::CoordinateMode::HalfPixel)), g.params(p.scale[0]));
      check(g, {{Op::Resize}});
    }
  }
}

TEST(Resize, NearestPassesThrough) {
  uint64_t seed = 2700;
  for (const auto nearest : {schema::NearestMode::RoundPreferFloor, schema::NearestMode::RoundPreferCeil, schema::NearestMode::Floor, schema::NearestMode::Ceil}) {
    for (const auto coordinates : {schema::CoordinateMode::HalfPixel, schema::CoordinateMode::Asymmetric, schema::CoordinateMode::AlignCorners,
                                   schema::CoordinateMode::TfHalfPixelForNn, schema::CoordinateMode::TfCropAndResize}) {
      RuleGraph g(++seed);
      schema::ResizeAttrsT a = resize_attrs(schema::ResizeMode::Nearest, coordinates);
      a.nearest_mode = nearest;
      a.extrapolation_value = 0.3f;
      if (coordinates == schema::CoordinateMode::TfCropAndResize) a.roi = {0, 0, -0.25f, 0.1f, 1, 1, 0.75f, 1.2f};
      const QuantParams p = g.params();
      const TensorId x = g.activation("x", {1, 11, 5, 4}, p);
      g.finish(g.op(Op::Resize, {x, g.floats("s", {4}, {1, 1, g.rng.pick({2.0f, 0.7f, 1.0f}), g.rng.pick({2.0f, 3.0f, 0.5f})})}, a), p, false);
      check(g, {{Op::Resize}});
    }
  }
}

}  // namespace
}  // namespace lq::reference
