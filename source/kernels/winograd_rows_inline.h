// What the two vector ISAs with vectors of 8 and 4 channels share of Winograd beside the transforms: the columns of a
// row of tiles with their padding, and the halves of 16 output channels. An ISA's file includes this inside its own
// anonymous namespace behind its transform_columns<m>() and output_half<m>().

/// All columns of a row of tiles, transformed, at a.rows: [column][m + 2][8 channels].
template <int kM>
static inline void input_columns(const WinogradInputArgs& a) {
  constexpr int kSize = kM + 2;
  const int width = a.tiles * kM + 2;
  const int begin = a.first_col < 0 ? 0 : a.first_col;
  const int last = a.first_col + width;
  const int end = last < a.in_w ? (last < begin ? begin : last) : (a.in_w < begin ? begin : a.in_w);
  int16_t* const columns = a.rows;
  int8_t* const padding = reinterpret_cast<int8_t*>(columns + ptrdiff_t(kSize) * 8 * width);
  const int8_t* row[kSize];
  bool padded = false;
  for (int i = 0; i < kSize; ++i) {
    const int at = a.first_row + i;
    const bool inside = at >= 0 && at < a.in_h;
    row[i] = inside ? a.x + ptrdiff_t(at) * a.in_w * 8 : padding;
    padded |= !inside;
  }
  if (padded) __builtin_memset(padding, int(a.zero_point), size_t(a.in_w) * 8);
  // Columns outside the image are zero, and so is their transform.
  const int left = end > begin ? begin - a.first_col : width;
  __builtin_memset(columns, 0, size_t(left) * kSize * 16);
  if (end > begin) {
    transform_columns<kM>(row, begin, end, a.zero_point, columns + ptrdiff_t(left) * kSize * 8);
    const int right = end - a.first_col;
    __builtin_memset(columns + ptrdiff_t(right) * kSize * 8, 0, size_t(width - right) * kSize * 16);
  }
}

template <int kM>
void output(const WinogradOutputArgs& a) {
  PanelGeometry g{};
  g.y_blocked = true;
  g.y_block = a.y_block;
  Epilogue e = a.epilogue;
  for (int h = 0; h < 2 && a.lanes > 8 * h; ++h) {
    g.lanes = a.lanes - 8 * h < 8 ? a.lanes - 8 * h : 8;
    g.y = static_cast<char*>(a.y) + h * a.y_block * (e.float_output ? 4 : 1);
    e.bias = a.epilogue.bias + 8 * h;
    e.multiplier = a.epilogue.multiplier + 8 * h;
    output_half<kM>(a, g, e, a.sum + 8 * h);
  }
}
