// SSE4.1 blocked pools and int8 Resize: a channel block is two registers of 32-bit lanes, or half a register of bytes.
#include "kernels/pool_inline.h"
#include "kernels/sse41/elementwise_sse41.h"

namespace lq::sse41 {
namespace {

struct Floats {
  __m128 low, high;
};
struct Sums {
  __m128i low, high;
};

struct Lanes {
  static Floats all(float v) { return {_mm_set1_ps(v), _mm_set1_ps(v)}; }
  static Floats load(const float* p) { return {_mm_loadu_ps(p), _mm_loadu_ps(p + 4)}; }
  static void store(float* p, Floats v) {
    _mm_storeu_ps(p, v.low);
    _mm_storeu_ps(p + 4, v.high);
  }
  static Floats add(Floats a, Floats b) { return {_mm_add_ps(a.low, b.low), _mm_add_ps(a.high, b.high)}; }
  static Floats divide(Floats a, float n) {
    return {_mm_div_ps(a.low, _mm_set1_ps(n)), _mm_div_ps(a.high, _mm_set1_ps(n))};
  }
  // maxps(v, best) is v > best ? v : best
  static Floats greater(Floats v, Floats best) { return {_mm_max_ps(v.low, best.low), _mm_max_ps(v.high, best.high)}; }

  static __m128i least() { return _mm_set1_epi8(-128); }
  static __m128i greatest(__m128i best, const int8_t* v) {
    return _mm_max_epi8(best, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(v)));
  }
  static void store(int8_t* p, __m128i v) { _mm_storel_epi64(reinterpret_cast<__m128i*>(p), v); }

  static Sums all(int32_t v) { return {_mm_set1_epi32(v), _mm_set1_epi32(v)}; }
  static Sums plus(Sums sum, const int8_t* v) {
    return {_mm_add_epi32(sum.low, load4_s8(v)), _mm_add_epi32(sum.high, load4_s8(v + 4))};
  }
  static Round4 rounder(const RoundArgs& r) { return round4(r); }
  static void store_scaled(int8_t* y, Sums sum, float m, const Round4& r) {
    const __m128 scale = _mm_set1_ps(m);
    store8_s8(y, round_clamped4(_mm_mul_ps(_mm_cvtepi32_ps(sum.low), scale), r),
              round_clamped4(_mm_mul_ps(_mm_cvtepi32_ps(sum.high), scale), r));
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

void resize_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& a) {
  const Round4 round = round4(a.round);
  const __m128i zero =
      _mm_set1_epi32(static_cast<int32_t>(static_cast<uint32_t>(a.zero_x) << 22));  // Σ w_row·w_col = 2^22
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
      Lanes::store_scaled(out, {acc[0], acc[1]}, a.multiplier, round);
    }
  }
}

}  // namespace lq::sse41
