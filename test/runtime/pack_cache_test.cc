#include "runtime/pack_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace lq {
namespace {

TEST(PackCache, FillsOncePerKeyAndSize) {
  SharedPackCache cache(default_allocator());
  int fills = 0;
  const auto fill = [&](void* p) { std::memset(p, ++fills, 64); };
  const auto a = cache.get("k", 64, fill), b = cache.get("k", 64, fill);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(*a, *b);
  EXPECT_EQ(fills, 1);
  EXPECT_NE(*cache.get("other", 64, fill), *a);
  EXPECT_NE(*cache.get("k", 128, fill), *a);  // another size is never served from a smaller pack
  EXPECT_EQ(fills, 3);
}

TEST(PackCache, ConcurrentCallersGetFilledMemory) {
  SharedPackCache cache(default_allocator());
  std::atomic<int> fills{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        const auto p = cache.get(std::to_string(k), 4096, [&](void* m) {
          ++fills;
          std::memset(m, k + 1, 4096);
        });
        const auto* bytes = static_cast<const uint8_t*>(*p);
        if (bytes[0] != k + 1 || bytes[4095] != k + 1) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(fills, 50);
  EXPECT_EQ(wrong, 0);
}

TEST(PackCache, FailedAllocationIsAStatusAndForgotten) {
  bool fail = true;
  const Allocator allocator = {[](void* c, size_t size, size_t alignment) {
                                 return *static_cast<bool*>(c) ? nullptr : std::aligned_alloc(alignment, size);
                               },
                               [](void*, void* p, size_t) { std::free(p); }, &fail};
  SharedPackCache cache(allocator);
  EXPECT_EQ(cache.get("k", 64, [](void*) {}).status().code(), StatusCode::kOutOfMemory);
  fail = false;
  EXPECT_TRUE(cache.get("k", 64, [](void*) {}).ok());
}

}  // namespace
}  // namespace lq
