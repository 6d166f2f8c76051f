// A fixed set of workers. The result of a run never depends on their number.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/status.h"

namespace lq {

/// Threads of the caller's: run(context, count, task, task_context) calls task(task_context, i) once for each i in
/// [0, count), on any threads, and returns when all calls have.
struct ParallelFor {
  void (*run)(void* context, int32_t count, void (*task)(void* task_context, int32_t index),
              void* task_context) = nullptr;
  void* context = nullptr;
};

class ThreadPool {
 public:
  using Task = void (*)(void* context, int64_t begin, int64_t end, int worker);
  /// threads >= 1; 1 starts no thread at all. Every worker runs with round-to-nearest, flush-to-zero off.
  /// Started threads run on `cores` only (see affinity.h; the calling thread is not bound), with `pin` each on its own:
  /// worker i on cores[i]; there must be `threads` of them. With `own` none is started: work goes to the caller's
  /// threads, `threads` pieces at most.
  static Result<std::unique_ptr<ThreadPool>> create(int threads, const std::vector<int>& cores = {},
                                                    const ParallelFor& own = {}, bool pin = false);
  ~ThreadPool();
  int size() const;
  /// Splits [0, count) into contiguous pieces of about count/size (at least `grain`), one call each; returns when all
  /// are done. The pieces depend on count, grain and size() only; `worker`, in [0, size()), says whose scratch memory a
  /// piece may use, never which piece it is. Allocates nothing. Not reentrant: called from inside a task it runs
  /// inline.
  void run(int64_t count, int64_t grain, Task task, void* context);
  /// True if the caller's ParallelFor left an index out or called one twice or outside its range. (The work was done.)
  bool misused() const;

  /// Convenience for a callable (int64_t begin, int64_t end, int worker).
  template <typename F>
  void parallel_for(int64_t count, int64_t grain, F&& f) {
    using Callable = std::remove_reference_t<F>;  // F is a reference when f is an lvalue
    run(
        count, grain, [](void* c, int64_t b, int64_t e, int w) { (*static_cast<Callable*>(c))(b, e, w); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  struct State;
  explicit ThreadPool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lq
