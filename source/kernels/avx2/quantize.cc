// AVX2 Quantize, Dequantize and R on contiguous runs.
#include "kernels/avx2/elementwise_avx2.h"

namespace lq::avx2 {

void quantize_s8(const float* x, int8_t* y, int64_t n, const QuantizeArgs& args) {
  const QuantizeArgs a = args;
  const Round8 r = round8(a.round);
  const __m256 scale = _mm256_set1_ps(a.scale);
  int64_t i =
      for_vectors(y, n, [&](int64_t k) { return round_clamped8(_mm256_div_ps(_mm256_loadu_ps(x + k), scale), r); });
  for (; i < n; ++i) y[i] = quantize_one(x[i], a);
}

void dequantize_s8(const int8_t* x, float* y, int64_t n, float scale, int32_t zero_point) {
  const __m256 s = _mm256_set1_ps(scale);
  const __m256i z = _mm256_set1_epi32(zero_point);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(load8_s8(x + i), z)), s));
  }
  for (; i < n; ++i) y[i] = static_cast<float>(x[i] - zero_point) * scale;
}

void requantize_s8(const int8_t* x, int8_t* y, int64_t n, const RescaleArgs& args) {
  const RescaleArgs a = args;
  const Round8 r = round8(a.round);
  const __m256 m = _mm256_set1_ps(a.multiplier);
  const __m256i z = _mm256_set1_epi32(a.zero_x);
  int64_t i = for_vectors(y, n, [&](int64_t k) {
    return round_clamped8(_mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(load8_s8(x + k), z)), m), r);
  });
  for (; i < n; ++i) y[i] = rescale_one(x[i], a);
}

}  // namespace lq::avx2
