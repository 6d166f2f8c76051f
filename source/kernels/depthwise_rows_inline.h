// Rows of a depthwise layer with their padding: what the kernels share that multiply one tap at a time. An ISA's file
// includes it inside its own anonymous namespace (so that no linker mixes code of two ISAs), behind
//   copy_pixels(out, x, pixels)  8 bytes each; rows are short, so a call of memcpy would cost more than the copy
//   rows_of_quad(w, out, step, rows)  out[r·step + i] = w[4·i + r] for i < 8, r < rows <= 4

/// Pixels [begin, end) of a row, which is aligned to pixels, become zp. There are few: a call of memset would cost
/// more.
static inline void pad_pixels(int8_t* out, int begin, int end, int32_t zero_point) {
  const uint64_t pixel = uint8_t(zero_point) * 0x0101010101010101u;
  for (int p = begin; p < end; ++p)
    __builtin_memcpy(__builtin_assume_aligned(out + ptrdiff_t(p) * 8, 8), &pixel, sizeof(pixel));
}

/// Row `row` of the plane, columns first_col … first_col + span − 1, zp outside.
static inline void copy_row(const DepthwiseByteArgs& a, int64_t row, int span, int8_t* out) {
  int begin = a.first_col < 0 ? (-a.first_col < span ? -a.first_col : span) : 0;
  int end = a.in_w - a.first_col;
  end = end < begin ? begin : end > span ? span : end;
  if (row < 0 || row >= a.in_h) begin = end = span;
  pad_pixels(out, 0, begin, a.zero_point);
  if (end > begin) copy_pixels(out + ptrdiff_t(begin) * 8, a.x + (row * a.in_w + a.first_col + begin) * 8, end - begin);
  pad_pixels(out, end, span, a.zero_point);
}

/// Weights of tap t as [8] behind one another, from [row quad][taps_w][8][4].
static inline void unpack_weights(const DepthwiseByteArgs& a, int8_t* out) {
  for (int h = 0; h < a.taps_h; h += 4) {
    const int rows = a.taps_h - h < 4 ? a.taps_h - h : 4;
    for (int t = 0; t < a.taps_w; ++t)
      rows_of_quad(a.w + ptrdiff_t(h / 4 * a.taps_w + t) * 32, out + ptrdiff_t(h * a.taps_w + t) * 8,
                   ptrdiff_t(a.taps_w) * 8, rows);
  }
}

/// What a tap reads, and where the next one is.
struct Taps {
  const int8_t* x;
  const int8_t* w;
  int row_left, taps_w;
  ptrdiff_t col_step, row_step;  // to the next tap of the row, from the last one to the next row's first
  [[gnu::always_inline]] void next() {
    w += 8;
    if (--row_left > 0) {
      x += col_step;
    } else {
      x += row_step;
      row_left = taps_w;
    }
  }
};
