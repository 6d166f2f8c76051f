// Sizes of scratch memory that depend on shapes of untrusted files.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace lq {

/// Most elements of a packed matrix or of a temporary tensor: far above memory, far below overflow, also with 32-bit
/// sizes.
inline constexpr int64_t kMaxScratchElements = int64_t(1) << (sizeof(size_t) >= 8 ? 40 : 28);

/// shared + worker · threads bytes, SIZE_MAX (which no planner accepts) where that leaves size_t.
inline size_t scratch_total(size_t shared, size_t worker, int threads) {
  size_t all = 0;
  const bool overflows =
      __builtin_mul_overflow(worker, size_t(threads), &all) || __builtin_add_overflow(all, shared, &all);
  return overflows ? SIZE_MAX : all;
}

}  // namespace lq
