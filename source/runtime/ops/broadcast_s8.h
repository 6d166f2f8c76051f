// Broadcasting of int8 and int16 binary operators onto kernels that know two forms: both operands running along, or
// eight values of the second repeating. A blocked tensor is walked as the linear tensor [N, blocks, spatial…, 8].
#pragma once
#include <vector>

#include "runtime/ops/blocked.h"
#include "runtime/ops/broadcast.h"

namespace lq {

/// How one operand reaches the kernel.
struct OperandS8 {
  bool expanded = false;        // brought into block form first: a constant in prepare, anything else in run
  std::vector<uint8_t> packed;  // the expanded constant
  size_t scratch_offset = 0;    // the expanded run-time tensor
  Shape storage;                // what the loop walks, as long as the output's storage shape
  // how to expand
  BlockedShape source;          // of the operand, its shape padded with leading ones
  bool source_blocked = false;  // blocked with one channel, broadcast over the output's channels
  int64_t out_blocks = 1;
};

struct BroadcastS8 {
  enum class Mode { kAlong, kRepeat8, kSplat };
  StridedLoop<3> loop;  // y, a, b
  Mode mode = Mode::kAlong;
  int outer = 0;  // axes of the loop in front of a run
  int64_t rows = 1, run = 1;
  bool swapped = false;  // b varies and a repeats: the kernel gets them the other way round
  bool y_blocked = false;
  BlockedShape y;
  uint8_t fill = 0;  // of int8; the lanes of int16 hold 0
  OperandS8 a, b;
};

/// Plans inputs 0 and 1 of the node. Adds to scratch_bytes.
Status plan_broadcast_s8(OpPrepare& p, BroadcastS8& plan);

/// Expands a [n, c, spatial] operand into whole blocks; one channel fills all lanes.
void expand_operand(const OperandS8& o, size_t size, const void* source, void* out);

/// Where the kernel finds an operand of this run.
inline const void* operand_data(const OperandS8& o, size_t size, const void* tensor, const RunContext& context) {
  if (!o.expanded) return tensor;
  if (!o.packed.empty()) return o.packed.data();
  expand_operand(o, size, tensor, context.scratch + o.scratch_offset);
  return context.scratch + o.scratch_offset;
}

inline void restore_lanes(const BroadcastS8& p, int8_t* y) {
  restore_lanes(reinterpret_cast<uint8_t*>(y), p.y, p.fill);
}
inline void restore_lanes(const BroadcastS8& p, int16_t* y) {
  clear_padding_lanes(y, sizeof(int16_t), p.y.n, p.y.c, p.y.spatial);
}

/// Calls kernel(a, b, b_step, y, n) for every run; int8 and int16 in any mixture, b also float. Restores the output's
/// lanes.
template <typename A, typename B, typename Y, typename F>
void run_broadcast_s8(const BroadcastS8& p, const RunContext& context, const A* a, const B* b, Y* y, F&& kernel) {
  constexpr int64_t kPiece = 32768;
  const int64_t pieces = (p.run + kPiece - 1) / kPiece;
  const int64_t grain = std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, std::min(p.run, kPiece)));
  parallel(context, p.rows * pieces, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kPiece, n = std::min(kPiece, p.run - first);
      int64_t at[3] = {};
      for (int64_t d = p.outer - 1, rest = i / pieces; d >= 0; --d) {
        const int64_t index = rest % p.loop.dims[d];
        rest /= p.loop.dims[d];
        for (int k = 0; k < 3; ++k) at[k] += index * p.loop.strides[k][d];
      }
      Y* out = y + at[0] + first;
      const A* in = a + at[1] + first;
      const B* other = b + at[2];
      if (p.mode == BroadcastS8::Mode::kAlong) {
        kernel(in, other + first, 8, out, n);
      } else if (p.mode == BroadcastS8::Mode::kRepeat8) {
        kernel(in, other, 0, out, n);
      } else {
        B splat[kBlock];
        std::fill(splat, splat + kBlock, *other);
        kernel(in, static_cast<const B*>(splat), 0, out, n);
      }
    }
  });
  if (p.y_blocked) restore_lanes(p, y);
}

}  // namespace lq
