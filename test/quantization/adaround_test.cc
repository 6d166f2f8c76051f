// AdaRound on cases small enough to solve by hand or by trying everything, and the moments it works with.
#include "quantization/adaround.h"

#include <cmath>

#include "quantization/quantizer_fixture.h"

namespace lq::quantization {
namespace {

constexpr size_t kManyRows = 1000000000;  // nothing is shrunk

double cost(const std::vector<double>& h, const std::vector<float>& w, const std::vector<int8_t>& q) {
  double sum = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    for (size_t j = 0; j < w.size(); ++j)
      sum += (double(q[i]) - double(w[i])) * h[i * w.size() + j] * (double(q[j]) - double(w[j]));
  }
  return sum;
}

std::vector<int8_t> solved(const std::vector<float>& w, std::vector<double> h, double largest_sum = 1e9) {
  const WeightMoments moments{w.size(), kManyRows, {std::move(h)}};
  std::vector<int8_t> q;
  for (float v : w) q.push_back(int8_t(std::nearbyint(v)));
  const WeightLayout layout{false, 1, w.size()};
  EXPECT_TRUE(adaround(w, {1.0f}, layout, moments, 0, {largest_sum}, 1, q).ok());
  return q;
}

TEST(AdaRound, EqualInputsAreRoundedTogether) {
  // Both inputs are always equal, so only the sum 0.8 counts: 1 is nearer than 0, although both weights round to 0.
  EXPECT_EQ(solved({0.4f, 0.4f}, {1, 1, 1, 1}), (std::vector<int8_t>{1, 0}));
}

TEST(AdaRound, IndependentInputsKeepNearestRounding) {
  EXPECT_EQ(solved({0.4f, 0.4f, 1.6f}, {1, 0, 0, 0, 1, 0, 0, 0, 1}), (std::vector<int8_t>{0, 0, 2}));
}

TEST(AdaRound, SumsBeyondTheBoundKeepNearestRounding) {
  EXPECT_EQ(solved({0.4f, 0.4f}, {1, 1, 1, 1}, 0), (std::vector<int8_t>{0, 0}));
}

TEST(AdaRound, WeightsOnTheGridStay) {
  EXPECT_EQ(solved({3, -127, 127}, {1, 1, 1, 1, 1, 1, 1, 1, 1}), (std::vector<int8_t>{3, -127, 127}));
}

TEST(AdaRound, NoSingleFlipIsBetter) {
  const size_t n = 8;
  const std::vector<float> base = test::noise(n * n, 5);
  std::vector<double> h(n * n, 0.0);  // BᵀB is a covariance
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t k = 0; k < n; ++k) h[i * n + j] += double(base[k * n + i]) * double(base[k * n + j]);
    }
  }
  std::vector<float> w = test::noise(n, 9);
  for (float& v : w) v *= 20;
  const std::vector<int8_t> q = solved(w, h);
  std::vector<int8_t> nearest;
  for (float v : w) nearest.push_back(int8_t(std::nearbyint(v)));
  EXPECT_LT(cost(h, w, q), cost(h, w, nearest));
  for (size_t i = 0; i < n; ++i) {
    EXPECT_LT(std::abs(double(q[i]) - double(w[i])), 1);
    std::vector<int8_t> flipped = q;
    flipped[i] = int8_t(double(q[i]) > double(w[i]) ? q[i] - 1 : q[i] + 1);
    EXPECT_GE(cost(h, w, flipped), cost(h, w, q) - 1e-6);
  }
}

class MomentsTest : public test::QuantizerFixture {};

TEST_F(MomentsTest, AreTheCovarianceOfThePaddedWindows) {
  write_samples(4, {1, 1, 4, 4});
  test::GraphMaker m;
  const TensorId x = m.input("x", {1, 1, 4, 4});
  m.output(test::conv(m, "y", x, 1, 2, 3));  // 3 × 3, padding 1
  m.finish();
  PrecisionPlan plan(1);
  plan[0].precision = Precision::kInt8;
  const auto source = calibration::DataSource::open(folder_.string(), calibration::input_specs(m.model, {}));
  ASSERT_TRUE(source.ok());
  const auto seen = collect_columns(m.model, plan, *source, MeasureOptions());
  ASSERT_TRUE(seen.ok()) << seen.status().message();
  ASSERT_EQ(seen->count(0), 1u);
  const auto moments = moments_of(seen->at(0), 2);
  ASSERT_TRUE(moments.ok()) << moments.status().message();
  const WeightMoments& got = *moments;
  EXPECT_EQ(got.size, 9u);
  EXPECT_EQ(got.rows, 64u);
  // Column of tap (ky, kx) at position (y, x): pixel (y + ky − 1, x + kx − 1), 0 outside.
  std::vector<std::vector<double>> columns;
  for (size_t s = 0; s < 4; ++s) {
    const std::vector<float> image = test::noise(16, uint32_t(s + 1));
    for (int p = 0; p < 16; ++p) {
      columns.emplace_back();
      for (int t = 0; t < 9; ++t) {
        const int y = p / 4 + t / 3 - 1, xx = p % 4 + t % 3 - 1;
        columns.back().push_back(y >= 0 && y < 4 && xx >= 0 && xx < 4 ? double(image[size_t(y * 4 + xx)]) : 0.0);
      }
    }
  }
  for (size_t i = 0; i < 9; ++i) {
    for (size_t j = 0; j < 9; ++j) {
      double product = 0, mean_i = 0, mean_j = 0;
      for (const auto& c : columns) product += c[i] * c[j] / 64, mean_i += c[i] / 64, mean_j += c[j] / 64;
      EXPECT_NEAR(got.covariance[0][i * 9 + j], product - mean_i * mean_j, 1e-9);
    }
  }
}

