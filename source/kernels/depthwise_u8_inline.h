// Rows of a depthwise layer side by side: what the vpdpbusd kernels share. An ISA's file includes it inside its own
// anonymous namespace (so that no linker mixes code of two ISAs).

/// y[32·p + 4·i + j] = rows[j][8·p + i] + 128 for p < pixels, i < 8, j < 4.
static inline void interleave_rows(const int8_t* const (&rows)[4], uint8_t* y, int pixels) {
  const __m128i half = _mm_set1_epi8(char(0x80));
  int p = 0;
  for (; p + 2 <= pixels; p += 2, y += 64) {  // 16 bytes of a row are two pixels
    __m128i v[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j)
      v[j] = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[j] + 8 * p)), half);
    const __m128i ab0 = _mm_unpacklo_epi8(v[0], v[1]), ab1 = _mm_unpackhi_epi8(v[0], v[1]);
    const __m128i cd0 = _mm_unpacklo_epi8(v[2], v[3]), cd1 = _mm_unpackhi_epi8(v[2], v[3]);
    __m128i* out = reinterpret_cast<__m128i*>(y);
    _mm_storeu_si128(out, _mm_unpacklo_epi16(ab0, cd0));
    _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(ab0, cd0));
    _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(ab1, cd1));
    _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(ab1, cd1));
  }
  if (p < pixels) {
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 4; ++j) y[4 * i + j] = uint8_t(rows[j][8 * p + i] ^ 0x80);
    }
  }
}

/// Pixels [begin, end) of a quad row become padding.
static inline void pad_pixels(uint8_t* y, int begin, int end, int32_t zero_point) {
  const __m128i v = _mm_set1_epi8(char(zero_point + 128));
  for (int p = 2 * begin; p < 2 * end; ++p) _mm_storeu_si128(reinterpret_cast<__m128i*>(y) + p, v);
}

/// All row quads of output row r. Rows outside the image get padding byte by byte of a quad: rare (the image's edge).
static inline void fill_quads(const DepthwiseU8Args& a, int r, int span) {
  const int quads = (a.taps_h + 3) / 4;
  const int begin = a.first_col < 0 ? (-a.first_col < span ? -a.first_col : span) : 0;
  int end = a.in_w - a.first_col;
  end = end < begin ? begin : end > span ? span : end;
  for (int q = 0; q < quads; ++q) {
    uint8_t* y = a.quads + ptrdiff_t(q) * span * 32;
    const int8_t* rows[4];
    int outside = 0;  // one bit a row of padding
    const int8_t* some = a.x;
    for (int j = 0; j < 4; ++j) {
      const int t = 4 * q + j < a.taps_h ? 4 * q + j : a.taps_h - 1;  // behind the last: any row, its weights are 0
      const int64_t row = int64_t(a.first_row) + int64_t(r) * a.stride_h + int64_t(t) * a.dilation_h;
      const bool inside = row >= 0 && row < a.in_h;
      outside |= inside ? 0 : 1 << j;
      rows[j] = inside ? a.x + (row * a.in_w + a.first_col + begin) * 8 : nullptr;
      if (inside) some = rows[j];
    }
    pad_pixels(y, 0, begin, a.zero_point);
    pad_pixels(y, end, span, a.zero_point);
    if (end == begin) continue;
    if (outside == 15) {
      pad_pixels(y, begin, end, a.zero_point);
      continue;
    }
    for (int j = 0; j < 4; ++j) {
      if (rows[j] == nullptr) rows[j] = some;
    }
    interleave_rows(rows, y + 32 * begin, end - begin);
    if (outside == 0) continue;
    uint32_t keep = 0, pad = 0;
    for (int j = 0; j < 4; ++j) {
      if (outside & 1 << j) {
        pad |= uint32_t(uint8_t(a.zero_point + 128)) << (8 * j);
      } else {
        keep |= 0xFFu << (8 * j);
      }
    }
    const __m128i keep4 = _mm_set1_epi32(int(keep)), pad4 = _mm_set1_epi32(int(pad));
    __m128i* out = reinterpret_cast<__m128i*>(y);
    for (int p = 2 * begin; p < 2 * end; ++p)
      _mm_storeu_si128(out + p, _mm_or_si128(_mm_and_si128(_mm_loadu_si128(out + p), keep4), pad4));
  }
}

/// Geometry of the stores.
static inline PanelGeometry output_geometry(const DepthwiseU8Args& a) {
  PanelGeometry g{};
  g.y = a.y;
  g.lanes = a.lanes;
  g.width = kBlock;
  g.y_blocked = true;
  return g;
}
