#include "graph/constant_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace lq {
namespace {

/// A model of one int8 constant.
struct Weights {
  explicit Weights(const std::vector<int8_t>& values) {
    model.graphs.emplace_back();
    id = model.main().add_constant("w", DType::Int8, {int64_t(values.size())}, values.data());
  }
  const Tensor& tensor() const { return model.main().tensor(id); }
  ModelIr model;
  TensorId id;
};

TEST(ConstantFacts, SumsOfChannelsOfAnyLength) {
  std::mt19937 random(1);
  for (const int64_t inner : {1, 3, 7, 8, 9, 31, 64, 2040, 2047, 5003}) {
    const WeightView view{2, 3, inner, 1, 1};
    std::vector<int8_t> values(size_t(6 * inner));
    for (int8_t& v : values) v = random() % 3 == 0 ? int8_t(-128) : int8_t(random());
    // Channel 0 is all extremes, so that every field of the sum is as full as it can be.
    for (int64_t i = 0; i < inner; ++i) values[size_t(i)] = values[size_t(3 * inner + i)] = -128;
    std::vector<int64_t> expected(3, 0);
    for (int64_t i = 0; i < 6 * inner; ++i) expected[size_t(i / inner % 3)] += std::abs(int(values[size_t(i)]));
    const Weights w(values);
    ConstantFacts facts(w.model);
    const auto sums = facts.channel_sums(w.tensor(), view);
    ASSERT_TRUE(sums.ok());
    EXPECT_EQ(**sums, expected) << inner;
  }
}

TEST(ConstantFacts, ExtremesOfBytes) {
  for (const auto& values : std::vector<std::vector<int8_t>>{{5}, {-3, 4, 0}, {-128, 127}, {-1, -7}, {9, 3}}) {
    const Weights w(values);
    ConstantFacts facts(w.model);
    const auto range = facts.extremes(w.tensor());
    ASSERT_TRUE(range.ok());
    EXPECT_EQ(range->first, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(range->second, *std::max_element(values.begin(), values.end()));
    Tensor plain = w.tensor();
    plain.dtype = DType::UInt8;
    const auto bits = ConstantFacts(w.model).extremes(plain);
    ASSERT_TRUE(bits.ok());
    std::vector<uint8_t> unsigned_values(values.begin(), values.end());
    EXPECT_EQ(bits->first, *std::min_element(unsigned_values.begin(), unsigned_values.end()));
    EXPECT_EQ(bits->second, *std::max_element(unsigned_values.begin(), unsigned_values.end()));
  }
}

}  // namespace
}  // namespace lq
