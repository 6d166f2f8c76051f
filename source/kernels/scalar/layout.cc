// Linear [C, S] rows <-> blocked [S, 8], and the lanes behind the last channel.
#include "kernels/scalar/elementwise_scalar.h"

namespace lq {
namespace {

template <typename T>
void to_blocked(const T* x, int64_t x_stride, int channels, T* y, int64_t count, T fill) {
  for (int64_t i = 0; i < count; ++i) {
    for (int c = 0; c < channels; ++c) y[i * kBlock + c] = x[c * x_stride + i];
    for (int c = channels; c < kBlock; ++c) y[i * kBlock + c] = fill;
  }
}

template <typename T>
void to_linear(const T* x, T* y, int64_t y_stride, int channels, int64_t count) {
  for (int c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < count; ++i) y[c * y_stride + i] = x[i * kBlock + c];
  }
}

template <typename T>
void fill_lanes(T* y, int64_t count, int first, T fill) {
  for (int64_t i = 0; i < count; ++i) {
    for (int c = first; c < kBlock; ++c) y[i * kBlock + c] = fill;
  }
}

}  // namespace

/// Pixel by pixel as one word, which compilers turn into vectors.
void fill_lanes_1(uint8_t* y, int64_t count, int first, uint8_t fill) {
  static_assert(kBlock == sizeof(uint64_t));
  uint64_t keep, lanes;
  uint8_t bytes[kBlock];
  for (int c = 0; c < kBlock; ++c) bytes[c] = c < first ? 0xff : 0;
  __builtin_memcpy(&keep, bytes, sizeof keep);
  for (int c = 0; c < kBlock; ++c) bytes[c] = c < first ? 0 : fill;
  __builtin_memcpy(&lanes, bytes, sizeof lanes);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t pixel;
    __builtin_memcpy(&pixel, y + i * kBlock, sizeof pixel);
    pixel = (pixel & keep) | lanes;
    __builtin_memcpy(y + i * kBlock, &pixel, sizeof pixel);
  }
}
void fill_lanes_4(uint32_t* y, int64_t count, int first, uint32_t fill) { fill_lanes(y, count, first, fill); }

namespace scalar {

void to_blocked_1(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill) {
  to_blocked(static_cast<const uint8_t*>(x), x_stride, channels, static_cast<uint8_t*>(y), count,
             static_cast<uint8_t>(fill));
}
void to_blocked_4(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill) {
  to_blocked(static_cast<const uint32_t*>(x), x_stride, channels, static_cast<uint32_t*>(y), count, fill);
}
void to_linear_1(const void* x, void* y, int64_t y_stride, int channels, int64_t count) {
  to_linear(static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y), y_stride, channels, count);
}
void to_linear_4(const void* x, void* y, int64_t y_stride, int channels, int64_t count) {
  to_linear(static_cast<const uint32_t*>(x), static_cast<uint32_t*>(y), y_stride, channels, count);
}

}  // namespace scalar
}  // namespace lq
