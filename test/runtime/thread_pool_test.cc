#include "runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace lq {
namespace {

TEST(ThreadPool, RefusesNonsense) {
  for (const int threads : {0, -3, 100000}) {
    const auto pool = ThreadPool::create(threads);
    ASSERT_FALSE(pool.ok());
    EXPECT_EQ(pool.status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(ThreadPool, EveryIndexOnceForAnyCountAndGrain) {
  for (const int threads : {1, 2, 3, 8}) {
    auto pool = ThreadPool::create(threads);
    ASSERT_TRUE(pool.ok());
    EXPECT_EQ((*pool)->size(), threads);
    for (const int64_t count : {0, 1, 2, 7, 8, 9, 1000}) {
      for (const int64_t grain : {1, 3, 1000}) {
        std::vector<std::atomic<int>> hits(size_t(count) + 1);
        std::atomic<int> calls{0};
        (*pool)->parallel_for(count, grain, [&](int64_t begin, int64_t end, int worker) {
          EXPECT_LT(begin, end);
          EXPECT_GE(worker, 0);
          EXPECT_LT(worker, threads);
          EXPECT_TRUE(end - begin >= grain || end - begin == count);
          ++calls;
          for (int64_t i = begin; i < end; ++i) ++hits[size_t(i)];
        });
        for (int64_t i = 0; i < count; ++i) EXPECT_EQ(hits[size_t(i)], 1);
        EXPECT_LE(calls, threads);
      }
    }
  }
}

TEST(ThreadPool, SplitIsAFunctionOfCountAndSize) {
  auto pool = ThreadPool::create(4);
  ASSERT_TRUE(pool.ok());
  // 103 = 26 + 26 + 26 + 25, whoever takes which.
  const std::set<std::pair<int64_t, int64_t>> expected = {{0, 26}, {26, 52}, {52, 78}, {78, 103}};
  for (int round = 0; round < 100; ++round) {
    std::mutex mutex;
    std::set<std::pair<int64_t, int64_t>> pieces;
    (*pool)->parallel_for(103, 1, [&](int64_t begin, int64_t end, int) {
      std::lock_guard<std::mutex> lock(mutex);
      pieces.insert({begin, end});
    });
    EXPECT_EQ(pieces, expected);
  }
}

// Scratch memory is by worker: no two pieces may run under one number at the same time.
TEST(ThreadPool, WorkerNumbersAreExclusive) {
  auto pool = ThreadPool::create(8);
  ASSERT_TRUE(pool.ok());
  std::vector<std::atomic<int>> busy(8);
  std::atomic<int> clashes{0};
  for (int round = 0; round < 500; ++round) {
    (*pool)->parallel_for(8, 1, [&](int64_t, int64_t, int worker) {
      clashes += busy[size_t(worker)]++ != 0;
      if (round % 7 == 0) std::this_thread::yield();
      --busy[size_t(worker)];
    });
  }
  EXPECT_EQ(clashes, 0);
}

TEST(ThreadPool, NestedRunStaysOnItsWorker) {
  auto pool = ThreadPool::create(3);
  ASSERT_TRUE(pool.ok());
  std::atomic<int64_t> sum{0};
  (*pool)->parallel_for(3, 1, [&](int64_t, int64_t, int outer) {
    const auto thread = std::this_thread::get_id();
    (*pool)->parallel_for(10, 1, [&](int64_t begin, int64_t end, int inner) {
      EXPECT_EQ(inner, outer);
      EXPECT_EQ(std::this_thread::get_id(), thread);
      sum += end - begin;
    });
  });
  EXPECT_EQ(sum, 30);
}

TEST(ThreadPool, ManyShortRunsAndSleepsBetween) {
  auto pool = ThreadPool::create(4);
  ASSERT_TRUE(pool.ok());
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 4000; ++i) {
    (*pool)->parallel_for(4, 1, [&](int64_t b, int64_t e, int) { sum += e - b; });
    if (i % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // long enough to fall asleep
  }
  EXPECT_EQ(sum, 16000);
}

float third() {
  volatile float one = 1, three = 3;
  return one / three;
}

TEST(ThreadPool, WorkersRoundToNearest) {
  const float nearest = third();
  std::fesetround(nearest * 3.0 > 1.0 ? FE_DOWNWARD : FE_UPWARD);  // new threads inherit it
  ASSERT_NE(third(), nearest);
  auto pool = ThreadPool::create(3);
  std::fesetround(FE_TONEAREST);
  ASSERT_TRUE(pool.ok());
  std::atomic<int> wrong{0}, workers{0};
  for (int round = 0; round < 1000 && workers == 0; ++round) {
    (*pool)->parallel_for(3, 1, [&](int64_t, int64_t, int worker) {
      wrong += third() != nearest;
      workers += worker != 0;
      if (worker == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // leaves the others time to take theirs
    });
  }
  EXPECT_GT(workers, 0);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace lq
