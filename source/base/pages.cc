#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

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

}  // namespace lq
