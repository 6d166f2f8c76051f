// Channels from blocks to a block, bytes: one shuffle a source for two pixels.
#include "kernels/sse41/elementwise_sse41.h"

namespace lq::sse41 {
namespace {

#include "kernels/move_channels_inline.h"

}  // namespace

void move_channels_1(const ChannelSource* sources, int source_count, uint32_t fill, void* yv, int64_t count) {
  const ByteMoves m = byte_moves(sources, source_count, static_cast<uint8_t>(fill));
  uint8_t* y = static_cast<uint8_t*>(yv);
  if (source_count <= 2) return move_pixel_pairs<2>(m, y, 0, count * kBlock);
  if (source_count <= 4) return move_pixel_pairs<4>(m, y, 0, count * kBlock);
  move_pixel_pairs<kBlock>(m, y, 0, count * kBlock);
}

}  // namespace lq::sse41
