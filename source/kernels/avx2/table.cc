// AVX2 256-entry tables: sixteen byte shuffles, each answering for one value of the high nibble.
#include "kernels/avx2/elementwise_avx2.h"

namespace lq::avx2 {

// pshufb gives 0 where an index byte has its top bit set. After subtracting 16·k, only bytes of slice k lie in 0…15;
// the saturating add of 112 lifts 16…255 to 128 and above, so all other slices answer 0 and the sixteen answers can be
// joined by OR.
void table_u8(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table) {
  int64_t i = 0;
  if (n >= 32) {
    __m256i slice[16];
    for (int k = 0; k < 16; ++k) {
      slice[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * k)));
    }
    const __m256i lift = _mm256_set1_epi8(112), sixteen = _mm256_set1_epi8(16);
    for (; i + 32 <= n; i += 32) {
      __m256i index = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
      __m256i out = _mm256_setzero_si256();
      for (int k = 0; k < 16; ++k) {
        out = _mm256_or_si256(out, _mm256_shuffle_epi8(slice[k], _mm256_adds_epu8(index, lift)));
        index = _mm256_sub_epi8(index, sixteen);
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), out);
    }
  }
  for (; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace lq::avx2
