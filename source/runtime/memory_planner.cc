#include "runtime/memory_planner.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/memory.h"

namespace lq {
namespace {

bool alive_together(const MemoryRequest& a, const MemoryRequest& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

Result<MemoryLayout> plan_memory(const std::vector<MemoryRequest>& requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });

  MemoryLayout layout;
  layout.offsets.assign(requests.size(), 0);
  std::vector<size_t> placed;  // requests with memory, by offset
  for (size_t index : order) {
    const MemoryRequest& request = requests[index];
    if (request.bytes == 0) continue;
    if (request.bytes > SIZE_MAX / 2) return out_of_memory("a tensor of " + std::to_string(request.bytes) + " bytes");
    const size_t bytes = align_up(request.bytes);
    size_t best_offset = SIZE_MAX, best_hole = SIZE_MAX, end = 0;  // end: of the neighbours seen so far
    for (size_t other : placed) {
      if (!alive_together(request, requests[other])) continue;
      const size_t offset = layout.offsets[other];
      if (offset > end && offset - end >= bytes && offset - end < best_hole) {
        best_offset = end;
        best_hole = offset - end;
      }
      end = std::max(end, offset + align_up(requests[other].bytes));
    }
    if (best_offset == SIZE_MAX) best_offset = end;
    if (best_offset > SIZE_MAX / 2 - bytes) return out_of_memory("the arena leaves the address space");
    layout.offsets[index] = best_offset;
    layout.total = std::max(layout.total, best_offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](size_t a, size_t b) { return layout.offsets[a] < layout.offsets[b]; }),
                  index);
  }
  return layout;
}

}  // namespace lq
