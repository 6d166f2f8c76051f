// Memory the system may take back.
#pragma once
#include <cstddef>

namespace lq {

/// Asks the system to take the pages that lie wholly within [data, data + size) out of memory; they come back, as they
/// were, when they are read. What this gains: pages of a mapped file that nobody writes are dropped (Linux 5.4, if the
/// process may write the file; Apple systems). Other memory stays, or goes to swap. Never an error.
void evict_pages(const void* data, size_t size);

}  // namespace lq
