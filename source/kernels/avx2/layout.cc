// AVX2 layout conversion: bytes by SSE2 (layout_bytes_inline.h), 8×8 transposes of 32-bit elements.
#include "kernels/avx2/elementwise_avx2.h"

namespace lq::avx2 {
namespace {

#include "kernels/layout_bytes_inline.h"

inline void transpose_8x8_words(__m256 r[8]) {
  __m256 t[8], u[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
  }
}

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
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 r[8];
    for (int c = 0; c < kBlock; ++c) {
      r[c] = c < channels ? _mm256_loadu_ps(x + c * x_stride + i)
                          : _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(fill)));
    }
    transpose_8x8_words(r);
    for (int k = 0; k < 8; ++k) _mm256_storeu_ps(y + (i + k) * kBlock, r[k]);
  }
  to_blocked_tail(static_cast<const uint32_t*>(xv), x_stride, channels, static_cast<uint32_t*>(yv), i, count, fill);
}

void to_linear_4(const void* xv, void* yv, int64_t y_stride, int channels, int64_t count) {
  const float* x = static_cast<const float*>(xv);
  float* y = static_cast<float*>(yv);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 r[8];
    for (int k = 0; k < 8; ++k) r[k] = _mm256_loadu_ps(x + (i + k) * kBlock);
    transpose_8x8_words(r);
    for (int c = 0; c < channels; ++c) _mm256_storeu_ps(y + c * y_stride + i, r[c]);
  }
  to_linear_tail(static_cast<const uint32_t*>(xv), static_cast<uint32_t*>(yv), y_stride, channels, i, count);
}

}  // namespace lq::avx2
