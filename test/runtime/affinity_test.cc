#include "runtime/affinity.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

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

/// A folder as Linux has it: processors i and i + 2 are one core, of 0 and 1 nothing is told.
std::string fake_topology() {
  const std::string folder = ::testing::TempDir() + "affinity_topology";
  for (int core = 2; core < 6; ++core) {
    const std::filesystem::path path = folder + "/cpu" + std::to_string(core) + "/topology";
    std::filesystem::create_directories(path);
    const int first = core < 4 ? core : core - 2;
    std::ofstream(path / "thread_siblings_list") << first << ',' << first + 2 << '\n';
  }
  return folder;
}

TEST(Affinity, PhysicalCoresComeFirst) {
  const std::string folder = fake_topology();
  const std::vector<int> all = {2, 4, 3, 5};
  const auto chosen = [&](int threads, const std::vector<int>& of) {
    const auto result = choose_processors(threads, of, folder);
    return result.ok() ? *result : std::vector<int>();
  };
  EXPECT_EQ(chosen(1, all), (std::vector<int>{2}));
  EXPECT_EQ(chosen(2, all), (std::vector<int>{2, 3}));
  EXPECT_EQ(chosen(3, all), (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(chosen(4, all), (std::vector<int>{2, 3, 4, 5}));
  EXPECT_EQ(chosen(2, {0, 1}), (std::vector<int>{0, 1}));  // nothing told: each a core
  EXPECT_EQ(chosen(2, {5, 3, 4}), (std::vector<int>{5, 4}));
  EXPECT_EQ(choose_processors(3, {2, 4, 2}, folder).status().message(),
            "3 threads cannot have a processor each: there are 2; ask for fewer threads or do not pin them");
}

TEST(Affinity, PinnedThreadsHaveAProcessorEach) {
  const cpu_set_t before = current();
  const int processors = CPU_COUNT(&before);
  const auto all = processors_for(processors, {});
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(std::set<int>(all->begin(), all->end()).size(), size_t(processors));
  for (int core : *all) EXPECT_TRUE(CPU_ISSET(core, &before));
  EXPECT_FALSE(processors_for(processors + 1, {}).ok());
  EXPECT_FALSE(processors_for(1, {CPU_SETSIZE - 1}).ok());

  auto pool = ThreadPool::create(processors, *all, {}, true);
  ASSERT_TRUE(pool.ok()) << pool.status().message();
  std::vector<int> wrong(size_t(processors), 0);
  std::atomic<int> arrived{0};
  (*pool)->parallel_for(processors, 1, [&](int64_t begin, int64_t, int worker) {
    arrived.fetch_add(1);
    for (int spin = 0; arrived.load() < processors && spin < 100000; ++spin) sched_yield();
    if (worker > 0 && worker == int(begin)) wrong[size_t(begin)] = !is_only((*all)[size_t(worker)], current());
  });
  for (int w : wrong) EXPECT_EQ(w, 0);
  EXPECT_FALSE(ThreadPool::create(processors + 1, *all, {}, true).ok());
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
