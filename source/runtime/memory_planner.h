// Where each temporary tensor lies in the arena. Knows nothing of graphs: sizes and lifetimes in, offsets out.
#pragma once
#include <cstddef>
#include <vector>

#include "base/status.h"

namespace lq {

/// One block of memory, wanted from step `first` to step `last`, both included.
struct MemoryRequest {
  size_t bytes = 0;
  int first = 0, last = 0;
};

struct MemoryLayout {
  std::vector<size_t> offsets;  // one a request, multiples of kAlignment
  size_t total = 0;             // bytes of the arena
};

/// Greedy best fit, largest request first: each goes into the smallest hole that the placed requests alive at the same
/// time leave, or behind them. Blocks alive in a common step never overlap. Deterministic. Fails when the total leaves
/// size_t.
Result<MemoryLayout> plan_memory(const std::vector<MemoryRequest>& requests);

}  // namespace lq
