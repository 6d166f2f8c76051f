// Four rows of bytes side by side by SSE2 shuffles: a half of depthwise_quads_inline.h that both VNNI folders share.
// Included inside an ISA's anonymous namespace.
constexpr int kOffset = 128;

/// 16 bytes of a row are two pixels.
[[gnu::always_inline]] static inline void interleave_two(const int8_t* const (&rows)[4], int p, uint8_t* y) {
  __m128i v[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    v[j] = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[j] + ptrdiff_t(8) * p)),
                         _mm_set1_epi8(char(0x80)));
  }
  const __m128i ab0 = _mm_unpacklo_epi8(v[0], v[1]), ab1 = _mm_unpackhi_epi8(v[0], v[1]);
  const __m128i cd0 = _mm_unpacklo_epi8(v[2], v[3]), cd1 = _mm_unpackhi_epi8(v[2], v[3]);
  __m128i* out = reinterpret_cast<__m128i*>(y);
  _mm_storeu_si128(out, _mm_unpacklo_epi16(ab0, cd0));
  _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(ab0, cd0));
  _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(ab1, cd1));
  _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(ab1, cd1));
}
