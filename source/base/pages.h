// Memory the system may take back, and memory in large pages.
#pragma once
#include <cstddef>

#include "base/memory.h"

namespace lq {

/// Asks the system to take the pages that lie wholly within [data, data + size) out of memory; they come back, as they
/// were, when they are read. What this gains: pages of a mapped file that nobody writes are dropped (Linux 5.4, if the
/// process may write the file; Apple systems). Other memory stays, or goes to swap. Never an error.
void evict_pages(const void* data, size_t size);

inline constexpr size_t kHugePage = size_t(2) << 20;

/// The default allocator, but memory of kHugePage or more begins on a multiple of it and asks for transparent huge pages
/// (Linux; elsewhere, and where the system has none to give, it is ordinary memory).
const Allocator& huge_page_allocator();

}  // namespace lq
