// NCHWc8 helpers of this folder: extents, the lanes behind the last channel, moving rows in and out of blocks.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/elementwise_kernels.h"
#include "runtime/op.h"
#include "runtime/ops/strided.h"

namespace lq {

/// A tensor [N, C, spatial…] in block terms. Only for rank >= 2.
struct BlockedShape {
  int64_t n = 1, c = 1, blocks = 1, spatial = 1;
  int tail = kBlock;  // channels of the last block, 1…8
};
inline BlockedShape blocked_shape(const Shape& shape) {
  BlockedShape s;
  s.n = shape[0];
  s.c = shape[1];
  s.blocks = channel_blocks(s.c);
  s.spatial = dims_product(shape, 2, shape.size());
  s.tail = int(s.c - (s.blocks - 1) * kBlock);
  return s;
}

inline bool is_blocked(const Tensor& t) { return t.blocked_axis == 1; }

/// What the lanes >= C of a blocked tensor hold, as the bits of one element: the zero point, or 0.
inline uint32_t lane_fill(const Tensor& t) { return t.quant ? uint32_t(zero_point_at(*t.quant, 0)) : 0; }

/// Rewrites the lanes >= C of a 1-byte blocked tensor: every producer's last act when C is no multiple of 8.
inline void restore_lanes(uint8_t* y, const BlockedShape& s, uint8_t fill) {
  if (s.tail == kBlock) return;
  for (int64_t n = 0; n < s.n; ++n) {
    fill_lanes_1(y + ((n + 1) * s.blocks - 1) * s.spatial * kBlock, s.spatial, s.tail, fill);
  }
}
inline void restore_lanes(float* y, const BlockedShape& s) {
  if (s.tail == kBlock) return;
  for (int64_t n = 0; n < s.n; ++n) {
    fill_lanes_4(reinterpret_cast<uint32_t*>(y) + ((n + 1) * s.blocks - 1) * s.spatial * kBlock, s.spatial, s.tail, 0);
  }
}

/// The same for elements [at, at + n) of a tensor: whole pixels of one block.
inline void restore_lanes_of_piece(uint8_t* y, const BlockedShape& s, uint8_t fill, int64_t at, int64_t n) {
  if (s.tail != kBlock && at / (s.spatial * kBlock) % s.blocks == s.blocks - 1)
    fill_lanes_1(y + at, n / kBlock, s.tail, fill);
}

inline void restore_lanes_of_piece(float* y, const BlockedShape& s, int64_t at, int64_t n) {
  if (s.tail != kBlock && at / (s.spatial * kBlock) % s.blocks == s.blocks - 1)
    fill_lanes_4(reinterpret_cast<uint32_t*>(y) + at, n / kBlock, s.tail, 0);
}

/// Moves `count` positions of one channel block between rows (x_stride / y_stride elements apart) and [count, 8];
/// elements of 1, 2 or 4 bytes. Defined in layout.cc.
void rows_to_block(const ElementwiseKernels& k, size_t size, const void* x, int64_t x_stride, int channels, void* y,
                   int64_t count, uint32_t fill);
void block_to_rows(const ElementwiseKernels& k, size_t size, const void* x, void* y, int64_t y_stride, int channels,
                   int64_t count);

/// A whole tensor, on the calling thread.
void tensor_to_blocked(const ElementwiseKernels& k, size_t size, const void* x, void* y, const BlockedShape& s,
                       uint32_t fill);
void tensor_to_linear(const ElementwiseKernels& k, size_t size, const void* x, void* y, const BlockedShape& s);

/// f(n, block, first position, positions) over pieces of at most `chunk` positions, on the pool.
template <typename F>
void for_block_pieces(const RunContext& context, const BlockedShape& s, int64_t chunk, F&& f) {
  const int64_t pieces = (s.spatial + chunk - 1) / chunk;
  const int64_t grain =
      std::max<int64_t>(1, kElementGrain / (kBlock * std::max<int64_t>(1, std::min(chunk, s.spatial))));
  parallel(context, s.n * s.blocks * pieces, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t plane = i / pieces, first = i % pieces * chunk;
      f(plane / s.blocks, plane % s.blocks, first, std::min(chunk, s.spatial - first));
    }
  });
}

/// Channels of a block.
inline int channels_in(const BlockedShape& s, int64_t block) { return block + 1 == s.blocks ? s.tail : kBlock; }

}  // namespace lq
