// A fixed set of workers. The result of a run never depends on their number.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/status.h"

namespace lq {

class ThreadPool {
 public:
  using Task = void (*)(void* context, int64_t begin, int64_t end, int worker);
  /// threads >= 1; 1 starts no thread at all. Every worker runs with round-to-nearest, flush-to-zero off.
  static Result<std::unique_ptr<ThreadPool>> create(int threads);
  ~ThreadPool();
  int size() const;
  /// Splits [0, count) into contiguous pieces of about count/size (at least `grain`), one call each; returns when all
  /// are done. The pieces depend on count, grain and size() only; `worker`, in [0, size()), says whose scratch memory a piece
  /// may use, never which piece it is. Allocates nothing. Not reentrant: called from inside a task it runs inline.
  void run(int64_t count, int64_t grain, Task task, void* context);

  /// Convenience for a callable (int64_t begin, int64_t end, int worker).
  template <typename F> void parallel_for(int64_t count, int64_t grain, F&& f) {
    using Callable = std::remove_reference_t<F>;  // F is a reference when f is an lvalue
    run(count, grain, [](void* c, int64_t b, int64_t e, int w) { (*static_cast<Callable*>(c))(b, e, w); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  struct State;
  explicit ThreadPool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lq
