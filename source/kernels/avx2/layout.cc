// AVX2 layout conversion: 8×8 transposes of bytes and of 32-bit elements.
#include "kernels/avx2/elementwise_avx2.h"

namespace lq::avx2 {
namespace {

/// Eight rows of eight bytes -> eight columns, two to a register: out[k] holds columns 2k and 2k+1.
inline void transpose_8x8_bytes(const __m128i row[8], __m128i out[4]) {
  const __m128i a = _mm_unpacklo_epi8(row[0], row[1]), b = _mm_unpacklo_epi8(row[2], row[3]);
  const __m128i c = _mm_unpacklo_epi8(row[4], row[5]), d = _mm_unpacklo_epi8(row[6], row[7]);
  const __m128i ab0 = _mm_unpacklo_epi16(a, b), ab1 = _mm_unpackhi_epi16(a, b);
  const __m128i cd0 = _mm_unpacklo_epi16(c, d), cd1 = _mm_unpackhi_epi16(c, d);
  out[0] = _mm_unpacklo_epi32(ab0, cd0);
  out[1] = _mm_unpackhi_epi32(ab0, cd0);
  out[2] = _mm_unpacklo_epi32(ab1, cd1);
  out[3] = _mm_unpackhi_epi32(ab1, cd1);
}

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

template <typename T>
inline void to_blocked_tail(const T* x, int64_t x_stride, int channels, T* y, int64_t begin, int64_t count, T fill) {
  for (int64_t i = begin; i < count; ++i) {
    for (int c = 0; c < channels; ++c) y[i * kBlock + c] = x[c * x_stride + i];
    for (int c = channels; c < kBlock; ++c) y[i * kBlock + c] = fill;
  }
}

template <typename T>
inline void to_linear_tail(const T* x, T* y, int64_t y_stride, int channels, int64_t begin, int64_t count) {
  for (int c = 0; c < channels; ++c) {
    for (int64_t i = begin; i < count; ++i) y[c * y_stride + i] = x[i * kBlock + c];
  }
}

}  // namespace

void to_blocked_1(const void* xv, int64_t x_stride, int channels, void* yv, int64_t count, uint32_t fill) {
  const uint8_t* x = static_cast<const uint8_t*>(xv);
  uint8_t* y = static_cast<uint8_t*>(yv);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m128i row[8], out[4];
    for (int c = 0; c < kBlock; ++c) {
      row[c] = c < channels ? _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + c * x_stride + i))
                            : _mm_set1_epi8(static_cast<char>(fill));
    }
    transpose_8x8_bytes(row, out);
    for (int k = 0; k < 4; ++k) _mm_storeu_si128(reinterpret_cast<__m128i*>(y + (i + 2 * k) * kBlock), out[k]);
  }
  to_blocked_tail(x, x_stride, channels, y, i, count, static_cast<uint8_t>(fill));
}

void to_linear_1(const void* xv, void* yv, int64_t y_stride, int channels, int64_t count) {
  const uint8_t* x = static_cast<const uint8_t*>(xv);
  uint8_t* y = static_cast<uint8_t*>(yv);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m128i row[8], out[4];
    for (int k = 0; k < 8; ++k) row[k] = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + (i + k) * kBlock));
    transpose_8x8_bytes(row, out);
    for (int c = 0; c < channels; ++c) {
      const __m128i v = (c & 1) != 0 ? _mm_unpackhi_epi64(out[c / 2], out[c / 2]) : out[c / 2];
      _mm_storel_epi64(reinterpret_cast<__m128i*>(y + c * y_stride + i), v);
    }
  }
  to_linear_tail(x, y, y_stride, channels, i, count);
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
