// AVX2 int8 Add, Sub, Mul, PRelu.
#include "kernels/avx2/elementwise_avx2.h"

namespace lq::avx2 {

void add_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args) {
  const BinaryArgs g = args;
  const Round8 r = round8(g.round);
  const __m256i za = _mm256_set1_epi32(g.zero_a), zb = _mm256_set1_epi32(g.zero_b);
  const __m256 ma = _mm256_set1_ps(g.mul_a), mb = _mm256_set1_ps(g.mul_b);
  const auto term = [](const int8_t* p, __m256i z, __m256 m) {
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(load8_s8(p), z)), m);
  };
  int64_t i = 0;
  if (b_step != 0) {
    i = for_vectors(
        y, n, [&](int64_t k) { return round_clamped8(_mm256_add_ps(term(a + k, za, ma), term(b + k, zb, mb)), r); });
    for (; i < n; ++i) y[i] = add_one(a[i], b[i], g);
  } else {
    if (n >= 8) {
      const __m256 tb = term(b, zb, mb);
      i = for_vectors(y, n, [&](int64_t k) { return round_clamped8(_mm256_add_ps(term(a + k, za, ma), tb), r); });
    }
    for (int lane = 0; i < n; ++i, ++lane) y[i] = add_one(a[i], b[lane], g);
  }
}

void mul_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args) {
  const BinaryArgs g = args;
  const Round8 r = round8(g.round);
  const __m256i za = _mm256_set1_epi32(g.zero_a), zb = _mm256_set1_epi32(g.zero_b);
  const __m256 m = _mm256_set1_ps(g.mul_a);
  // |q − z| <= 255 each, so the product of the two float values is exact: the same as converting the integer product.
  const auto value = [](const int8_t* p, __m256i z) { return _mm256_cvtepi32_ps(_mm256_sub_epi32(load8_s8(p), z)); };
  const auto product = [&](__m256 va, __m256 vb) { return round_clamped8(_mm256_mul_ps(_mm256_mul_ps(va, vb), m), r); };
  int64_t i = 0;
  if (b_step != 0) {
    i = for_vectors(y, n, [&](int64_t k) { return product(value(a + k, za), value(b + k, zb)); });
    for (; i < n; ++i) y[i] = mul_one(a[i], b[i], g);
  } else {
    if (n >= 8) {
      const __m256 vb = value(b, zb);
      i = for_vectors(y, n, [&](int64_t k) { return product(value(a + k, za), vb); });
    }
    for (int lane = 0; i < n; ++i, ++lane) y[i] = mul_one(a[i], b[lane], g);
  }
}

void prelu_s8(const int8_t* x, const float* negative, int step, int8_t* y, int64_t n, const RescaleArgs& args) {
  const RescaleArgs a = args;
  const Round8 r = round8(a.round);
  const __m256 positive = _mm256_set1_ps(a.multiplier);
  const __m256i z = _mm256_set1_epi32(a.zero_x);
  int64_t i = for_vectors(y, n, [&](int64_t k) {
    const __m256i acc = _mm256_sub_epi32(load8_s8(x + k), z);
    const __m256 slope = _mm256_loadu_ps(negative + (step != 0 ? k : 0));
    const __m256 m = _mm256_blendv_ps(positive, slope, _mm256_castsi256_ps(acc));  // by the sign of acc
    return round_clamped8(_mm256_mul_ps(_mm256_cvtepi32_ps(acc), m), r);
  });
  const float* tail = negative + (step != 0 ? i : 0);
  for (int lane = 0; i < n; ++i, ++lane) y[i] = prelu_one(x[i], tail[lane], a);
}

}  // namespace lq::avx2
