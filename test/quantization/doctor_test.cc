// Findings about calibration data and models, and what --drop-outliers does about them.
#include <gmock/gmock.h>

#include <cmath>

#include "quantization/quantizer_fixture.h"

namespace lq {
namespace {

using ::testing::HasSubstr;

class DoctorTest : public test::QuantizerFixture {
 protected:
  /// A picture with structure at every size, as photos have: random values at 2, 4, 8, 16 and 32 cells a side, each
  /// finer one half as strong, added up.
  static std::vector<float> picture(uint32_t seed) {
    std::vector<float> p(3 * kSide * kSide, 0.0f);
    for (int cells = 2, k = 0; cells <= kSide; cells *= 2, ++k) {
      const std::vector<float> values = test::noise(size_t(3 * cells * cells), seed * 7 + uint32_t(k));
      for (int c = 0; c < 3; ++c) {
        for (int y = 0; y < kSide; ++y) {
          for (int x = 0; x < kSide; ++x)
            at(p, c, y, x) +=
                values[size_t((c * cells + y * cells / kSide) * cells + x * cells / kSide)] / float(1 << k);
        }
      }
    }
    return p;
  }
  static float& at(std::vector<float>& p, int c, int y, int x) { return p[size_t((c * kSide + y) * kSide + x)]; }

  /// Motion blur: the mean of `length` pixels along a direction, edges repeated.
  static std::vector<float> blurred(std::vector<float> p, int length, double angle) {
    std::vector<float> out(p.size());
    const auto inside = [](double v) { return int(std::lround(std::min(std::max(v, 0.0), double(kSide - 1)))); };
    for (int c = 0; c < 3; ++c) {
      for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
          float sum = 0;
          for (int t = 0; t < length; ++t) {
            const double d = t - (length - 1) / 2.0;
            sum += at(p, c, inside(y + d * std::sin(angle)), inside(x + d * std::cos(angle)));
          }
          out[size_t((c * kSide + y) * kSide + x)] = sum / float(length);
        }
      }
    }
    return out;
  }
  void write(const std::string& name, const std::vector<float>& values) {
    ASSERT_TRUE(calibration::write_npy((folder_ / (name + ".npy")).string(), DType::Float32, {1, 3, kSide, kSide},
                                       values.data())
                    .ok());
  }
  void write_clean(int count) {
    for (int i = 0; i < count; ++i) write("clean" + std::to_string(100 + i), picture(uint32_t(i + 1)));
  }
  static void net(test::GraphMaker& m) {
    const TensorId x = m.input("x", {1, 3, kSide, kSide});
    m.output(m.node(Op::GlobalAveragePool, "y",
                    {test::conv(m, "a", m.node(Op::Relu, "r", {test::conv(m, "c", x, 3, 4, 3)}), 4, 4, 9)}));
    m.finish();
  }
  static std::map<std::string, std::string> sample_findings(const QuantizeReport& report) {
    std::map<std::string, std::string> found;
    for (const auto& w : report.warnings) {
      if (w.is_sample) found[w.subject] = w.kind;
    }
    return found;
  }
  static constexpr int kSide = 32;
};

TEST_F(DoctorTest, CleanPicturesGiveNoFinding) {
  write_clean(60);
  test::GraphMaker m;
  net(m);
  EXPECT_TRUE(sample_findings(quantized(m, options())).empty());
}

TEST_F(DoctorTest, BlurredCopiesAreNamedAndLeftOut) {
  write_clean(60);
  test::GraphMaker clean, with, dropped;
  net(clean), net(with), net(dropped);
  const QuantizeReport wanted = quantized(clean, options());
  for (int k = 0; k < 12; ++k)
    write("blur" + std::to_string(10 + k), blurred(picture(uint32_t(5 * k + 1)), 5 + k % 4 * 2, k * 3.14159265 / 12));
  const auto found = sample_findings(quantized(with, options()));
  EXPECT_EQ(found.size(), 12u);
  for (int k = 0; k < 12; ++k) {
    const auto it = found.find("blur" + std::to_string(10 + k) + ".npy");
    ASSERT_NE(it, found.end()) << k;
    EXPECT_EQ(it->second, "blurred-copy");
  }
  EXPECT_NE(test::fingerprint(with.graph()), test::fingerprint(clean.graph()));
  QuantizeOptions o = options();
  o.drop_outliers = true;
  const QuantizeReport report = quantized(dropped, o);
  EXPECT_EQ(test::fingerprint(dropped.graph()), test::fingerprint(clean.graph()));
  EXPECT_EQ(report.options, wanted.options);
  EXPECT_EQ(report.samples_used, wanted.samples_used);
  for (const auto& w : report.warnings) {
    EXPECT_TRUE(!w.is_sample || w.taken) << w.message;
  }
}

TEST_F(DoctorTest, BlankRepeatedAndBrokenSamplesAreNamed) {
  write_clean(20);
  write("blank", std::vector<float>(3 * kSide * kSide, 0.25f));
  write("same", picture(4));
  std::vector<float> bad = picture(1000);
  bad[7] = NAN;
  write("nan", bad);
  test::GraphMaker m, dropped;
  net(m), net(dropped);
  const auto found = sample_findings(quantized(m, options()));
  const std::map<std::string, std::string> wanted = {
      {"blank.npy", "blank"}, {"same.npy", "duplicate"}, {"nan.npy", "not-finite"}};
  EXPECT_EQ(found, wanted);
  QuantizeOptions o = options();
  o.drop_outliers = true;
  const QuantizeReport report = quantized(dropped, o);
  EXPECT_EQ(report.samples_used, 20u);
  for (const auto& w : report.warnings) EXPECT_TRUE(w.is_sample || w.kind != "not-finite") << w.message;
}

TEST_F(DoctorTest, WeightsAndOutputsThatCannotBeRightAreNamed) {
  write_clean(20);
  test::GraphMaker m;
  const TensorId x = m.input("x", {1, 3, kSide, kSide});
  std::vector<float> w = test::noise(4 * 3 * 9, 3);
  for (size_t i = 0; i < 27; ++i) w[i] *= 1e-5f;  // channel 0 beside the others
  schema::ConvAttrsT attrs;
  attrs.pads = {1, 1, 1, 1};
  const TensorId y = m.node(Op::Conv, "c", {x, m.constant("w", {4, 3, 3, 3}, w)}, attrs);
  // A bias far above the scores: always the same class.
  const TensorId pooled = m.node(Op::Flatten, "f", {m.node(Op::GlobalAveragePool, "p", {y})});
  m.output(m.node(Op::Gemm, "g",
                  {pooled, m.constant("v", {4, 5}, test::noise(20, 8)), m.constant("b", {5}, {1e4f, 0, 0, 0, 0})}));
  m.finish();
  std::map<std::string, std::string> found;
  for (const auto& warning : quantized(m, options()).warnings) found[warning.kind] = warning.message;
  EXPECT_THAT(found["weight-spread"], HasSubstr("Conv 'c'"));
  EXPECT_THAT(found["degenerate-output"], HasSubstr("same class for all 20 samples"));
}

}  // namespace
}  // namespace lq
