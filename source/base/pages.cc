#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace lq {
namespace {

#if defined(__linux__)
constexpr int kEvict = 21;  // MADV_PAGEOUT, which older headers lack; older kernels refuse it
#elif defined(__APPLE__)
constexpr int kEvict = MADV_DONTNEED;  // keeps the contents, other than on Linux
#endif

}  // namespace

void evict_pages([[maybe_unused]] const void* data, [[maybe_unused]] size_t size) {
#if defined(__linux__) || defined(__APPLE__)
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE)), at = reinterpret_cast<uintptr_t>(data);
  const uintptr_t begin = (at + page - 1) / page * page, end = (at + size) / page * page;
  if (data != nullptr && begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, kEvict);
#endif
}

const Allocator& huge_page_allocator() {
  static constexpr Allocator kHuge{[](void*, size_t size, size_t alignment) -> void* {
                                     const Allocator& plain = default_allocator();
                                     if (size < kHugePage) return plain.allocate(plain.context, size, alignment);
                                     if (size > SIZE_MAX - kHugePage) return nullptr;  // as the plain one
                                     void* memory = nullptr;
                                     if (posix_memalign(&memory, kHugePage, size) != 0)
                                       return nullptr;  // no alignment of ours is larger
#if defined(__linux__)
                                     madvise(memory, size / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
                                     return memory;
                                   },
                                   [](void*, void* pointer, size_t) { std::free(pointer); }, nullptr};
  return kHuge;
}

}  // namespace lq
