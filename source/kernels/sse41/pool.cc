// SSE4.1 blocked pools and int8 Resize: a channel block is two registers of 32-bit lanes, or half a register of bytes.
#include "kernels/sse41/elementwise_sse41.h"

namespace lq::sse41 {
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

/// Stores R of eight int32.
inline void store_scaled(int8_t* y, const __m128i (&acc)[2], __m128 m, const Round4& r) {
  store8_s8(y, round_clamped4(_mm_mul_ps(_mm_cvtepi32_ps(acc[0]), m), r),
            round_clamped4(_mm_mul_ps(_mm_cvtepi32_ps(acc[1]), m), r));
}

}  // namespace

void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      __m128 low = _mm_set1_ps(-__builtin_inff()), high = low;
      // maxps(v, best) is v > best ? v : best, the scalar twin's expression, NaN included
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const float* v) {
        low = _mm_max_ps(_mm_loadu_ps(v), low);
        high = _mm_max_ps(_mm_loadu_ps(v + 4), high);
      });
      _mm_storeu_ps(y + offset(a, oh, ow), low);
      _mm_storeu_ps(y + offset(a, oh, ow) + 4, high);
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
      __m128 p[8][2];
      for (__m128(&v)[2] : p) v[0] = v[1] = _mm_setzero_ps();
      uint32_t k = 0;  // tap k adds to partial k % 8
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const float* v) {
        for (int h = 0; h < 2; ++h) p[k & 7][h] = _mm_add_ps(p[k & 7][h], _mm_loadu_ps(v + 4 * h));
        ++k;
      });
      const float n = static_cast<float>(static_cast<int64_t>(a.rows[oh].divisor) * a.cols[ow].divisor);
      for (int h = 0; h < 2; ++h) {
        const __m128 even = _mm_add_ps(_mm_add_ps(p[0][h], p[4][h]), _mm_add_ps(p[2][h], p[6][h]));
        const __m128 odd = _mm_add_ps(_mm_add_ps(p[1][h], p[5][h]), _mm_add_ps(p[3][h], p[7][h]));
        _mm_storeu_ps(y + offset(a, oh, ow) + 4 * h, _mm_div_ps(_mm_add_ps(even, odd), _mm_set1_ps(n)));
      }
    }
  }
}

void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  const Round4 r = round4(a.round);
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      const __m128i zero = _mm_set1_epi32(a.rows[oh].count * a.cols[ow].count * a.zero_x);
      __m128i acc[2] = {_mm_setzero_si128(), _mm_setzero_si128()};
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const int8_t* v) {
        acc[0] = _mm_add_epi32(acc[0], load4_s8(v));
        acc[1] = _mm_add_epi32(acc[1], load4_s8(v + 4));
      });
      for (__m128i& v : acc) v = _mm_sub_epi32(v, zero);
      const __m128 m = _mm_set1_ps(a.multiplier[a.rows[oh].slot * a.col_slots + a.cols[ow].slot]);
      store_scaled(y + offset(a, oh, ow), acc, m, r);
    }
  }
}

void resize_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& a) {
  const Round4 round = round4(a.round);
  const __m128i zero =
      _mm_set1_epi32(static_cast<int32_t>(static_cast<uint32_t>(a.zero_x) << 22));  // Σ w_row·w_col = 2^22
  const __m128 m = _mm_set1_ps(a.multiplier);
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      int8_t* out = y + (static_cast<int64_t>(oh) * a.out_w + ow) * kBlock;
      if ((a.rows.outside && a.rows.outside[oh]) || (a.cols.outside && a.cols.outside[ow])) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_set1_epi8(a.extrapolation));
        continue;
      }
      __m128i acc[2] = {_mm_setzero_si128(), _mm_setzero_si128()};
      for (int32_t r = 0; r < a.rows.taps; ++r) {
        const int32_t row = oh * a.rows.taps + r;
        const int8_t* line = x + static_cast<int64_t>(a.rows.index[row]) * a.in_w * kBlock;
        __m128i sum[2] = {_mm_setzero_si128(), _mm_setzero_si128()};  // Σ w_col·q of this row, then times w_row
        for (int32_t c = 0; c < a.cols.taps; ++c) {
          const int32_t col = ow * a.cols.taps + c;
          const int8_t* v = line + static_cast<int64_t>(a.cols.index[col]) * kBlock;
          const __m128i w = _mm_set1_epi32(a.cols.weight[col]);
          for (int h = 0; h < 2; ++h) sum[h] = _mm_add_epi32(sum[h], _mm_mullo_epi32(load4_s8(v + 4 * h), w));
        }
        const __m128i w = _mm_set1_epi32(a.rows.weight[row]);
        for (int h = 0; h < 2; ++h) acc[h] = _mm_add_epi32(acc[h], _mm_mullo_epi32(sum[h], w));
      }
      for (__m128i& v : acc) v = _mm_sub_epi32(v, zero);
      store_scaled(out, acc, m, round);
    }
  }
}

}  // namespace lq::sse41
