// The collector over hand-made graphs: taps, threads, parts, odd samples.
#include "calibration/collector.h"

#include <algorithm>
#include <cmath>

#include "calibration/activation_params.h"
#include "calibration/methods/method.h"
#include "calibration_test_util.h"

namespace lq::calibration {
namespace {

/// x [1,1,?,?] -> Neg -> n -> Relu -> y. All expected values can be read off the samples: n = −x, y = max(−x, 0).
struct TestModel {
  ModelIr ir;
  TensorId x, n, y;
};

TestModel make_model(Shape shape = {1, 1, kUnknownDim, kUnknownDim}) {
  TestModel m;
  m.ir.graphs.resize(1);
  Graph& g = m.ir.main();
  auto add = [&](const char* name) {
    Tensor t;
    t.name = name, t.dtype = DType::Float32, t.ranked = true, t.shape = shape;
    return g.add_tensor(t);
  };
  m.x = add("x"), m.n = add("n"), m.y = add("y");
  auto node = [&](Op op, TensorId in, TensorId out) {
    Node node;
    node.op = op, node.inputs = {in}, node.outputs = {out};
    g.nodes.push_back(std::move(node));
  };
  node(Op::Neg, m.x, m.n);
  node(Op::Relu, m.n, m.y);
  g.inputs = {m.x}, g.outputs = {m.y};
  return m;
}

/// Sample i holds h × w values that are multiples of 1/64, so nothing rounds.
std::vector<float> sample_values(int i, int count) {
  std::vector<float> v(static_cast<size_t>(count));
  for (int k = 0; k < count; ++k) v[size_t(k)] = float((k * 37 + i * 101) % 257 - 96 + i) / 64;
  return v;
}

void write_sample(const TempFolder& folder, const std::string& name, int h, int w, const std::vector<float>& v) {
  folder.write(name, make_npy("<f4", "(1, 1, " + std::to_string(h) + ", " + std::to_string(w) + ")", raw(v)));
}

/// Nine samples of three shapes. Returns all values pooled.
std::vector<float> write_samples(const TempFolder& folder, int begin = 0, int end = 9) {
  std::vector<float> pooled;
  for (int i = begin; i < end; ++i) {
    const int h = 3 + i % 3, w = 10 - i % 3;
    const std::vector<float> v = sample_values(i, h * w);
    write_sample(folder, std::to_string(i) + ".npy", h, w, v);
    pooled.insert(pooled.end(), v.begin(), v.end());
  }
  return pooled;
}

Collection collect(const TestModel& m, const std::string& folder, int threads) {
  CollectorOptions options;
  options.threads = threads;
  auto collector = Collector::create(m.ir, {m.x, m.n, m.y}, options);
  EXPECT_TRUE(collector.ok()) << collector.status().message();
  auto source = DataSource::open(folder, input_specs(m.ir, {}));
  EXPECT_TRUE(source.ok()) << source.status().message();
  auto collection = (*collector)->collect(*source, true);
  EXPECT_TRUE(collection.ok()) << collection.status().message();
  return std::move(*collection);
}

void expect_same(const Histogram& a, const Histogram& b) {
  EXPECT_EQ(a.range().min, b.range().min);
  EXPECT_EQ(a.range().max, b.range().max);
  EXPECT_EQ(a.positive(), b.positive());
  EXPECT_EQ(a.negative(), b.negative());
  EXPECT_EQ(a.tiny(), b.tiny());
}

Histogram pooled_histogram(const std::vector<float>& values) {
  RangeStats stats;
  stats.add(values.data(), values.size(), "pooled");
  return histogram_of(values, stats.range());
}

TEST(Collector, SamplesOfDifferentShapesEqualPooledData) {
  TempFolder folder;
  const TestModel m = make_model();
  const std::vector<float> x = write_samples(folder);
  std::vector<float> n = x, y = x;
  for (float& v : n) v = -v;
  for (size_t i = 0; i < y.size(); ++i) y[i] = std::max(-x[i], 0.0f);
  const Collection c = collect(m, folder.path(), 1);
  EXPECT_EQ(c.used, 9u);
  EXPECT_EQ(c.names, (std::vector<std::string>{"x", "n", "y"}));
  EXPECT_EQ(c.stats[0].finite, x.size());
  expect_same(c.histogram(0), pooled_histogram(x));
  expect_same(c.histogram(1), pooled_histogram(n));
  expect_same(c.histogram(2), pooled_histogram(y));
}

TEST(Collector, ThreadsDoNotChangeTheResult) {
  TempFolder folder;
  const TestModel m = make_model();
  write_samples(folder);
  const Collection one = collect(m, folder.path(), 1);
  for (int threads : {2, 4, 30}) {
    const Collection many = collect(m, folder.path(), threads);
    EXPECT_EQ(many.used, 9u);
    for (size_t t = 0; t < 3; ++t) expect_same(one.histogram(t), many.histogram(t));
  }
}

TEST(Collector, PartialCollectionsMergeToTheSameBits) {
  TempFolder whole_folder, first, second;
  const TestModel m = make_model();
  write_samples(whole_folder);
  write_samples(first, 0, 4);
  write_samples(second, 4, 9);
  const Collection whole = collect(m, whole_folder.path(), 2);
  auto collector = Collector::create(m.ir, {m.x, m.n, m.y}, {});
  ASSERT_TRUE(collector.ok());
  auto a = DataSource::open(first.path(), input_specs(m.ir, {})),
       b = DataSource::open(second.path(), input_specs(m.ir, {}));
  auto joined = (*collector)->collect(*b, true), other = (*collector)->collect(*a, true);
  ASSERT_TRUE(joined.ok() && other.ok());
  ASSERT_TRUE(joined->merge(*other).ok());
  EXPECT_EQ(joined->used, 9u);
  for (size_t t = 0; t < 3; ++t) expect_same(whole.histogram(t), joined->histogram(t));
  auto bare = (*collector)->collect(*a, false);
  ASSERT_TRUE(bare.ok());
  EXPECT_FALSE(joined->merge(*bare).ok());
}

TEST(Collector, BrokenSamplesAreSkippedAndReported) {
  TempFolder folder;
  const TestModel m = make_model();
  write_samples(folder);
  folder.write("3.npy", "\x93NUMPY broken");
  folder.write("5x.npy", make_npy("<f4", "(1, 2, 3, 3)", raw(sample_values(0, 18))));  // two channels
  const Collection c = collect(m, folder.path(), 3);
  EXPECT_EQ(c.used, 8u);
  ASSERT_EQ(c.skipped.size(), 2u);
  EXPECT_EQ(c.skipped[0].name, "3.npy");
  EXPECT_NE(c.skipped[0].reason.find("3.npy"), std::string::npos);
  EXPECT_EQ(c.skipped[1].name, "5x.npy");
  EXPECT_NE(c.skipped[1].reason.find("[1,2,3,3]"), std::string::npos);
}

TEST(Collector, NoUsableSampleIsAnError) {
  TempFolder folder;
  const TestModel m = make_model();
  folder.write("a.npy", "junk");
  auto collector = Collector::create(m.ir, {m.n}, {});
  ASSERT_TRUE(collector.ok());
  auto source = DataSource::open(folder.path(), input_specs(m.ir, {}));
  ASSERT_TRUE(source.ok());
  auto ranges = (*collector)->collect(*source, true);
  ASSERT_FALSE(ranges.ok());
  EXPECT_NE(ranges.status().message().find("no usable sample"), std::string::npos);
  EXPECT_NE(ranges.status().message().find("a.npy"), std::string::npos);
}

TEST(Collector, NanAndInfAreCountedNamedAndKeptOut) {
  TempFolder folder;
  const TestModel m = make_model();
  write_sample(folder, "bad.npy", 1, 4, {1, NAN, INFINITY, -2});
  write_sample(folder, "good.npy", 1, 4, {1, 2, 3, -4});
  const Collection c = collect(m, folder.path(), 2);
  const RangeStats& n = c.stats[1];
  EXPECT_EQ(n.nan, 1u);
  EXPECT_EQ(n.inf, 1u);
  EXPECT_EQ(n.finite, 6u);
  EXPECT_EQ(n.first_bad_sample, "bad.npy");
  EXPECT_EQ(n.range().min, -3);
  EXPECT_EQ(n.range().max, 4);
  EXPECT_EQ(c.histogram(1).total(), 6u);
}

TEST(Collector, AnOutputThatIsAnInput) {
  TempFolder folder;
  TestModel m = make_model();
  m.ir.main().outputs = {m.y, m.x};
  write_samples(folder);
  const Collection c = collect(m, folder.path(), 1);
  EXPECT_EQ(c.used, 9u);
}

TEST(Collector, BlankDataGivesScaleOne) {
  TempFolder folder;
  const TestModel m = make_model();
  write_sample(folder, "black.npy", 2, 2, {0, 0, 0, 0});
  const Collection c = collect(m, folder.path(), 1);
  for (size_t tap = 0; tap < 3; ++tap) {
    const Histogram h = c.histogram(tap);
    const ValueRange t = compute_threshold(*parse_method("kl"), h, 256);
    const QuantParams p = choose_params(h.range(), t, ActivationMode::kAuto, Target::kAny);
    EXPECT_EQ(p.scale[0], 1.0f);
    EXPECT_TRUE(is_valid_params(p));
  }
}

TEST(Collector, RefusesWhatCannotBeTapped) {
  TestModel m = make_model();
  const float one = 1;
  const TensorId constant = m.ir.main().add_constant("c", DType::Float32, {1}, &one);
  EXPECT_FALSE(Collector::create(m.ir, {constant}, {}).ok());
  EXPECT_FALSE(Collector::create(m.ir, {99}, {}).ok());
  const std::vector<TensorId> taps = float_tensors(m.ir.main());
  EXPECT_EQ(taps, (std::vector<TensorId>{m.x, m.n, m.y}));
}

}  // namespace
}  // namespace lq::calibration
