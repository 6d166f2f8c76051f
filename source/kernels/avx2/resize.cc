// AVX2 linear and cubic int8 Resize on blocked planes.
#include "kernels/avx2/elementwise_avx2.h"

namespace lq::avx2 {

void resize_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& a) {
  const Round8 round = round8(a.round);
  const __m256i zero =
      _mm256_set1_epi32(static_cast<int32_t>(static_cast<uint32_t>(a.zero_x) << 22));  // Σ w_row·w_col = 2^22
  const __m256 m = _mm256_set1_ps(a.multiplier);
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      int8_t* out = y + (static_cast<int64_t>(oh) * a.out_w + ow) * kBlock;
      if ((a.rows.outside && a.rows.outside[oh]) || (a.cols.outside && a.cols.outside[ow])) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_set1_epi8(a.extrapolation));
        continue;
      }
      __m256i acc = _mm256_setzero_si256();
      for (int32_t r = 0; r < a.rows.taps; ++r) {
        const int32_t row = oh * a.rows.taps + r;
        const int8_t* line = x + static_cast<int64_t>(a.rows.index[row]) * a.in_w * kBlock;
        __m256i sum =
            _mm256_setzero_si256();  // Σ w_col·q of this row, then times w_row: wraps like the scalar twin's order
        for (int32_t c = 0; c < a.cols.taps; ++c) {
          const int32_t col = ow * a.cols.taps + c;
          const __m256i v = load8_s8(line + static_cast<int64_t>(a.cols.index[col]) * kBlock);
          sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(v, _mm256_set1_epi32(a.cols.weight[col])));
        }
        acc = _mm256_add_epi32(acc, _mm256_mullo_epi32(sum, _mm256_set1_epi32(a.rows.weight[row])));
      }
      acc = _mm256_sub_epi32(acc, zero);
      store8_s8(out, round_clamped8(_mm256_mul_ps(_mm256_cvtepi32_ps(acc), m), round));
    }
  }
}

}  // namespace lq::avx2
