// No file, however damaged, may crash the library, hang it or make it take memory without end: it is refused with a
// message, or it loads, plans and runs. Each mutation is seeded by its number: LQ_FUZZ_FIRST=n LQ_FUZZ_MUTATIONS=1
// repeats one. LQ_FUZZ_FILE=x.lqm adds a file to those that are damaged.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "format/model_file.h"
#include "fuzz/models.h"
#include "fuzz/mutate.h"
#include "runtime/session.h"

#if defined(__SANITIZE_ADDRESS__)
// One allocation of this size is a finding: nothing in these models needs it.
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=1024:allocator_may_return_null=0"; }
#endif

namespace lq::fuzz {
namespace {

constexpr size_t kMemoryLimit = size_t(256) << 20;
constexpr double kSecondsLimit = 10;  // of one mutation, sanitizers included
constexpr double kWorkLimit = 2e8;    // elements and multiply-adds of a plan that is run, not only made

/// Hands out at most kMemoryLimit in total, as a small device would.
struct LimitedMemory {
  size_t used = 0;
  Allocator allocator() {
    return {[](void* context, size_t size, size_t alignment) -> void* {
              auto& self = *static_cast<LimitedMemory*>(context);
              if (size > kMemoryLimit - self.used) return nullptr;
              void* p = default_allocator().allocate(nullptr, size, alignment);
              if (p != nullptr) self.used += size;
              return p;
            },
            [](void* context, void* p, size_t size) {
              static_cast<LimitedMemory*>(context)->used -= size;
              default_allocator().release(nullptr, p, size);
            },
            this};
  }
};

double work_of(const Session& session) {
  double work = 0;
  for (const Tensor& t : session.fused_graph().tensors) work += double(std::max<int64_t>(0, element_count(t.shape)));
  for (const Step& step : session.steps()) work += double(step.macs);
  return work;
}

enum class Outcome { kRefused, kNoSession, kTooMuchWork, kFailed, kRan };

Outcome use(const std::string& bytes, std::string& message) {
  Result<Bytes> copy = Bytes::copy_of(bytes.data(), bytes.size());
  Result<ModelIr> ir = read_model(*copy);
  if (!ir.ok()) return message = ir.status().message(), Outcome::kRefused;
  LimitedMemory memory;
  auto model = Model::create(std::move(*ir), memory.allocator());
  if (!model.ok()) return message = model.status().message(), Outcome::kNoSession;
  SessionOptions options;
  options.allocator = memory.allocator();
  auto session = Session::create(*model, options);
  if (!session.ok()) return message = session.status().message(), Outcome::kNoSession;
  if (work_of(**session) > kWorkLimit) return Outcome::kTooMuchWork;
  const Status run = (*session)->run();
  if (!run.ok()) return message = run.message(), Outcome::kFailed;
  return Outcome::kRan;
}

int number_from(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : fallback;
}

volatile int current = -1;
/// A hang or a crash says which mutation it was; the process ends either way.
void report(int signal) {
  char text[96];
  const int n = std::snprintf(text, sizeof text, "mutation %d: signal %d (LQ_FUZZ_FIRST=%d repeats it)\n", current,
                              signal, current);
  [[maybe_unused]] const ssize_t written = write(2, text, size_t(n));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

TEST(Mutation, NeverCrashesOrHangs) {
  std::vector<std::string> files;
  std::vector<ModelIr> models = make_models();
  const Status mnist = add_mnist(models);
  ASSERT_TRUE(mnist.ok()) << mnist.message();
  if (const char* path = std::getenv("LQ_FUZZ_FILE")) {
    Result<ModelIr> model = read_model_file(path);
    ASSERT_TRUE(model.ok()) << model.status().message();
    models.push_back(std::move(*model));
  }
  for (const ModelIr& model : models) {
    const Result<Bytes> bytes = serialize_model(model);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    files.emplace_back(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    std::string message;
    ASSERT_EQ(use(files.back(), message), Outcome::kRan) << files.size() << ": " << message;  // whole, they run
  }
  std::signal(SIGALRM, report);
  std::signal(SIGABRT, report);
#if !defined(__SANITIZE_ADDRESS__)
  std::signal(SIGSEGV, report);
  const rlimit memory{rlim_t(3) << 30, rlim_t(3) << 30};
  setrlimit(RLIMIT_AS, &memory);
#endif
  const int first = number_from("LQ_FUZZ_FIRST", 0), count = number_from("LQ_FUZZ_MUTATIONS", 2000);
  std::map<Outcome, int> outcomes;
  for (int i = first; i < first + count; ++i) {
    std::mt19937_64 random{uint64_t(i)};
    current = i;
    const std::string& file = files[size_t(i / 2) % files.size()];
    const std::string damaged = i % 2 == 0 ? mutate_bytes(file, random) : mutate_fields(file, random);
    alarm(60);
    const auto start = std::chrono::steady_clock::now();
    std::string message;
    const Outcome outcome = use(damaged, message);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_LT(seconds, kSecondsLimit) << "mutation " << i << " " << int(outcome) << " " << message;
    const bool refused = outcome != Outcome::kRan && outcome != Outcome::kTooMuchWork;
    EXPECT_EQ(message.empty(), !refused) << "mutation " << i;
    EXPECT_EQ(message.find('\n'), std::string::npos) << "mutation " << i << ": " << message;
    if (count == 1) std::printf("mutation %d: outcome %d, %.2f s: %s\n", i, int(outcome), seconds, message.c_str());
    ++outcomes[outcome];
  }
  alarm(0);
  std::printf("refused %d, no session %d, too much work to run %d, failed in run %d, ran %d\n",
              outcomes[Outcome::kRefused], outcomes[Outcome::kNoSession], outcomes[Outcome::kTooMuchWork],
              outcomes[Outcome::kFailed], outcomes[Outcome::kRan]);
  if (count >= 1000) {
    EXPECT_GT(outcomes[Outcome::kRan], count / 100);  // otherwise the mutations never get past the reader
  }
}

}  // namespace
}  // namespace lq::fuzz
