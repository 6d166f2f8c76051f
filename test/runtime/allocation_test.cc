// run() allocates nothing: every entry to the heap in this program is counted while it runs.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "runtime/graphs.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LQ_COUNT_HEAP 1
#endif

namespace {
std::atomic<bool> counting{false};
std::atomic<int> heap_calls{0};
void note() {
  if (counting.load(std::memory_order_relaxed)) heap_calls.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

#ifdef LQ_COUNT_HEAP
// glibc's own entry points behind the public names. operator new ends here as well, if it sees them: visible even where
// names are hidden by default.
#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void* malloc(size_t n) { return note(), __libc_malloc(n); }
void* calloc(size_t n, size_t size) { return note(), __libc_calloc(n, size); }
void* realloc(void* p, size_t n) { return note(), __libc_realloc(p, n); }
void* aligned_alloc(size_t alignment, size_t n) { return note(), __libc_memalign(alignment, n); }
void* memalign(size_t alignment, size_t n) { return note(), __libc_memalign(alignment, n); }
int posix_memalign(void** p, size_t alignment, size_t n) {
  note();
  *p = __libc_memalign(alignment, n);
  return *p ? 0 : 12;
}
}
#pragma GCC visibility pop
#else
// Not inlined: g++ would see free() of what operator new returned.
#define LQ_NOT_INLINED __attribute__((noinline))
LQ_NOT_INLINED void* operator new(size_t n) {
  note();
  if (void* p = std::malloc(n)) return p;
  std::abort();
}
LQ_NOT_INLINED void* operator new(size_t n, const std::nothrow_t&) noexcept {  // std::stable_sort's buffer
  note();
  return std::malloc(n);
}
LQ_NOT_INLINED void operator delete(void* p) noexcept { std::free(p); }
LQ_NOT_INLINED void operator delete(void* p, size_t) noexcept { std::free(p); }
#endif

namespace lq {
namespace {

using testing::GraphBuilder;

TEST(Allocation, TheCounterSeesNew) {
  heap_calls = 0;
  counting = true;
  auto* volatile p = new int(1);
  counting = false;
  delete p;
  EXPECT_GE(heap_calls, 1);
}

/// Float and int8 convolutions, pooling, elementwise, matrix product, softmax, data movement and an If.
ModelIr mixed_model() {
  GraphBuilder g;
  const TensorId cond = g.input("cond", {}, DType::Bool);
  const TensorId x = g.input("x", {1, 4, 8, 8});
  const TensorId c1 = g.node(Op::Conv, {x, g.floats("w1", {8, 4, 1, 1}, std::vector<float>(32, 0.25f))}, {1, 8, 8, 8});
  const TensorId q = g.through_int8(g.node(Op::Relu, {c1}, {1, 8, 8, 8}), 0.05f, -128);
  const TensorId w2 = g.weights("w2", {8, 8, 3, 3}, std::vector<int8_t>(576, 3), std::vector<float>(8, 0.01f), 0);
  const TensorId c2 = g.node(Op::Conv, {q, w2}, {1, 8, 6, 6});
  const TensorId q2 = g.through_int8(g.node(Op::Relu, {c2}, {1, 8, 6, 6}), 0.1f, -128);
  const TensorId sum = g.through_int8(g.node(Op::Add, {q2, q2}, {1, 8, 6, 6}), 0.2f, -128);
  const TensorId pool = g.through_int8(g.node(Op::GlobalAveragePool, {sum}, {1, 8, 1, 1}), 0.2f, -128);
  const TensorId flat = g.node(Op::Flatten, {pool}, {1, 8});
  const TensorId y = g.node(Op::MatMul, {flat, g.floats("w3", {8, 4}, std::vector<float>(32, 0.5f))}, {1, 4});
  const TensorId chosen = g.node(Op::If, {cond, y}, {1, 4});
  g.graph().nodes.back().subgraphs = {1, 2};
  g.output(g.node(Op::Softmax, {chosen}, {1, 4}));
  g.attrs<schema::AxisAttrsT>().axis = 1;
  const TensorId moved = g.node(Op::Transpose, {chosen}, {4, 1});
  g.attrs<schema::TransposeAttrsT>().perm = {1, 0};
  g.output(g.node(Op::Concat, {moved, moved}, {8, 1}));
  for (const Op op : {Op::Sigmoid, Op::Exp}) {
    g.model.graphs.push_back(testing::make_graph([&](GraphBuilder& b) {
      b.output(b.node(op, {b.input(op_name(op), {1, 4})}, {1, 4}));
    }));
  }
  return g.model;
}

TEST(Allocation, RunTakesNothingFromTheHeap) {
  auto model = testing::make_model(mixed_model());
  for (const int threads : {1, 3}) {
    SessionOptions options;
    options.threads = threads;
    auto s = testing::make_session(model, options);
    ASSERT_NE(s, nullptr);
    for (const uint8_t cond : {0, 1}) {
      testing::set_input<uint8_t>(*s, 0, {cond});
      testing::set_input<float>(*s, 1, std::vector<float>(256, 0.5f));
      ASSERT_TRUE(s->run().ok());
      heap_calls = 0;
      counting = true;
      const Status status = s->run();
      counting = false;
      EXPECT_TRUE(status.ok());
      EXPECT_EQ(heap_calls, 0) << threads << " threads";
    }
  }
}

TEST(Allocation, ThreadsAndIsasGiveTheSameBits) {
  auto model = testing::make_model(mixed_model());
  std::vector<std::vector<float>> results;
  for (const char* name : {"scalar", "sse41", "avx2"}) {
    const auto isa = parse_isa(name);
    if (!isa.ok()) continue;
    for (const int threads : {1, 2, 4}) {
      SessionOptions options;
      options.threads = threads;
      options.isa = *isa;
      auto s = testing::make_session(model, options);
      std::vector<float> x(256);
      for (size_t i = 0; i < x.size(); ++i) x[i] = float(int(i * 37 % 101) - 50) / 25.0f;
      testing::set_input<uint8_t>(*s, 0, {1});
      testing::set_input<float>(*s, 1, x);
      ASSERT_TRUE(s->run().ok());
      results.push_back(testing::get_output<float>(*s, 0));
    }
  }
  for (const auto& r : results) EXPECT_EQ(r, results[0]);
}

}  // namespace
}  // namespace lq
