// The elementwise kernels themselves: every ISA against the scalar arithmetic of numerics/quantize.h, at every length
// around the vector widths, with values at the ends of their ranges.
#include "kernels/elementwise_kernels.h"

#include <algorithm>

#include "kernels/op_case.h"
#include "runtime/model.h"

namespace lq::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// One of each table this processor runs.
std::vector<const ElementwiseKernels*> supported() {
  std::vector<const ElementwiseKernels*> tables;
  for (int i = 0; i < kIsaCount; ++i) {
    if (!is_isa_built(Isa(i)) || !is_isa_supported(Isa(i))) continue;
    const ElementwiseKernels* table = &elementwise_kernels(Isa(i));
    if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
  }
  return tables;
}

RoundArgs round_of(int32_t zero, int32_t qmin, int32_t qmax) { return {float(qmin - zero), float(qmax - zero), zero}; }

struct Range {
  int32_t zero, qmin, qmax;
};
constexpr Range kRanges[] = {{0, -128, 127}, {-128, -128, 127}, {127, -128, 127}, {5, 5, 100}, {-3, -90, -3}};

TEST(ElementwiseKernels, TablesAreNamedForTheirIsa) {
  for (const ElementwiseKernels* k : supported()) {
    const std::string name = k->add.name;
    EXPECT_EQ(name, std::string("add_s8__") + isa_name(k->add.isa));
  }
  EXPECT_EQ(elementwise_kernels(Isa::kScalar).add.isa, Isa::kScalar);
  // Every vector instruction set has a table of its own.
  if (best_isa() != Isa::kScalar) {
    EXPECT_NE(elementwise_kernels(best_isa()).add.isa, Isa::kScalar);
  }
}

TEST(ElementwiseKernels, QuantizeFollowsTheFormula) {
  std::vector<float> x = {0.0f,  -0.0f, 0.5f,  1.5f,   2.5f,  -0.5f,  -1.5f,     kInf,
                          -kInf, NAN,   1e30f, -1e30f, 63.5f, 1e-40f, 127.49999f};
  const std::vector<float> more = random_f32(90, 1, 200.0f);
  x.insert(x.end(), more.begin(), more.end());
  for (const ElementwiseKernels* k : supported()) {
    for (const Range& r : kRanges) {
      for (float scale : {1.0f, 0.1f, 3.7f, 1.1754944e-38f}) {
        for (size_t n = 0; n <= x.size(); ++n) {
          std::vector<int8_t> y(n + 1, 77);
          k->quantize.run(x.data(), y.data(), int64_t(n), {scale, round_of(r.zero, r.qmin, r.qmax)});
          for (size_t i = 0; i < n; ++i)
            ASSERT_EQ(y[i], quantize(x[i], scale, r.zero, r.qmin, r.qmax)) << k->quantize.name << " " << x[i];
          ASSERT_EQ(y[n], 77) << "wrote past the end";
        }
      }
    }
  }
}

TEST(ElementwiseKernels, DequantizeAndRequantizeFollowTheFormulas) {
  const std::vector<int8_t> x = random_s8(100, 2);
  for (const ElementwiseKernels* k : supported()) {
    for (const Range& r : kRanges) {
      for (float m : {1.0f, 0.37f, 250.0f, 1e30f, 1e-30f}) {
        for (int64_t n : {0, 1, 7, 8, 9, 31, 32, 33, 100}) {
          std::vector<float> f(size_t(n) + 1, 7.0f);
          std::vector<int8_t> y(size_t(n) + 1, 77);
          k->dequantize.run(x.data(), f.data(), n, m, r.zero);
          k->requantize.run(x.data(), y.data(), n, {r.zero, m, round_of(-7, -100, 90)});
          for (size_t i = 0; i < size_t(n); ++i) {
            ASSERT_EQ(f[i], dequantize(x[i], m, r.zero));
            ASSERT_EQ(y[i], requantize(x[i] - r.zero, m, -7, -100, 90));
          }
          ASSERT_EQ(f.back(), 7.0f);
          ASSERT_EQ(y.back(), 77);
        }
      }
    }
  }
}

TEST(ElementwiseKernels, TableLooksUpEveryByte) {
  uint8_t table[256];
  for (int i = 0; i < 256; ++i) table[i] = uint8_t(i * 37 + 11);
  std::vector<uint8_t> x;
  for (int i = 0; i < 300; ++i) x.push_back(uint8_t(i));
  for (const ElementwiseKernels* k : supported()) {
    for (int64_t n = 0; n <= 300; ++n) {
      std::vector<uint8_t> y(size_t(n) + 1, 77);
      k->table.run(x.data(), y.data(), n, table);
      for (size_t i = 0; i < size_t(n); ++i) ASSERT_EQ(y[i], table[x[i]]);
      ASSERT_EQ(y.back(), 77);
    }
  }
}

