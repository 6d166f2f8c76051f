// SSE4.1 layout conversion: bytes by layout_bytes_inline.h, 4×4 transposes of 32-bit elements.
#include "kernels/sse41/elementwise_sse41.h"

namespace lq::sse41 {
namespace {

#include "kernels/layout_bytes_inline.h"

}  // namespace

void to_blocked_1(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill) {
  blocked_bytes(static_cast<const uint8_t*>(x), x_stride, channels, static_cast<uint8_t*>(y), count, uint8_t(fill));
}

void to_linear_1(const void* x, void* y, int64_t y_stride, int channels, int64_t count) {
  linear_bytes(static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y), y_stride, channels, count);
}

void to_blocked_4(const void* xv, int64_t x_stride, int channels, void* yv, int64_t count, uint32_t fill) {
  const float* x = static_cast<const float*>(xv);
  float* y = static_cast<float*>(yv);
  const __m128 empty = _mm_castsi128_ps(_mm_set1_epi32(static_cast<int>(fill)));
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int half = 0; half < kBlock; half += 4) {
      __m128 r[4];
      for (int c = 0; c < 4; ++c) r[c] = half + c < channels ? _mm_loadu_ps(x + (half + c) * x_stride + i) : empty;
      _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]);
      for (int k = 0; k < 4; ++k) _mm_storeu_ps(y + (i + k) * kBlock + half, r[k]);
    }
  }
  to_blocked_tail(static_cast<const uint32_t*>(xv), x_stride, channels, static_cast<uint32_t*>(yv), i, count, fill);
}

void to_linear_4(const void* xv, void* yv, int64_t y_stride, int channels, int64_t count) {
  const float* x = static_cast<const float*>(xv);
  float* y = static_cast<float*>(yv);
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int half = 0; half < channels; half += 4) {
      __m128 r[4];
      for (int k = 0; k < 4; ++k) r[k] = _mm_loadu_ps(x + (i + k) * kBlock + half);
      _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]);
      for (int c = 0; c < 4 && half + c < channels; ++c) _mm_storeu_ps(y + (half + c) * y_stride + i, r[c]);
    }
  }
  to_linear_tail(static_cast<const uint32_t*>(xv), static_cast<uint32_t*>(yv), y_stride, channels, i, count);
}

}  // namespace lq::sse41
