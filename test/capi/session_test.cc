// Sources of a model, options of a session, memory known before, profile, log, cancelling, the caller's threads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <libquant/libquant.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "capi/image_model.h"
#include "capi/tiny_model.h"

namespace lq::testing {
namespace {

std::string last_error() { return lq_last_error(); }

/// A model and what its session gives for one input on one thread.
struct Expected {
  explicit Expected(int64_t size, int layers) : file(*image_model(size, layers)), model(file.data(), file.size()) {
    libquant::Session session(model);
    EXPECT_TRUE(session.ok()) << last_error();
    y = run(session);
  }
  static std::vector<float> run(libquant::Session& session) {
    const size_t n = session.input_info(0).size_bytes / sizeof(float);
    for (size_t i = 0; i < n; ++i) session.input<float>(0)[i] = float(i % 255) * 0.01f - 1;
    EXPECT_EQ(session.run(), LQ_OK) << last_error();
    const float* y = session.output<float>(0);
    return {y, y + session.output_info(0).size_bytes / sizeof(float)};
  }
  Bytes file;
  libquant::Model model;
  std::vector<float> y;
};

TEST(CapiModel, FromADescriptorAtAnyOffset) {
  const auto tiny = tiny_model();
  ASSERT_TRUE(tiny.ok());
  const std::string path = ::testing::TempDir() + "capi_fd_" + std::to_string(getpid());
  for (const size_t offset : {0, 1, 4096, 5003}) {
    const std::vector<uint8_t> before(offset, 0xEE), behind(100, 0xEE);
    ASSERT_TRUE(
        write_file_atomically(path, {{before.data(), offset}, {tiny->data(), tiny->size()}, {behind.data(), 100}})
            .ok());
    const int fd = open(path.c_str(), O_RDONLY);
    ASSERT_GE(fd, 0);
    const libquant::Model model = libquant::Model::from_fd(fd, offset, tiny->size());
    EXPECT_EQ(libquant::Model::from_fd(fd, offset, tiny->size() + 101).status(), LQ_INVALID_ARGUMENT) << "past the end";
    EXPECT_EQ(libquant::Model::from_fd(fd, UINT64_MAX, 2).status(), LQ_INVALID_ARGUMENT);
    EXPECT_EQ(libquant::Model::from_fd(fd, offset + tiny->size(), 0).status(), LQ_CORRUPT) << "the bytes behind";
    close(fd);
    std::remove(path.c_str());
    ASSERT_TRUE(model.ok()) << offset << ": " << last_error();
    libquant::Session session(model);
    ASSERT_TRUE(session.ok()) << last_error();
    std::memcpy(session.input<float>(0), kTinyInput[0], sizeof kTinyInput[0]);
    ASSERT_EQ(session.run(), LQ_OK);
    EXPECT_EQ(std::memcmp(session.output<float>(0), kTinyOutput[0], sizeof kTinyOutput[0]), 0);
  }
  EXPECT_EQ(libquant::Model::from_fd(-1).status(), LQ_IO_ERROR);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(libquant::Model::from_fd(ends[0]).status(), LQ_INVALID_ARGUMENT) << "a pipe cannot be mapped";
  close(ends[0]);
  close(ends[1]);
}

// Callers built with an older or newer header.
TEST(CapiVersions, StructsOfOtherSizes) {
  const Expected e(8, 1);
  struct {
    lq_session_options options;
    int64_t future = 0;
  } newer{};
  newer.options.struct_size = sizeof newer;
  lq_session* session = nullptr;
  ASSERT_EQ(lq_session_create(e.model.get(), &newer.options, &session), LQ_OK) << last_error();
  lq_session_free(session);
  lq_session_options older{};  // a header without `memory`: what lies there is not looked at
  older.struct_size = offsetof(lq_session_options, memory);
  std::memset(&older.memory, 0x55, sizeof older.memory);
  ASSERT_EQ(lq_session_create(e.model.get(), &older, &session), LQ_OK) << last_error();
  lq_session_free(session);
  // A header that ended with `memory`: what lies where pin_threads is now (refused beside parallel_for) is not looked
  // at, nor the padding it had there.
  static_assert(offsetof(lq_session_options, pin_threads) % alignof(lq_session_options) == 0);
  lq_session_options unpinned{};
  unpinned.struct_size = offsetof(lq_session_options, pin_threads);
  unpinned.parallel_for = [](void*, int32_t count, lq_task_fn task, void* argument) {
    for (int32_t i = 0; i < count; ++i) task(argument, i);
  };
  unpinned.reserved = unpinned.pin_threads = -1;
  ASSERT_EQ(lq_session_create(e.model.get(), &unpinned, &session), LQ_OK) << last_error();
  struct {
    lq_tensor_info info;
    int64_t future = 7;
  } info{};
  info.info.struct_size = sizeof info;
  EXPECT_EQ(lq_session_input_info(session, 0, &info.info), LQ_OK);
  EXPECT_EQ(info.future, 0) << "a field this library does not know";
  EXPECT_EQ(info.info.struct_size, sizeof info);
  info.info.struct_size = sizeof(lq_tensor_info) - 1;
  EXPECT_EQ(lq_session_input_info(session, 0, &info.info), LQ_INVALID_ARGUMENT);
  info.info.struct_size = size_t(-1);
  EXPECT_EQ(lq_session_input_info(session, 0, &info.info), LQ_INVALID_ARGUMENT);
  lq_session_free(session);
  newer.future = 1;
  EXPECT_EQ(lq_session_create(e.model.get(), &newer.options, &session), LQ_UNSUPPORTED);
  EXPECT_NE(last_error().find("update libquant"), std::string::npos) << last_error();
  EXPECT_EQ(session, nullptr);
}

struct Counted {
  size_t live = 0, total = 0, limit = SIZE_MAX;
  lq_allocator allocator() {
    return {[](void* c, size_t size, size_t alignment) -> void* {
              Counted& self = *static_cast<Counted*>(c);
              if (self.total + size > self.limit) return nullptr;
              self.live += size, self.total += size;
              return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
            },
            [](void* c, void* memory, size_t size) {
              static_cast<Counted*>(c)->live -= size;
              std::free(memory);
            },
            this};
  }
};

TEST(CapiMemory, IsKnownBeforeAndComesFromTheCallersAllocator) {
  const Expected e(12, 2);
  Counted of_model, of_session;
  {
    lq_model_options model_options{sizeof model_options, of_model.allocator()};
    const libquant::Model model(e.file.data(), e.file.size(), &model_options);
    ASSERT_TRUE(model.ok()) << last_error();
    const size_t loaded = of_model.total;  // constants whose address did not suit
    libquant::Options options;
    options.allocator = of_session.allocator();
    lq_memory need;
    ASSERT_EQ(libquant::Session::measure(model, options, need), LQ_OK) << last_error();
    EXPECT_EQ(of_session.total, 0u);
    EXPECT_EQ(of_model.total, loaded);
    libquant::Session session(model, options);
    ASSERT_TRUE(session.ok()) << last_error();
    EXPECT_EQ(need.arena_bytes, lq_session_arena_bytes(session.get()));
    EXPECT_EQ(of_session.total, need.arena_bytes + need.io_bytes);
    EXPECT_EQ(of_model.total - loaded, need.packed_bytes);
    EXPECT_GT(need.packed_bytes, 0u);
    const size_t planned = of_session.total;
    EXPECT_EQ(Expected::run(session), e.y);
    EXPECT_EQ(of_session.total, planned) << "a run allocates nothing";
    of_session.limit = of_session.total + need.arena_bytes;
    EXPECT_EQ(libquant::Session(model, options).status(), LQ_OUT_OF_MEMORY);
  }
  EXPECT_EQ(of_model.live, 0u);
  EXPECT_EQ(of_session.live, 0u);
  lq_model_options half{sizeof half, of_model.allocator()};
  half.allocator.release = nullptr;
  EXPECT_EQ(libquant::Model(e.file.data(), e.file.size(), &half).status(), LQ_INVALID_ARGUMENT);
}

TEST(CapiOptions, InputShapes) {
  const Expected e(8, 1);
  libquant::Options options;
  options.input_shapes["x"] = {3, 3, 8, 8};
  libquant::Session session(e.model, options);
  ASSERT_TRUE(session.ok()) << last_error();
  EXPECT_EQ(session.output_info(0).shape[0], 3);
  options.input_shapes["nobody"] = {1};
  EXPECT_EQ(libquant::Session(e.model, options).status(), LQ_NOT_FOUND);
  EXPECT_NE(last_error().find("nobody"), std::string::npos) << last_error();
}

TEST(CapiOptions, Cores) {
  const Expected e(8, 2);
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int core = 0;
  while (!CPU_ISSET(core, &before)) ++core;
  libquant::Options options;
  options.threads = 2;
  options.cores = {core};
  libquant::Session session(e.model, options);
  ASSERT_TRUE(session.ok()) << last_error();
  EXPECT_EQ(Expected::run(session), e.y);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "the caller's set is restored";
  options.parallel_for = [](void*, int32_t, lq_task_fn, void*) {};
  EXPECT_EQ(libquant::Session(e.model, options).status(), LQ_INVALID_ARGUMENT) << "cores and parallel_for";
  options.parallel_for = nullptr;
  options.cores = {1023};
  EXPECT_EQ(libquant::Session(e.model, options).status(), LQ_INVALID_ARGUMENT);
  EXPECT_NE(last_error().find("core 1023"), std::string::npos) << last_error();
}

TEST(CapiSession, PinnedThreads) {
  const Expected e(8, 2);
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  libquant::Options options;
  options.pin_threads = true;
  options.threads = CPU_COUNT(&before);
  libquant::Session session(e.model, options);
  ASSERT_TRUE(session.ok()) << last_error();
  EXPECT_EQ(Expected::run(session), e.y);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "the caller's set is restored";
  ++options.threads;
  EXPECT_EQ(libquant::Session(e.model, options).status(), LQ_INVALID_ARGUMENT);
  EXPECT_NE(last_error().find("processor each"), std::string::npos) << last_error();
  options.threads = 1;
  options.parallel_for = [](void*, int32_t, lq_task_fn, void*) {};
  EXPECT_EQ(libquant::Session(e.model, options).status(), LQ_INVALID_ARGUMENT) << "pinned and parallel_for";
}

TEST(CapiSession, HugePagesChangeNoValue) {
  const Expected e(600, 2);  // an arena of more than 2 MB
  lq_model_options of_model{};
  of_model.struct_size = sizeof of_model;
  of_model.allocator = lq_huge_page_allocator();
  libquant::Model model(e.file.data(), e.file.size(), &of_model);
  libquant::Options options;
  options.allocator = lq_huge_page_allocator();
  libquant::Session session(model, options);
  ASSERT_TRUE(session.ok()) << last_error();
  EXPECT_GT(lq_session_arena_bytes(session.get()), size_t(2) << 20);
  EXPECT_EQ(Expected::run(session), e.y);
}

TEST(CapiProfile, NamesEveryOperator) {
  const Expected e(16, 2);
  libquant::Session session(e.model);
  EXPECT_EQ(session.profile().at(0).milliseconds, 0);
  ASSERT_EQ(session.run_profiled(), LQ_OK) << last_error();
  int convolutions = 0;
  double total = 0;
  for (const lq_profile_entry& entry : session.profile()) {
    total += entry.milliseconds;
    EXPECT_STRNE(entry.kernel, "");
    if (std::strcmp(entry.op, "Conv") != 0) continue;
    EXPECT_EQ(entry.macs, (convolutions == 0 ? 3 * 14 * 14 : 8 * 12 * 12) * 8 * 9);
    ++convolutions;
  }
  EXPECT_EQ(convolutions, 2);
  EXPECT_GT(total, 0);
  lq_profile_entry entry{};
  entry.struct_size = sizeof entry;
  EXPECT_EQ(lq_session_profile(session.get(), lq_session_profile_count(session.get()), &entry), LQ_INVALID_ARGUMENT);
}

TEST(CapiLog, TellsThePlan) {
  const Expected e(8, 1);
  std::vector<std::pair<lq_log_level, std::string>> lines;
  libquant::Options options;
  options.log = [](void* context, lq_log_level level, const char* message) {
    static_cast<decltype(lines)*>(context)->emplace_back(level, message);
  };
  options.log_context = &lines;
  libquant::Session session(e.model, options);
  ASSERT_EQ(lines.size(), size_t(lq_session_profile_count(session.get())) + 1);
  EXPECT_EQ(lines.back().first, LQ_LOG_INFO);
  EXPECT_NE(lines.back().second.find(std::string("isa ") + lq_session_isa(session.get())), std::string::npos);
  EXPECT_EQ(lines.front().first, LQ_LOG_DEBUG);
}

/// A pool of threads that start for each call, and what the test does meanwhile.
struct OwnThreads {
  std::atomic<int> calls{0};
  lq_session* cancel = nullptr;  // at the first call
  enum { kRight, kLeavesOut, kCallsTwice, kOutside } way = kRight;
  static void run(void* context, int32_t count, lq_task_fn task, void* task_context) {
    OwnThreads& self = *static_cast<OwnThreads*>(context);
    if (self.calls.fetch_add(1) == 0 && self.cancel != nullptr) std::thread(lq_session_cancel, self.cancel).join();
    std::vector<std::thread> threads;
    for (int32_t i = self.way == kLeavesOut ? 1 : 0; i < count; ++i) threads.emplace_back(task, task_context, i);
    for (std::thread& t : threads) t.join();
    if (self.way == kCallsTwice) task(task_context, 0);
    if (self.way == kOutside) task(task_context, count + 1000);
  }
  libquant::Options options(int n) {
    libquant::Options o;
    o.threads = n;
    o.parallel_for = &OwnThreads::run;
    o.parallel_for_context = this;
    return o;
  }
};

TEST(CapiParallelFor, GivesTheSameBits) {
  const Expected e(64, 3);
  for (const int n : {2, 3, 7}) {
    OwnThreads own;
    libquant::Session session(e.model, own.options(n));
    ASSERT_TRUE(session.ok()) << last_error();
    EXPECT_EQ(Expected::run(session), e.y) << n;
    EXPECT_GT(own.calls, 2) << "the caller's threads did not work";
  }
}

TEST(CapiParallelFor, MistakesAreErrorsNotWrongNumbers) {
  const Expected e(64, 3);
  for (const auto way : {OwnThreads::kLeavesOut, OwnThreads::kCallsTwice, OwnThreads::kOutside}) {
    OwnThreads own;
    own.way = way;
    libquant::Session session(e.model, own.options(3));
    ASSERT_TRUE(session.ok()) << last_error();
    EXPECT_EQ(session.run(), LQ_INVALID_ARGUMENT) << int(way);
    EXPECT_NE(last_error().find("parallel_for"), std::string::npos) << last_error();
  }
}

TEST(CapiCancel, EndsTheRunInProgressAndNoOther) {
  const Expected e(64, 3);
  OwnThreads own;
  libquant::Session session(e.model, own.options(2));
  ASSERT_TRUE(session.ok()) << last_error();
  session.cancel();  // no run in progress: no effect
  EXPECT_EQ(Expected::run(session), e.y);
  const int all = own.calls.exchange(0);
  own.cancel = session.get();
  EXPECT_EQ(session.run(), LQ_CANCELLED);
  EXPECT_LT(own.calls, all) << "operators began after it";
  own.cancel = nullptr;
  EXPECT_EQ(Expected::run(session), e.y);
  lq_session_cancel(nullptr);
}

// The promise of the header: one model, many threads, no lock of the caller's. Run under ThreadSanitizer too (preset
// tsan).
TEST(CapiThreads, EightShareAModel) {
  constexpr int kThreads = 8, kRuns = 500;
  const Expected e(10, 2);
  const libquant::Model model(e.file.data(), e.file.size());  // nothing packed yet
  std::atomic<int> wrong{0}, done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      libquant::Session session(model, 1 + t % 2);  // created here: packing is shared too
      if (!session.ok()) ++wrong;
      for (int run = 0; session.ok() && run < kRuns; ++run) {
        if (Expected::run(session) != e.y) ++wrong;
        ++done;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(done, kThreads * kRuns);
}

}  // namespace
}  // namespace lq::testing
