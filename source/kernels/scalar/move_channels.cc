// Channels from blocks to a block: what every other folder's kernel equals.
#include "kernels/scalar/elementwise_scalar.h"

namespace lq::scalar {
namespace {

template <typename T>
void move_channels(const ChannelSource* sources, int source_count, T fill, T* y, int64_t count) {
  for (int i = 0; i < kBlock; ++i) {
    const T* x = nullptr;
    for (int s = 0; s < source_count; ++s) {
      if (sources[s].lane[i] != kNoLane) x = static_cast<const T*>(sources[s].x) + sources[s].lane[i];
    }
    for (int64_t p = 0; p < count; ++p) y[p * kBlock + i] = x != nullptr ? x[p * kBlock] : fill;
  }
}

}  // namespace

void move_channels_1(const ChannelSource* sources, int source_count, uint32_t fill, void* y, int64_t count) {
  move_channels(sources, source_count, static_cast<uint8_t>(fill), static_cast<uint8_t*>(y), count);
}

void move_channels_4(const ChannelSource* sources, int source_count, uint32_t fill, void* y, int64_t count) {
  move_channels(sources, source_count, fill, static_cast<uint32_t*>(y), count);
}

}  // namespace lq::scalar
