// Channels from blocks to a block, bytes: one table lookup a source for each pixel, or for two where tables of 16 bytes
// exist.
#include "kernels/neon/elementwise_neon.h"

namespace lq::neon {
namespace {

/// 0 where an index of `lanes` (by pixel: 0…7 or kNoLane) leaves the table.
[[gnu::always_inline]] inline uint8x8_t look_up(const uint8_t* x, uint8x8_t lanes) {
  return vtbl1_u8(vld1_u8(x), lanes);
}
[[gnu::always_inline]] inline uint8x16_t look_up_two(const uint8_t* x, uint8x8_t lanes) {
#if defined(__aarch64__)
  // kNoLane + 8 leaves the table as well.
  return vqtbl1q_u8(vld1q_u8(x), vcombine_u8(lanes, vadd_u8(lanes, vdup_n_u8(kBlock))));
#else
  return vcombine_u8(look_up(x, lanes), look_up(x + kBlock, lanes));
#endif
}

/// Sources that are not there repeat the first one and give nothing.
template <int kSources>
void move_bytes(const ChannelSource* sources, int source_count, uint8_t fill, uint8_t* y, int64_t count) {
  const uint8_t* x[kSources];
  uint8x8_t lanes[kSources], base = vdup_n_u8(fill);
  for (int s = 0; s < kSources; ++s) {
    const bool present = s < source_count;
    x[s] = static_cast<const uint8_t*>(sources[present ? s : 0].x);
    lanes[s] = present ? vld1_u8(sources[s].lane) : vdup_n_u8(kNoLane);
    base = vand_u8(base, vceq_u8(lanes[s], vdup_n_u8(kNoLane)));
  }
  int64_t p = 0;
  for (; p + 2 <= count; p += 2) {
    uint8x16_t v = vcombine_u8(base, base);
#pragma GCC unroll 8
    for (int s = 0; s < kSources; ++s) v = vorrq_u8(v, look_up_two(x[s] + p * kBlock, lanes[s]));
    vst1q_u8(y + p * kBlock, v);
  }
  if (p == count) return;
  uint8x8_t v = base;
#pragma GCC unroll 8
  for (int s = 0; s < kSources; ++s) v = vorr_u8(v, look_up(x[s] + p * kBlock, lanes[s]));
  vst1_u8(y + p * kBlock, v);
}

}  // namespace

void move_channels_1(const ChannelSource* sources, int source_count, uint32_t fill, void* yv, int64_t count) {
  uint8_t* y = static_cast<uint8_t*>(yv);
  const uint8_t byte = static_cast<uint8_t>(fill);
  if (source_count <= 2) return move_bytes<2>(sources, source_count, byte, y, count);
  if (source_count <= 4) return move_bytes<4>(sources, source_count, byte, y, count);
  move_bytes<kBlock>(sources, source_count, byte, y, count);
}

}  // namespace lq::neon
