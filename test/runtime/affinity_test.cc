#include "runtime/affinity.h"

#include <gtest/gtest.h>

#include <atomic>

#include "runtime/thread_pool.h"

#if defined(__linux__)
#include <sched.h>

namespace lq {
namespace {

cpu_set_t current() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

int first_core(const cpu_set_t& set) {
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) return core;
  }
  return -1;
}

bool is_only(int core, const cpu_set_t& set) { return CPU_COUNT(&set) == 1 && CPU_ISSET(core, &set); }

TEST(Affinity, BindsAndRestores) {
  const cpu_set_t before = current();
  const int core = first_core(before);
  ASSERT_TRUE(check_cores({core}).ok());
  {
    const AffinityGuard guard({core});
    const cpu_set_t during = current();
    EXPECT_TRUE(is_only(core, during));
  }
  const cpu_set_t after = current();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  EXPECT_TRUE(check_cores({}).ok());
  for (const int bad : {-1, CPU_SETSIZE - 1, CPU_SETSIZE, 1 << 30}) EXPECT_FALSE(check_cores({bad}).ok()) << bad;
}

TEST(Affinity, WorkersRunWhereTheyAreTold) {
  const cpu_set_t before = current();
  const int core = first_core(before);
  auto pool = ThreadPool::create(3, {core});
  ASSERT_TRUE(pool.ok()) << pool.status().message();
  bool bound[3] = {};
  // Each worker has to take its own piece: pieces wait for each other.
  std::atomic<int> arrived{0};
  (*pool)->parallel_for(3, 1, [&](int64_t begin, int64_t, int worker) {
    arrived.fetch_add(1);
    for (int spin = 0; arrived.load() < 3 && spin < 100000; ++spin) sched_yield();
    if (worker == int(begin)) bound[begin] = is_only(core, current());
  });
  EXPECT_TRUE(!bound[0] || CPU_COUNT(&before) == 1) << "the calling thread is bound by the session, not by the pool";
  EXPECT_TRUE(bound[1] || bound[2]);
}

}  // namespace
}  // namespace lq
#endif