TEST_F(MomentsTest, RoundingByThemHelpsTheOutput) {
  // Smooth samples: neighbouring pixels are nearly equal, so sums of weights matter more than single ones.
  for (int i = 0; i < 16; ++i) {
    std::vector<float> values(2 * 36);
    for (size_t p = 0; p < values.size(); ++p) values[p] = float(std::sin(0.3 * i + 0.05 * double(p)));
    const std::string path = (folder_ / ("s" + std::to_string(i) + ".npy")).string();
    ASSERT_TRUE(calibration::write_npy(path, DType::Float32, {1, 2, 6, 6}, values.data()).ok());
  }
  const auto sqnr = [&](const std::string& rounding, int threads) {
    test::GraphMaker m;
    m.output(test::conv(m, "y", m.input("x", {1, 2, 6, 6}), 2, 8, 7));
    QuantizeOptions o = options(threads);
    o.rounding = rounding;
    return *quantized(m, o).output_sqnr_db;
  };
  const double adaround = sqnr("adaround", 1);
  EXPECT_GT(adaround, sqnr("nearest", 1) + 1);
  EXPECT_EQ(adaround, sqnr("adaround", 2));
  EXPECT_EQ(adaround, sqnr("auto", 2)) << "auto leaves the better one out";
}

TEST_F(MomentsTest, AutoRoundsClassifiersByThemToo) {
  for (int i = 0; i < 64; ++i) {  // smooth, as above: a row of scores is one position a sample
    std::vector<float> values(72);
    for (size_t p = 0; p < values.size(); ++p) values[p] = float(std::sin(0.3 * i + 0.05 * double(p)));
    const std::string path = (folder_ / ("s" + std::to_string(i) + ".npy")).string();
    ASSERT_TRUE(calibration::write_npy(path, DType::Float32, {1, 72}, values.data()).ok());
  }
  const auto sqnr = [&](const std::string& rounding) {
    test::GraphMaker m;
    m.output(m.node(Op::MatMul, "y", {m.input("x", {1, 72}), m.constant("w", {72, 8}, test::noise(72 * 8, 7))}));
    m.finish();
    QuantizeOptions o = options();
    o.rounding = rounding;
    return *quantized(m, o).output_sqnr_db;
  };
  EXPECT_GT(sqnr("auto"), sqnr("nearest") + 1);
}

TEST_F(MomentsTest, AutoKeepsNearestWhereNothingIsToBeGained) {
  write_samples(16, {1, 2, 6, 6});
  const auto made = [&](const std::string& rounding, std::string& verdict) {
    test::GraphMaker m;
    std::vector<float> on_grid = test::noise(8 * 2 * 9, 7);
    for (size_t i = 0; i < on_grid.size(); ++i)
      on_grid[i] = i % 18 == 0 ? 1.0f : std::nearbyint(on_grid[i] * 127) / 127;
    const TensorId w = m.constant("w", {8, 2, 3, 3}, on_grid);
    m.output(m.node(Op::Conv, "y", {m.input("x", {1, 2, 6, 6}), w}, schema::ConvAttrsT()));
    m.finish();
    QuantizeOptions o = options();
    o.rounding = rounding;
    o.log = [&](const std::string& line) { verdict += line.starts_with("rounding") ? line : ""; };
    quantized(m, o);
    return test::fingerprint(m.model.main());
  };
  std::string verdict;
  EXPECT_EQ(made("auto", verdict), made("nearest", verdict));
  EXPECT_NE(verdict.find("nearest stays"), std::string::npos) << verdict;
}

}  // namespace
}  // namespace lq::quantization
