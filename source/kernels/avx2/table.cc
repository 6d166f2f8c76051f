// AVX2 256-entry tables: sixteen byte shuffles, each answering for one value of the high nibble.
#include "kernels/avx2/elementwise_avx2.h"

namespace lq::avx2 {

// pshufb gives 0 where an index byte has its top bit set, otherwise it looks at the low nibble. So for indices 0…127
// the answers to index, index − 16, index − 32, … of slice 0, slice 1 ^ slice 0, slice 2 ^ slice 1, … join by XOR to
// that of the right slice: later ones see a negative index. Indices above 127 do the same with the upper eight slices;
// what the lower chain gives them (it sees 127) is in the first of those.
void table_u8(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table) {
  int64_t i = 0;
  if (n >= 32) {
    __m256i slice[16], change[16];
    for (int k = 0; k < 16; ++k) {
      slice[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * k)));
      change[k] =
          k == 0 ? slice[0] : _mm256_xor_si256(slice[k], k == 8 ? _mm256_set1_epi8(char(table[127])) : slice[k - 1]);
    }
    const __m256i most = _mm256_set1_epi8(127), half = _mm256_set1_epi8(char(0x80)), sixteen = _mm256_set1_epi8(16);
    for (; i + 32 <= n; i += 32) {
      const __m256i index = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
      __m256i low = _mm256_min_epu8(index, most), high = _mm256_xor_si256(index, half);
      __m256i out = _mm256_xor_si256(_mm256_shuffle_epi8(change[0], low), _mm256_shuffle_epi8(change[8], high));
      for (int k = 1; k < 8; ++k) {
        low = _mm256_sub_epi8(low, sixteen);
        high = _mm256_subs_epi8(high, sixteen);  // saturates: what is negative stays it
        const __m256i answers =
            _mm256_xor_si256(_mm256_shuffle_epi8(change[k], low), _mm256_shuffle_epi8(change[8 + k], high));
        out = _mm256_xor_si256(out, answers);
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), out);
    }
  }
  for (; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace lq::avx2
