#include "runtime/thread_pool.h"

#include <pthread.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/affinity.h"
#include "runtime/fp_state.h"

namespace lq {
namespace {

constexpr int kMaxThreads = 1024;
// Turns of a spin before a thread goes to sleep in the kernel: some tens of microseconds, longer than the gap between
// two steps of a plan, short enough not to burn a phone's battery between two runs.
constexpr int kSpins = 2000;

inline void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield");
#endif
}

/// Waits until `value` differs from `old`: spins, then sleeps on it.
template <typename T>
T wait_for_change(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    const T now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    pause_cpu();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

struct Piece {
  int64_t begin, end;
};

/// Piece `index` of [0, count) cut into `pieces`: the first count % pieces ones are one longer.
Piece piece_of(int64_t count, int64_t pieces, int64_t index) {
  const int64_t base = count / pieces, longer = count % pieces;
  const int64_t begin = index * base + (index < longer ? index : longer);
  return {begin, begin + base + (index < longer ? 1 : 0)};
}

}  // namespace

struct ThreadPool::State {
  // One cache line a worker: waking one does not disturb the others.
  struct alignas(64) Worker {
    State* pool = nullptr;
    int index = 0;
    pthread_t thread{};
    std::atomic<uint32_t> ticket{0};  // changes when the worker has a piece to do, or has to leave
    std::atomic<bool> open{false};    // its piece waits to be taken: by the worker, or by a caller that finished early
  };

  std::vector<Worker> workers;  // workers[0] is the calling thread and never started
  int started = 1;
  std::vector<int> cores;
  bool pin = false;  // worker i on cores[i] alone
  ParallelFor own;
  std::atomic<bool> misused{false};
  std::atomic<bool> stopping{false};
  // The current job; written before the tickets change, read after.
  Task task = nullptr;
  void* context = nullptr;
  int64_t count = 0, pieces = 0;
  alignas(64) std::atomic<int> pending{0};

  explicit State(int threads) : workers(size_t(threads)) {
    for (int i = 0; i < threads; ++i) {
      workers[size_t(i)].pool = this;
      workers[size_t(i)].index = i;
    }
  }
  ~State() {
    stopping.store(true, std::memory_order_release);
    for (int i = 1; i < started; ++i) {
      workers[size_t(i)].ticket.fetch_add(1, std::memory_order_release);
      workers[size_t(i)].ticket.notify_one();
    }
    for (int i = 1; i < started; ++i) pthread_join(workers[size_t(i)].thread, nullptr);
  }

