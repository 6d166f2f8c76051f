#include "runtime/memory_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/memory.h"

namespace lq {
namespace {

/// The least any plan needs: the largest sum of blocks alive in one step.
size_t peak(const std::vector<MemoryRequest>& requests) {
  size_t most = 0;
  for (const MemoryRequest& at : requests) {
    size_t sum = 0;
    for (const MemoryRequest& r : requests) {
      if (r.first <= at.first && at.first <= r.last) sum += align_up(r.bytes);
    }
    most = std::max(most, sum);
  }
  return most;
}

void check(const std::vector<MemoryRequest>& requests, const MemoryLayout& layout) {
  ASSERT_EQ(layout.offsets.size(), requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const MemoryRequest& a = requests[i];
    EXPECT_EQ(layout.offsets[i] % kAlignment, 0u);
    EXPECT_LE(layout.offsets[i] + a.bytes, layout.total);
    for (size_t j = 0; j < i; ++j) {
      const MemoryRequest& b = requests[j];
      const bool together = a.first <= b.last && b.first <= a.last;
      const bool apart =
          layout.offsets[i] + a.bytes <= layout.offsets[j] || layout.offsets[j] + b.bytes <= layout.offsets[i];
      EXPECT_TRUE(!together || apart) << i << " and " << j;
    }
  }
}

TEST(MemoryPlanner, NothingWanted) {
  const auto layout = plan_memory({});
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->total, 0u);
}

TEST(MemoryPlanner, ChainUsesTwoBlocks) {
  // A chain of ten equal tensors: two are alive at any step.
  std::vector<MemoryRequest> requests;
  for (int i = 0; i < 10; ++i) requests.push_back({1024, i, i + 1});
  const auto layout = plan_memory(requests);
  ASSERT_TRUE(layout.ok());
  check(requests, *layout);
  EXPECT_EQ(layout->total, 2048u);
}

TEST(MemoryPlanner, SmallestHoleWins) {
  // The long-lived blocks leave holes of 256 and 128 bytes in step 2; the last request fits both.
  const std::vector<MemoryRequest> requests = {{512, 0, 2}, {256, 0, 1}, {448, 0, 2},
                                               {128, 0, 1}, {384, 0, 2}, {100, 2, 2}};
  const auto layout = plan_memory(requests);
  ASSERT_TRUE(layout.ok());
  check(requests, *layout);
  EXPECT_EQ(layout->total, 512u + 448 + 384 + 256 + 128);
}

TEST(MemoryPlanner, RandomLifetimesNeverOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<MemoryRequest> requests;
    const int count = 1 + int(random() % 60);
    for (int i = 0; i < count; ++i) {
      const int first = int(random() % 40);
      requests.push_back({random() % 5 == 0 ? 0 : size_t(random() % 5000), first, first + int(random() % 8)});
    }
    const auto layout = plan_memory(requests);
    ASSERT_TRUE(layout.ok());
    check(requests, *layout);
    EXPECT_GE(layout->total, peak(requests));
    EXPECT_LE(layout->total, 2 * peak(requests));  // greedy is not optimal, but near
  }
}

TEST(MemoryPlanner, SizesThatOverflowAreRefused) {
  EXPECT_EQ(plan_memory({{SIZE_MAX - 10, 0, 1}}).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(plan_memory({{SIZE_MAX / 2 - 64, 0, 1}, {SIZE_MAX / 2 - 64, 0, 1}, {128, 0, 1}}).status().code(),
            StatusCode::kOutOfMemory);
}

}  // namespace
}  // namespace lq
