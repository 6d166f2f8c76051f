// AVX2 pieces the elementwise kernels share: eight lanes at a time, R, loads and stores of eight int8.
#pragma once
#include <immintrin.h>

#include "kernels/elementwise_inline.h"

namespace lq::avx2 {

/// Constants of RoundArgs in registers.
struct Round8 {
  __m256 low, high;
  __m256i zero_point;
};
static inline Round8 round8(const RoundArgs& r) {
  return {_mm256_set1_ps(r.low), _mm256_set1_ps(r.high), _mm256_set1_epi32(r.zero_point)};
}

/// int(rint(clamp(t))) + zp. maxps returns its second operand for a NaN: low, as the contract wants.
static inline __m256i round_clamped8(__m256 t, const Round8& r) {
  const __m256 v = _mm256_min_ps(_mm256_max_ps(t, r.low), r.high);
  return _mm256_add_epi32(_mm256_cvtps_epi32(v), r.zero_point);
}

static inline __m256i load8_s8(const int8_t* p) {
  return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}

/// Eight int32 already in int8 range -> eight bytes.
static inline void store8_s8(int8_t* p, __m256i v) {
  const __m128i w = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(w, w));
}

/// 32 int32 in int8 range -> 32 bytes in order.
static inline void store32_s8(int8_t* p, __m256i a, __m256i b, __m256i c, __m256i d) {
  const __m256i v = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permutevar8x32_epi32(v, order));
}

/// y[i…i+8) = f(i) for whole vectors, four at a time where they fit; returns how many were done.
template <typename F>
static inline int64_t for_vectors(int8_t* y, int64_t n, F f) {
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) store32_s8(y + i, f(i), f(i + 8), f(i + 16), f(i + 24));
  for (; i + 8 <= n; i += 8) store8_s8(y + i, f(i));
  return i;
}

void quantize_s8(const float* x, int8_t* y, int64_t n, const QuantizeArgs& args);
void dequantize_s8(const int8_t* x, float* y, int64_t n, float scale, int32_t zero_point);
void requantize_s8(const int8_t* x, int8_t* y, int64_t n, const RescaleArgs& args);
void table_u8(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table);
void add_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args);
void mul_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args);
void prelu_s8(const int8_t* x, const float* negative, int step, int8_t* y, int64_t n, const RescaleArgs& args);
void to_blocked_1(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill);
void to_blocked_4(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill);
void to_linear_1(const void* x, void* y, int64_t y_stride, int channels, int64_t count);
void to_linear_4(const void* x, void* y, int64_t y_stride, int channels, int64_t count);
void move_channels_1(const ChannelSource* sources, int source_count, uint32_t fill, void* y, int64_t count);
void move_channels_4(const ChannelSource* sources, int source_count, uint32_t fill, void* y, int64_t count);
void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& args);
void average_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& args);
void max_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& args);
void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& args);
void resize_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& args);

}  // namespace lq::avx2
