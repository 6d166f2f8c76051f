// SSE4.1 Quantize, Dequantize, R, and int8 Add, Sub, Mul, PRelu on contiguous runs.
#include "kernels/sse41/elementwise_sse41.h"

namespace lq::sse41 {
namespace {

/// float(q − zero) of four values.
inline __m128 value(const int8_t* p, __m128i zero) { return _mm_cvtepi32_ps(_mm_sub_epi32(load4_s8(p), zero)); }

/// y[i] = f(a, b) of four values each, as floats; `load_a` and `load_b` make them. With b_step 0 eight values of b
/// repeat.
template <typename LoadA, typename LoadB, typename F>
inline int64_t for_both(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, LoadA load_a, LoadB load_b,
                        F f) {
  if (b_step != 0) return for_vectors(y, n, [&](int64_t k) { return f(load_a(a + k), load_b(b + k)); });
  if (n < 8) return 0;
  const __m128 tb[2] = {load_b(b), load_b(b + 4)};
  return for_vectors(y, n, [&](int64_t k) { return f(load_a(a + k), tb[k / 4 % 2]); });
}

}  // namespace

void quantize_s8(const float* x, int8_t* y, int64_t n, const QuantizeArgs& args) {
  const QuantizeArgs a = args;
  const Round4 r = round4(a.round);
  const __m128 scale = _mm_set1_ps(a.scale);
  int64_t i = for_vectors(y, n, [&](int64_t k) { return round_clamped4(_mm_div_ps(_mm_loadu_ps(x + k), scale), r); });
  for (; i < n; ++i) y[i] = quantize_one(x[i], a);
}

void dequantize_s8(const int8_t* x, float* y, int64_t n, float scale, int32_t zero_point) {
  const __m128 s = _mm_set1_ps(scale);
  const __m128i z = _mm_set1_epi32(zero_point);
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) _mm_storeu_ps(y + i, _mm_mul_ps(value(x + i, z), s));
  for (; i < n; ++i) y[i] = static_cast<float>(x[i] - zero_point) * scale;
}

void requantize_s8(const int8_t* x, int8_t* y, int64_t n, const RescaleArgs& args) {
  const RescaleArgs a = args;
  const Round4 r = round4(a.round);
  const __m128 m = _mm_set1_ps(a.multiplier);
  const __m128i z = _mm_set1_epi32(a.zero_x);
  int64_t i = for_vectors(y, n, [&](int64_t k) { return round_clamped4(_mm_mul_ps(value(x + k, z), m), r); });
  for (; i < n; ++i) y[i] = rescale_one(x[i], a);
}

void add_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args) {
  const BinaryArgs g = args;
  const Round4 r = round4(g.round);
  const __m128i za = _mm_set1_epi32(g.zero_a), zb = _mm_set1_epi32(g.zero_b);
  const __m128 ma = _mm_set1_ps(g.mul_a), mb = _mm_set1_ps(g.mul_b);
  int64_t i = for_both(
      a, b, b_step, y, n, [&](const int8_t* p) { return _mm_mul_ps(value(p, za), ma); },
      [&](const int8_t* p) { return _mm_mul_ps(value(p, zb), mb); },
      [&](__m128 ta, __m128 tb) { return round_clamped4(_mm_add_ps(ta, tb), r); });
  for (int lane = 0; i < n; ++i, ++lane) y[i] = add_one(a[i], b[b_step != 0 ? i : lane], g);
}

void mul_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args) {
  const BinaryArgs g = args;
  const Round4 r = round4(g.round);
  const __m128i za = _mm_set1_epi32(g.zero_a), zb = _mm_set1_epi32(g.zero_b);
  const __m128 m = _mm_set1_ps(g.mul_a);
  // |q − z| <= 255 each, so the product of the two float values is exact: the same as converting the integer product.
  int64_t i = for_both(
      a, b, b_step, y, n, [&](const int8_t* p) { return value(p, za); }, [&](const int8_t* p) { return value(p, zb); },
      [&](__m128 va, __m128 vb) { return round_clamped4(_mm_mul_ps(_mm_mul_ps(va, vb), m), r); });
  for (int lane = 0; i < n; ++i, ++lane) y[i] = mul_one(a[i], b[b_step != 0 ? i : lane], g);
}

void prelu_s8(const int8_t* x, const float* negative, int step, int8_t* y, int64_t n, const RescaleArgs& args) {
  const RescaleArgs a = args;
  const Round4 r = round4(a.round);
  const __m128 positive = _mm_set1_ps(a.multiplier);
  const __m128i z = _mm_set1_epi32(a.zero_x);
  int64_t i = for_vectors(y, n, [&](int64_t k) {
    const __m128i acc = _mm_sub_epi32(load4_s8(x + k), z);
    const __m128 slope = _mm_loadu_ps(negative + (step != 0 ? k : k % 8));
    const __m128 m = _mm_blendv_ps(positive, slope, _mm_castsi128_ps(acc));  // by the sign of acc
    return round_clamped4(_mm_mul_ps(_mm_cvtepi32_ps(acc), m), r);
  });
  const float* tail = negative + (step != 0 ? i : 0);
  for (int lane = 0; i < n; ++i, ++lane) y[i] = prelu_one(x[i], tail[lane], a);
}

}  // namespace lq::sse41