  static void* worker_main(void* argument);
  static void callers_piece(void* pool, int32_t index);
  void run_on_callers_threads();
  /// Takes piece `index` unless it is taken already. Whoever takes it may read the job: run() waits for taken pieces.
  bool take(int index) { return workers[size_t(index)].open.exchange(false, std::memory_order_acq_rel); }
  void do_piece(int index, int worker);
};

namespace {
// The worker this thread is while it executes a piece: a nested run() stays on it and keeps its number.
struct CurrentWorker {
  const void* pool = nullptr;
  int index = 0;
};
thread_local CurrentWorker current_worker;
}  // namespace

void ThreadPool::State::do_piece(int index, int worker) {
  const CurrentWorker outer = current_worker;
  current_worker = {this, worker};
  const Piece piece = piece_of(count, pieces, index);
  task(context, piece.begin, piece.end, worker);
  current_worker = outer;
}

void* ThreadPool::State::worker_main(void* argument) {
  Worker& self = *static_cast<Worker*>(argument);
  State& pool = *self.pool;
  FpStateGuard fp_state;
  AffinityGuard affinity(pool.pin ? std::vector<int>{pool.cores[size_t(self.index)]} : pool.cores);
  uint32_t ticket = 0;
  for (;;) {
    ticket = wait_for_change(self.ticket, ticket);
    if (pool.stopping.load(std::memory_order_acquire)) return nullptr;
    if (!pool.take(self.index)) continue;  // woken too late: the caller did it
    pool.do_piece(self.index, self.index);
    if (pool.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) pool.pending.notify_one();
  }
}

/// One index of the caller's parallel_for; a worker number belongs to one piece, so scratch memory is not shared.
void ThreadPool::State::callers_piece(void* pool, int32_t index) {
  State& s = *static_cast<State*>(pool);
  if (index < 0 || index >= int32_t(s.workers.size()) || !s.take(index)) {
    s.misused.store(true, std::memory_order_relaxed);
    return;
  }
  FpStateGuard fp_state;
  s.do_piece(index, index);
  if (s.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) s.pending.notify_one();
}

void ThreadPool::State::run_on_callers_threads() {
  pending.store(int(pieces), std::memory_order_relaxed);
  for (int64_t i = 0; i < pieces; ++i) workers[size_t(i)].open.store(true, std::memory_order_release);
  own.run(own.context, int32_t(pieces), &State::callers_piece, this);
  // What was not called is done here, so that the values are right in any case.
  for (int32_t i = 0; i < int32_t(pieces); ++i) {
    if (!take(i)) continue;
    misused.store(true, std::memory_order_relaxed);
    do_piece(i, i);
    pending.fetch_sub(1, std::memory_order_acq_rel);
  }
  for (int left = pending.load(std::memory_order_acquire); left != 0;) left = wait_for_change(pending, left);
}

ThreadPool::ThreadPool(std::unique_ptr<State> state) : state_(std::move(state)) {}
ThreadPool::~ThreadPool() = default;

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads, const std::vector<int>& cores,
                                                       const ParallelFor& own, bool pin) {
  if (threads < 1 || threads > kMaxThreads) {
    return invalid_argument("thread count " + std::to_string(threads) + " is outside 1…" + std::to_string(kMaxThreads));
  }
  LQ_RETURN_IF_ERROR(check_cores(cores));
  auto state = std::make_unique<State>(threads);
  if (pin && int(cores.size()) != threads) return internal_error("pinned threads need a processor each");
  state->cores = cores;
  state->pin = pin;
  state->own = own;
  if (own.run != nullptr) return std::unique_ptr<ThreadPool>(new ThreadPool(std::move(state)));
  for (; state->started < threads; ++state->started) {
    State::Worker& worker = state->workers[size_t(state->started)];
    // pthread_create and not std::thread: the latter throws when the system has no thread left.
    const int error = pthread_create(&worker.thread, nullptr, &State::worker_main, &worker);
    if (error != 0) {
      return Status(StatusCode::kOutOfMemory, "cannot start worker thread " + std::to_string(state->started + 1) +
                                                  " of " + std::to_string(threads) + ": " + std::strerror(error) +
                                                  "; ask for fewer threads");
    }
  }
  return std::unique_ptr<ThreadPool>(new ThreadPool(std::move(state)));
}

bool ThreadPool::misused() const { return state_->misused.load(std::memory_order_relaxed); }

int ThreadPool::size() const { return int(state_->workers.size()); }

void ThreadPool::run(int64_t count, int64_t grain, Task task, void* context) {
  if (count <= 0) return;
  State& s = *state_;
  const int64_t most = count / (grain > 1 ? grain : 1);
  const int64_t pieces = most < size() ? (most > 1 ? most : 1) : size();
  const bool nested = current_worker.pool == &s;
  if (pieces == 1 || nested) {
    task(context, 0, count, nested ? current_worker.index : 0);
    return;
  }
  s.task = task;
  s.context = context;
  s.count = count;
  s.pieces = pieces;
  if (s.own.run != nullptr) return s.run_on_callers_threads();
  s.pending.store(int(pieces - 1), std::memory_order_relaxed);
  for (int64_t i = 1; i < pieces; ++i) {
    State::Worker& worker = s.workers[size_t(i)];
    worker.open.store(true, std::memory_order_release);
    worker.ticket.fetch_add(1, std::memory_order_release);
    worker.ticket.notify_one();
  }
  s.do_piece(0, 0);
  // Each worker has its own piece, the same part of the tensor step after step, for its cache's sake. On a machine with
  // fewer free processors than workers the caller does what nobody has begun.
  for (int i = 1; i < pieces; ++i) {
    if (!s.take(i)) continue;
    s.do_piece(i, 0);
    s.pending.fetch_sub(1, std::memory_order_acq_rel);
  }
  for (int left = s.pending.load(std::memory_order_acquire); left != 0;) left = wait_for_change(s.pending, left);
}

}  // namespace lq
