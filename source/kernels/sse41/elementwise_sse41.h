// SSE4.1 pieces the elementwise kernels share: four lanes at a time, R, loads and stores of int8.
#pragma once
#include <smmintrin.h>

#include "kernels/elementwise_inline.h"

namespace lq::sse41 {

/// Constants of RoundArgs in registers.
struct Round4 {
  __m128 low, high;
  __m128i zero_point;
};
static inline Round4 round4(const RoundArgs& r) {
  return {_mm_set1_ps(r.low), _mm_set1_ps(r.high), _mm_set1_epi32(r.zero_point)};
}

/// int(rint(clamp(t))) + zp. maxps returns its second operand for a NaN: low, as the contract wants.
static inline __m128i round_clamped4(__m128 t, const Round4& r) {
  const __m128 v = _mm_min_ps(_mm_max_ps(t, r.low), r.high);
  return _mm_add_epi32(_mm_cvtps_epi32(v), r.zero_point);
}

static inline __m128i load4_s8(const int8_t* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm_cvtepi8_epi32(_mm_cvtsi32_si128(v));
}
/// 16 int32 in int8 range -> 16 bytes.
static inline __m128i narrow16_s8(__m128i a, __m128i b, __m128i c, __m128i d) {
  return _mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
}
/// Eight int32 in int8 range -> eight bytes.
static inline void store8_s8(int8_t* p, __m128i a, __m128i b) {
  const __m128i w = _mm_packs_epi32(a, b);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(w, w));
}

/// y[i…i+4) = f(i), eight or sixteen at a time; returns how many were done.
template <typename F>
static inline int64_t for_vectors(int8_t* y, int64_t n, F f) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), narrow16_s8(f(i), f(i + 4), f(i + 8), f(i + 12)));
  for (; i + 8 <= n; i += 8) store8_s8(y + i, f(i), f(i + 4));
  return i;
}

void quantize_s8(const float* x, int8_t* y, int64_t n, const QuantizeArgs& args);
void dequantize_s8(const int8_t* x, float* y, int64_t n, float scale, int32_t zero_point);
void requantize_s8(const int8_t* x, int8_t* y, int64_t n, const RescaleArgs& args);
void add_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args);
void mul_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args);
void prelu_s8(const int8_t* x, const float* negative, int step, int8_t* y, int64_t n, const RescaleArgs& args);
void to_blocked_1(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill);
void to_blocked_4(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill);
void to_linear_1(const void* x, void* y, int64_t y_stride, int channels, int64_t count);
void to_linear_4(const void* x, void* y, int64_t y_stride, int channels, int64_t count);
void move_channels_1(const ChannelSource* sources, int source_count, uint32_t fill, void* y, int64_t count);
void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& args);
void average_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& args);
void max_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& args);
void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& args);
void resize_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& args);

}  // namespace lq::sse41
