// AVX2 blocked pools: a channel block is one register.
#include "kernels/avx2/elementwise_avx2.h"

namespace lq::avx2 {
namespace {

/// Calls f(block) for each valid tap of one output, in row-major order.
template <typename T, typename F>
inline void for_taps(const T* x, const PoolTaps& row, const PoolTaps& col, const PoolArgs& a, F f) {
  const int64_t line_step = static_cast<int64_t>(a.dilation_h) * a.in_w * kBlock;
  const int64_t step = static_cast<int64_t>(a.dilation_w) * kBlock;
  const T* line = x + (static_cast<int64_t>(row.first) * a.in_w + col.first) * kBlock;
  for (int32_t r = 0; r < row.count; ++r, line += line_step) {
    const T* v = line;
    for (int32_t c = 0; c < col.count; ++c, v += step) f(v);
  }
}

inline int64_t offset(const PoolArgs& a, int32_t oh, int32_t ow) {
  return (static_cast<int64_t>(oh) * a.out_w + ow) * kBlock;
}

inline __m128i load_block(const int8_t* v) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(v)); }

}  // namespace

void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      __m256 best = _mm256_set1_ps(-__builtin_inff());
      // maxps(v, best) is v > best ? v : best, the scalar twin's expression, NaN included
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const float* v) { best = _mm256_max_ps(_mm256_loadu_ps(v), best); });
      _mm256_storeu_ps(y + offset(a, oh, ow), best);
    }
  }
}

void max_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      __m128i best = _mm_set1_epi8(-128);
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const int8_t* v) { best = _mm_max_epi8(best, load_block(v)); });
      _mm_storel_epi64(reinterpret_cast<__m128i*>(y + offset(a, oh, ow)), best);
    }
  }
}

void average_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      __m256 p[8];
      for (__m256& v : p) v = _mm256_setzero_ps();
      uint32_t k = 0;  // tap k adds to partial k % 8
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const float* v) {
        p[k & 7] = _mm256_add_ps(p[k & 7], _mm256_loadu_ps(v));
        ++k;
      });
      const __m256 even = _mm256_add_ps(_mm256_add_ps(p[0], p[4]), _mm256_add_ps(p[2], p[6]));
      const __m256 odd = _mm256_add_ps(_mm256_add_ps(p[1], p[5]), _mm256_add_ps(p[3], p[7]));
      const float n = static_cast<float>(static_cast<int64_t>(a.rows[oh].divisor) * a.cols[ow].divisor);
      _mm256_storeu_ps(y + offset(a, oh, ow), _mm256_div_ps(_mm256_add_ps(even, odd), _mm256_set1_ps(n)));
    }
  }
}

void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  const Round8 r = round8(a.round);
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      __m256i acc = _mm256_setzero_si256();
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const int8_t* v) { acc = _mm256_add_epi32(acc, load8_s8(v)); });
      acc = _mm256_sub_epi32(acc, _mm256_set1_epi32(a.rows[oh].count * a.cols[ow].count * a.zero_x));
      const __m256 m = _mm256_set1_ps(a.multiplier[a.rows[oh].slot * a.col_slots + a.cols[ow].slot]);
      store8_s8(y + offset(a, oh, ow), round_clamped8(_mm256_mul_ps(_mm256_cvtepi32_ps(acc), m), r));
    }
  }
}

}  // namespace lq::avx2
