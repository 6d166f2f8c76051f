// Layout conversion of bytes by SSE2, which every x86 folder has, and of what is left behind whole vectors. An ISA's
// file includes this inside its own anonymous namespace (so that no linker mixes code of two ISAs).

/// Eight rows of eight bytes -> eight columns, two to a register: out[k] holds columns 2k and 2k+1.
static inline void transpose_8x8_bytes(const __m128i row[8], __m128i out[4]) {
  const __m128i a = _mm_unpacklo_epi8(row[0], row[1]), b = _mm_unpacklo_epi8(row[2], row[3]);
  const __m128i c = _mm_unpacklo_epi8(row[4], row[5]), d = _mm_unpacklo_epi8(row[6], row[7]);
  const __m128i ab0 = _mm_unpacklo_epi16(a, b), ab1 = _mm_unpackhi_epi16(a, b);
  const __m128i cd0 = _mm_unpacklo_epi16(c, d), cd1 = _mm_unpackhi_epi16(c, d);
  out[0] = _mm_unpacklo_epi32(ab0, cd0);
  out[1] = _mm_unpackhi_epi32(ab0, cd0);
  out[2] = _mm_unpacklo_epi32(ab1, cd1);
  out[3] = _mm_unpackhi_epi32(ab1, cd1);
}

template <typename T>
static inline void to_blocked_tail(const T* x, int64_t x_stride, int channels, T* y, int64_t begin, int64_t count,
                                   T fill) {
  for (int64_t i = begin; i < count; ++i) {
    for (int c = 0; c < channels; ++c) y[i * kBlock + c] = x[c * x_stride + i];
    for (int c = channels; c < kBlock; ++c) y[i * kBlock + c] = fill;
  }
}

template <typename T>
static inline void to_linear_tail(const T* x, T* y, int64_t y_stride, int channels, int64_t begin, int64_t count) {
  for (int c = 0; c < channels; ++c) {
    for (int64_t i = begin; i < count; ++i) y[c * y_stride + i] = x[i * kBlock + c];
  }
}

static inline void blocked_bytes(const uint8_t* x, int64_t x_stride, int channels, uint8_t* y, int64_t count,
                                 uint8_t fill) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m128i row[8], out[4];
    for (int c = 0; c < kBlock; ++c) {
      row[c] = c < channels ? _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + c * x_stride + i))
                            : _mm_set1_epi8(static_cast<char>(fill));
    }
    transpose_8x8_bytes(row, out);
    for (int k = 0; k < 4; ++k) _mm_storeu_si128(reinterpret_cast<__m128i*>(y + (i + 2 * k) * kBlock), out[k]);
  }
  to_blocked_tail(x, x_stride, channels, y, i, count, fill);
}

static inline void linear_bytes(const uint8_t* x, uint8_t* y, int64_t y_stride, int channels, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m128i row[8], out[4];
    for (int k = 0; k < 8; ++k) row[k] = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + (i + k) * kBlock));
    transpose_8x8_bytes(row, out);
    for (int c = 0; c < channels; ++c) {
      const __m128i v = (c & 1) != 0 ? _mm_unpackhi_epi64(out[c / 2], out[c / 2]) : out[c / 2];
      _mm_storel_epi64(reinterpret_cast<__m128i*>(y + c * y_stride + i), v);
    }
  }
  to_linear_tail(x, y, y_stride, channels, i, count);
}