TEST(ElementwiseKernels, AddMulPReluFollowTheRules) {
  const std::vector<int8_t> a = random_s8(100, 3), b = random_s8(100, 4);
  const std::vector<float> slope = random_f32(100, 5, 1.5f);
  for (const ElementwiseKernels* k : supported()) {
    for (const Range& r : kRanges) {
      const RoundArgs round = round_of(r.zero, r.qmin, r.qmax);
      const BinaryArgs args = {-128, 127, 0.731f, -0.0123f, round};
      for (int step : {0, 8}) {
        for (int64_t n = 0; n <= 100; ++n) {
          std::vector<int8_t> add(size_t(n) + 1, 77), mul(size_t(n) + 1, 77), prelu(size_t(n) + 1, 77);
          k->add.run(a.data(), b.data(), step, add.data(), n, args);
          k->mul.run(a.data(), b.data(), step, mul.data(), n, args);
          k->prelu.run(a.data(), slope.data(), step, prelu.data(), n, {3, 0.9f, round});
          for (size_t i = 0; i < size_t(n); ++i) {
            const size_t j = step == 0 ? i % 8 : i;
            const float ta = float(a[i] + 128) * 0.731f, tb = float(b[j] - 127) * -0.0123f;
            ASSERT_EQ(add[i], round_to_quantized(ta + tb, r.zero, r.qmin, r.qmax));
            ASSERT_EQ(mul[i], requantize((a[i] + 128) * (b[j] - 127), 0.731f, r.zero, r.qmin, r.qmax));
            ASSERT_EQ(prelu[i], requantize(a[i] - 3, a[i] < 3 ? slope[j] : 0.9f, r.zero, r.qmin, r.qmax));
          }
          ASSERT_EQ(add.back(), 77);
          ASSERT_EQ(mul.back(), 77);
          ASSERT_EQ(prelu.back(), 77);
        }
      }
    }
  }
}

// Products beyond float's range with opposite signs, and slopes nobody checked: NaN gives the lower bound.
TEST(ElementwiseKernels, NanGivesTheLowerBound) {
  const std::vector<int8_t> a(40, 127), b(40, 127);
  for (const ElementwiseKernels* k : supported()) {
    const RoundArgs round = round_of(2, -100, 90);
    std::vector<int8_t> y(40, 77);
    k->add.run(a.data(), b.data(), 8, y.data(), 40, {-128, -128, 3e38f, -3e38f, round});
    EXPECT_EQ(y, std::vector<int8_t>(40, -100)) << k->add.name;
    for (const auto& [slope, want] : {std::pair(NAN, -100), {kInf, -100}, {-kInf, 90}, {1e-42f, 2}, {-1e-42f, 2}}) {
      const std::vector<float> slopes(40, slope);
      k->prelu.run(std::vector<int8_t>(40, -128).data(), slopes.data(), 8, y.data(), 40, {3, 1.0f, round});
      EXPECT_EQ(y, std::vector<int8_t>(40, int8_t(want))) << k->prelu.name << " " << slope;
    }
  }
}

TEST(ElementwiseKernels, LayoutGoesThereAndBack) {
  for (const ElementwiseKernels* k : supported()) {
    for (int channels = 1; channels <= 8; ++channels) {
      for (int64_t count : {1, 7, 8, 9, 16, 37}) {
        const int64_t stride = count + 3;
        std::vector<uint8_t> x1(size_t(stride) * 8), y1(size_t(count) * 8 + 1, 77), z1(x1.size(), 99);
        std::vector<uint32_t> x4(x1.size()), y4(y1.size(), 77), z4(x1.size(), 99);
        for (size_t i = 0; i < x1.size(); ++i) x4[i] = uint32_t(i * 2654435761u), x1[i] = uint8_t(x4[i] >> 20);
        k->to_blocked_1.run(x1.data(), stride, channels, y1.data(), count, 0xFFFFFF85u);
        k->to_blocked_4.run(x4.data(), stride, channels, y4.data(), count, 0x12345678u);
        for (int64_t i = 0; i < count * 8; ++i) {
          const int64_t c = i % 8, at = c * stride + i / 8;
          ASSERT_EQ(y1[size_t(i)], c < channels ? x1[size_t(at)] : 0x85);
          ASSERT_EQ(y4[size_t(i)], c < channels ? x4[size_t(at)] : 0x12345678u);
        }
        ASSERT_EQ(y1.back(), 77);
        ASSERT_EQ(y4.back(), 77u);
        k->to_linear_1.run(y1.data(), z1.data(), stride, channels, count);
        k->to_linear_4.run(y4.data(), z4.data(), stride, channels, count);
        for (size_t i = 0; i < z1.size(); ++i) {
          const bool written = int64_t(i) / stride < channels && int64_t(i) % stride < count;
          ASSERT_EQ(z1[i], written ? x1[i] : 99);
          ASSERT_EQ(z4[i], written ? x4[i] : 99u);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lq::test
