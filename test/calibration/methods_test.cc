// Threshold methods. KL against a naive oracle that builds P and Q for every candidate (O(bins²)) from the definition.
#include <algorithm>
#include <cmath>
#include <ctime>

#include "calibration/activation_params.h"
#include "calibration/methods/method.h"
#include "calibration_test_util.h"

namespace lq::calibration {
namespace {

/// Builds a histogram with the given counts: bin b of the positive side gets counts[b] values at its middle. Limit =
/// 2048.
Histogram make_histogram(const std::vector<uint64_t>& counts, const std::vector<uint64_t>& negative = {}) {
  std::vector<float> values;
  for (size_t b = 0; b < counts.size(); ++b) values.insert(values.end(), counts[b], float(b) + 0.5f);
  for (size_t b = 0; b < negative.size(); ++b) values.insert(values.end(), negative[b], -(float(b) + 0.5f));
  return histogram_of(values, {negative.empty() ? 0.0f : -2048.0f, 2048.0f});
}

/// The definition, literally: returns how many bins the best candidate keeps.
int naive_kl(const std::vector<uint64_t>& bins, int levels) {
  double best = INFINITY;
  int kept = int(bins.size());
  for (int i = levels; i <= int(bins.size()); ++i) {
    std::vector<double> p(bins.begin(), bins.begin() + i), q(size_t(i), 0.0);
    for (size_t b = size_t(i); b < bins.size(); ++b) p[size_t(i) - 1] += double(bins[b]);
    for (int j = 0; j < levels; ++j) {
      const int begin = j * i / levels, end = (j + 1) * i / levels;
      double mass = 0, filled = 0;
      for (int b = begin; b < end; ++b) mass += double(bins[size_t(b)]), filled += bins[size_t(b)] != 0;
      for (int b = begin; b < end; ++b) q[size_t(b)] = bins[size_t(b)] != 0 ? mass / filled : 0;
    }
    double p_sum = 0, q_sum = 0, kl = 0;
    for (double v : p) p_sum += v;
    for (double v : q) q_sum += v;
    for (size_t b = 0; b < p.size(); ++b) {
      if (p[b] > 0) kl += q[b] > 0 ? p[b] / p_sum * std::log(p[b] / p_sum / (q[b] / q_sum)) : INFINITY;
    }
    if (kl < best - 1e-12 || (std::isinf(best) && kl < best)) best = kl, kept = i;
  }
  return kept;
}

uint64_t next_random(uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

/// Shapes that calibration meets: half normal, exponential, with holes, with a far outlier, sparse, uniform.
std::vector<uint64_t> sample_bins(int kind, uint64_t& state) {
  std::vector<uint64_t> bins(kBins);
  for (int b = 0; b < kBins; ++b) {
    const double x = double(b) / kBins;
    switch (kind) {
      case 0:
        bins[size_t(b)] = uint64_t(3000 * std::exp(-x * x * 30));
        break;
      case 1:
        bins[size_t(b)] = uint64_t(3000 * std::exp(-x * 12)) + next_random(state) % 5;
        break;
      case 2:
        bins[size_t(b)] = next_random(state) % 3 == 0 ? 0 : uint64_t(900 * std::exp(-x * 5)) + next_random(state) % 40;
        break;
      case 3:
        bins[size_t(b)] = b < 150 ? 200 + next_random(state) % 100 : 0;
        break;
      case 4:
        bins[size_t(b)] = next_random(state) % 50 == 0 ? next_random(state) % 9 : 0;
        break;
      default:
        bins[size_t(b)] = 10;
        break;
    }
  }
  if (bins[kBins - 1] == 0) bins[kBins - 1] = 1;  // the last bin holds the maximum
  return bins;
}

TEST(Kl, EqualsTheNaiveOracle) {
  const MethodChoice kl = *parse_method("kl");
  uint64_t state = 7;
  for (int kind = 0; kind < 6; ++kind) {
    for (int levels : {128, 256, 173}) {
      const std::vector<uint64_t> bins = sample_bins(kind, state);
      const ValueRange t = compute_threshold(kl, make_histogram(bins), levels);
      EXPECT_EQ(t.max, float(naive_kl(bins, levels))) << "kind " << kind << " levels " << levels;
      EXPECT_EQ(t.min, 0);
    }
  }
}

TEST(Kl, FoldsBothSides) {
  uint64_t state = 3;
  const std::vector<uint64_t> a = sample_bins(1, state), b = sample_bins(0, state);
  std::vector<uint64_t> sum(kBins);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + b[i];
  const ValueRange t = compute_threshold(*parse_method("kl"), make_histogram(a, b), 128);
  EXPECT_EQ(t.max, float(naive_kl(sum, 128)));
  EXPECT_EQ(t.min, -t.max);
}

TEST(Kl, UniformDataTiesToTheSmallestExactCandidate) {
  // All bins equal, levels 128: at i = 2048 nothing is clipped and Q = P, KL = 0; every smaller i has outliers in one
  // bin.
  EXPECT_EQ(compute_threshold(*parse_method("kl"), make_histogram(std::vector<uint64_t>(kBins, 10)), 128).max, 2048);
  // Two lumps: bins 0 and 2047. Only candidate 2048 has a filled last bin.
  std::vector<uint64_t> lumps(kBins);
  lumps[0] = 100, lumps[kBins - 1] = 1;
  EXPECT_EQ(compute_threshold(*parse_method("kl"), make_histogram(lumps), 128).max, 2048);
}

TEST(Kl, AFarOutlierIsClipped) {
  // A smooth body in bins 0…299 and one value 7 times further out.
  std::vector<uint64_t> bins(kBins);
  for (int b = 0; b < 300; ++b) bins[size_t(b)] = uint64_t(100000 * std::exp(-b * b / 20000.0));
  bins[kBins - 1] = 1;
  const float t = compute_threshold(*parse_method("kl"), make_histogram(bins), 128).max;
  EXPECT_LE(t, 300);
  EXPECT_GE(t, 128);
}

TEST(Kl, TwoHundredTensorsAreFast) {
  uint64_t state = 11;
  const Histogram h = make_histogram(sample_bins(1, state));
  const MethodChoice kl = *parse_method("kl");
  const std::clock_t begin = std::clock();
  float sum = 0;
  for (int i = 0; i < 200; ++i) sum += compute_threshold(kl, h, 128 + i % 2 * 128).max;
  const double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;  // of this process: others may be busy
  RecordProperty("seconds", std::to_string(seconds));
  std::printf("200 KL searches: %.3f s\n", seconds);
  EXPECT_GT(sum, 0);
  EXPECT_LT(seconds, 20);  // wide: sanitizers and busy machines; the aim is 1 s
}

TEST(Minmax, KeepsTheRange) {
  const ValueRange t = compute_threshold(*parse_method("minmax"), make_histogram({1, 2}, {3}), 128);
  EXPECT_EQ(t.min, -2048);
  EXPECT_EQ(t.max, 2048);
}

TEST(Percentile, ByHand) {
  // 1000 values: 989 in bin 0, 10 in bin 9, 1 in bin 2047. 99 % one-sided may drop 10: the one goes, the ten would
  // make 11.
  std::vector<uint64_t> bins(kBins);
  bins[0] = 989, bins[9] = 10, bins[kBins - 1] = 1;
  EXPECT_EQ(compute_threshold(*parse_method("percentile:99"), make_histogram(bins), 256).max, 10);
  EXPECT_EQ(compute_threshold(*parse_method("percentile:98"), make_histogram(bins), 256).max, 1);
  EXPECT_EQ(compute_threshold(*parse_method("percentile:100"), make_histogram(bins), 256).max, 2048);
  EXPECT_EQ(compute_threshold(*parse_method("percentile"), make_histogram(bins), 256).max,
            2048);  // 99.99 % of 1000: none
  // Two-sided, 2000 values, 99 %: 10 a side.
  std::vector<uint64_t> negative(kBins);
  negative[0] = 985, negative[99] = 5, negative[299] = 10;
  const ValueRange t = compute_threshold(*parse_method("percentile:99"), make_histogram(bins, negative), 128);
  EXPECT_EQ(t.max, 10);
  EXPECT_EQ(t.min, -100);
}

TEST(Percentile, NeverClipsMoreThanItSays) {
  // Of values up to 1365.5 a bin is 0.66675 wide; they were counted in bins of 0.25 (2048/8192). 100 values of 0.74 lie
  // in [0.5, 0.75), across the first edge: two thirds count below it. 40 % of 101 allow to drop the outlier and the 34
  // above the edge; a threshold at the edge would clip all 101.
  std::vector<float> values(100, 0.74f);
  values.push_back(1365.5f);
  EXPECT_EQ(compute_threshold(*parse_method("percentile:60"), histogram_of(values, {0, 1365.5f}), 256).max, 0.75f);
  // Whatever the range, by counting: at most the share asked for lies beyond.
  uint64_t state = 3;
  for (int turn = 0; turn < 40; ++turn) {
    SCOPED_TRACE(turn);
    values.clear();
    const bool two_sided = turn % 2 == 1;
    const double spread = 1 + double(next_random(state) % 1000);
    for (int i = 0; i < 5000; ++i) {
      const double u = double(next_random(state) % 1000000) / 1e6, power = 1 + turn % 7;
      values.push_back(float(spread * std::pow(u, power)) * (two_sided && i % 2 == 1 ? -1.0f : 1.0f));
    }
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const Histogram h = histogram_of(values, {std::min(*low, 0.0f), *high});
    for (const double keep : {99.9, 99.0, 90.0, 60.0}) {
      const ValueRange t = compute_threshold(*parse_method("percentile:" + std::to_string(keep)), h, 128);
      const auto clipped = std::count_if(values.begin(), values.end(), [&](float v) { return v < t.min || v > t.max; });
      EXPECT_LE(double(clipped), std::floor((100 - keep) / 100 * double(h.total()) + 1e-6)) << keep;
    }
  }
}

TEST(Mse, UniformDataKeepsTheRangeAndAnOutlierIsClipped) {
  // Uniform density c on [0, 2048]: clipping the last d costs c·d³/3, rounding costs c·2048·(2048 − d)²/(12·127²).
  // Their sum is least at d = 6.6; of the candidates 8 apart, d = 8 (44207c) beats d = 0 (44382c).
  EXPECT_EQ(compute_threshold(*parse_method("mse"), make_histogram(std::vector<uint64_t>(kBins, 10)), 128).max, 2040);
  // 10⁶ values uniform in [0, 64), one at 2047.5. Clipping it at T costs (2047.5 − T)²; keeping it costs
  // 10⁶·(T/127)²/12. The sum is least at T = 2047.5/(1 + 10⁶/(12·127²)) = 2047.5/6.167 = 332; candidates are 8 apart
  // and rounding makes small ripples.
  std::vector<uint64_t> bins(kBins);
  for (int b = 0; b < 64; ++b) bins[size_t(b)] = 15625;
  bins[kBins - 1] = 1;
  EXPECT_NEAR(compute_threshold(*parse_method("mse"), make_histogram(bins), 128).max, 332, 60);
}

TEST(Admm, IsAFixedPointOfItsTurnsAndNoWorseThanItsStart) {
  uint64_t state = 5;
  for (int kind = 0; kind < 6; ++kind) {
    SCOPED_TRACE(kind);
    const std::vector<uint64_t> bins = sample_bins(kind, state);
    const Histogram h = make_histogram(bins);
    const double t = double(compute_threshold(*parse_method("admm"), h, 128).max), step = t / 127;
    double values = 0, levels = 0;
    for (size_t b = 0; b < bins.size(); ++b) {
      const double x = double(b) + 0.5, q = std::min(std::floor(x / step + 0.5), 127.0);
      values += double(bins[b]) * x * q, levels += double(bins[b]) * q * q;
    }
    if (levels > 0 && t < 2048) EXPECT_NEAR(values / levels, step, 1e-3 * step);
    EXPECT_LE(expected_squared_error(h, t, 128), 1.0001 * expected_squared_error(h, 2048, 128));
  }
}

TEST(Ema, AveragesTheSamplesRangesInTheirOrder) {
  const std::vector<ValueRange> samples = {{-1, 2}, {-3, 8}, {0.5f, 4}};
  const auto at = [&](const char* method) { return compute_threshold(*parse_method(method), make_histogram({1}, {1}), 128, &samples); };
  EXPECT_EQ(at("ema:1").max, 2);  // the first one for ever
  EXPECT_EQ(at("ema:0").max, 4);  // the last one alone
  EXPECT_EQ(at("ema:0").min, 0);  // a range holds 0
  EXPECT_EQ(at("ema:0.5").max, 4.5f);   // (2 + 8)/2 = 5, (5 + 4)/2
  EXPECT_EQ(at("ema:0.5").min, -1.0f);  // −2, −1
  EXPECT_EQ(at("ema").max, at("ema:0.9").max);
}

TEST(Methods, EmptyHistogramKeepsTheRange) {
  const Histogram h = histogram_of({-1e-7f, 5e-7f}, {-1e-7f, 5e-7f});
  for (const char* name : {"kl", "minmax", "percentile", "mse", "ema", "admm"}) {
    const ValueRange t = compute_threshold(*parse_method(name), h, 128);
    EXPECT_EQ(t.min, -1e-7f) << name;
    EXPECT_EQ(t.max, 5e-7f) << name;
  }
}

TEST(Methods, NamesAreChecked) {
  for (const char* bad :
       {"", "entropy", "kl:3", "percentile:", "percentile:x", "percentile:101", "percentile:49", "percentile:nan",
        "ema:1.1", "admm:2"})
    EXPECT_FALSE(parse_method(bad).ok()) << bad;
  EXPECT_EQ(parse_method("percentile")->parameter, 99.99);
  EXPECT_EQ(parse_method("percentile:99.9")->parameter, 99.9);
}

}  // namespace
}  // namespace lq::calibration
