// Rows of a depthwise layer side by side: what the dot-product kernels share. An ISA's file includes it inside its own
// anonymous namespace (so that no linker mixes code of two ISAs), behind
//   kOffset                    what is added to q: 128 (uint8) or 0 (int8)
//   interleave_two(rows, p, y) y[32·k + 4·i + j] = rows[j][8·(p + k) + i] + kOffset for k < 2, i < 8, j < 4

static inline void interleave_rows(const int8_t* const (&rows)[4], uint8_t* y, int pixels) {
  int p = 0;
  for (; p + 2 <= pixels; p += 2) interleave_two(rows, p, y + ptrdiff_t(p) * 32);
  if (p == pixels) return;
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 4; ++j) y[ptrdiff_t(p) * 32 + 4 * i + j] = uint8_t(rows[j][ptrdiff_t(8) * p + i] + kOffset);
  }
}

/// Pixels [begin, end) of a quad row become padding.
static inline void pad_pixels(uint8_t* y, int begin, int end, int32_t zero_point) {
  __builtin_memset(y + ptrdiff_t(begin) * 32, uint8_t(zero_point + kOffset), size_t(end - begin) * 32);
}

/// All row quads of output row r. Where only some rows of a quad lie outside the image (its upper and lower edge),
/// those bytes are overwritten.
static inline void fill_quads(const DepthwiseByteArgs& a, int r, int span) {
  const int quads = (a.taps_h + 3) / 4;
  const int begin = a.first_col < 0 ? (-a.first_col < span ? -a.first_col : span) : 0;
  int end = a.in_w - a.first_col;
  end = end < begin ? begin : end > span ? span : end;
  for (int q = 0; q < quads; ++q) {
    uint8_t* y = a.quads + ptrdiff_t(q) * span * 32;
    const int8_t* rows[4];
    bool outside[4];
    const int8_t* some = nullptr;
    for (int j = 0; j < 4; ++j) {
      const int t = 4 * q + j < a.taps_h ? 4 * q + j : a.taps_h - 1;  // behind the last: any row, its weights are 0
      const int64_t row = int64_t(a.first_row) + int64_t(r) * a.stride_h + int64_t(t) * a.dilation_h;
      outside[j] = row < 0 || row >= a.in_h;
      rows[j] = outside[j] ? nullptr : a.x + (row * a.in_w + a.first_col + begin) * 8;
      if (!outside[j]) some = rows[j];
    }
    pad_pixels(y, 0, begin, a.zero_point);
    pad_pixels(y, end, span, a.zero_point);
    if (some == nullptr) pad_pixels(y, begin, end, a.zero_point);
    if (some == nullptr || end == begin) continue;
    for (int j = 0; j < 4; ++j) {
      if (outside[j]) rows[j] = some;
    }
    interleave_rows(rows, y + ptrdiff_t(begin) * 32, end - begin);
    for (int j = 0; j < 4; ++j) {
      if (!outside[j]) continue;
      for (ptrdiff_t i = ptrdiff_t(begin) * 8; i < ptrdiff_t(end) * 8; ++i)
        y[4 * i + j] = uint8_t(a.zero_point + kOffset);
    }
  }
}

/// Geometry of the stores.
static inline PanelGeometry output_geometry(const DepthwiseByteArgs& a) {
  PanelGeometry g{};
  g.y = a.y;
  g.lanes = a.lanes;
  g.width = kBlock;
  g.y_blocked = true;
  return g;
}
