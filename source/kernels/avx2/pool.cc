// AVX2 blocked pools: a channel block is one register.
#include "kernels/avx2/elementwise_avx2.h"
#include "kernels/pool_inline.h"

namespace lq::avx2 {
namespace {

struct Lanes {
  static __m256 all(float v) { return _mm256_set1_ps(v); }
  static __m256 load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, __m256 v) { _mm256_storeu_ps(p, v); }
  static __m256 add(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
  static __m256 divide(__m256 a, float n) { return _mm256_div_ps(a, _mm256_set1_ps(n)); }
  // maxps(v, best) is v > best ? v : best
  static __m256 greater(__m256 v, __m256 best) { return _mm256_max_ps(v, best); }

  static __m128i least() { return _mm_set1_epi8(-128); }
  static __m128i greatest(__m128i best, const int8_t* v) {
    return _mm_max_epi8(best, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(v)));
  }
  static void store(int8_t* p, __m128i v) { _mm_storel_epi64(reinterpret_cast<__m128i*>(p), v); }

  static __m256i all(int32_t v) { return _mm256_set1_epi32(v); }
  static __m256i plus(__m256i sum, const int8_t* v) { return _mm256_add_epi32(sum, load8_s8(v)); }
  static Round8 rounder(const RoundArgs& r) { return round8(r); }
  static void store_scaled(int8_t* y, __m256i sum, float m, const Round8& r) {
    store8_s8(y, round_clamped8(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(m)), r));
  }
};

}  // namespace

void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  max_pool_f32_of<Lanes>(x, y, begin, end, a);
}
void average_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  average_pool_f32_of<Lanes>(x, y, begin, end, a);
}

void max_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  max_pool_s8_of<Lanes>(x, y, begin, end, a);
}
void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  average_pool_s8_of<Lanes>(x, y, begin, end, a);
}

}  // namespace lq::avx2
