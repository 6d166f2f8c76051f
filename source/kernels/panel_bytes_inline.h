// The loop of a uint8 × int8 panel product, written once for the vector sizes that have vpdpbusd. An ISA's file
// includes it inside its own anonymous namespace (so that no linker mixes code of two ISAs) behind a struct `Vector`:
//   Vector::Int                 a vector of int32
//   kLanes                      how many
//   load(p), broadcast4(p)      unaligned vector; 4 bytes to every lane
//   dot(acc, u8, s8), pin(v)    acc + Σ of 4 products a lane; keeps v where it is computed
// and a struct `Store<kVectors>` with store_tile<kPixels>(acc, y_at).

/// One group of 4 channels for every pixel of the tile.
template <int kPixels, int kVectors>
[[gnu::always_inline]] static inline void add_quad(Vector::Int (&acc)[kPixels][kVectors],
                                                   const uint8_t* const (&x)[kPixels], ptrdiff_t offset,
                                                   const int8_t* w) {
  Vector::Int weights[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) weights[v] = Vector::load(w + 4 * Vector::kLanes * v);
#pragma GCC unroll 12
  for (int p = 0; p < kPixels; ++p) {
    const Vector::Int in = Vector::broadcast4(x[p] + offset);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      acc[p][v] = Vector::dot(acc[p][v], in, weights[v]);
      Vector::pin(acc[p][v]);
    }
  }
}

template <int kPixels, int kVectors>
__attribute__((noinline)) static void tile(const ConvByteArgs& a, const Store<kVectors>& out, const ptrdiff_t* x_at,
                                           const ptrdiff_t* y_at) {
  constexpr ptrdiff_t kQuad = 4 * Vector::kLanes * kVectors;  // bytes of a quad's weights
  const PanelGeometry& g = a.geometry;
  const uint8_t* x[kPixels];
  Vector::Int acc[kPixels][kVectors];
#pragma GCC unroll 12
  for (int p = 0; p < kPixels; ++p) {
    x[p] = a.x + x_at[p];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) acc[p][v] = Vector::load(a.epilogue.bias + Vector::kLanes * v);
  }
  const int8_t* w = a.w;
  ptrdiff_t block = 0;
  for (int b = 0; b < g.blocks; ++b, block += g.x_block) {
    for (int t = 0; t < g.taps; ++t, w += 2 * kQuad) {
      const ptrdiff_t offset = block + g.tap[t];
      add_quad<kPixels, kVectors>(acc, x, offset, w);
      add_quad<kPixels, kVectors>(acc, x, offset + 4, w + kQuad);
    }
  }
  const int tail_quads = (g.tail + 3) / 4;
  for (int t = 0; tail_quads > 0 && t < g.taps; ++t) {
    for (int j = 0; j < tail_quads; ++j, w += kQuad) {
      add_quad<kPixels, kVectors>(acc, x, block + g.tap[t] + 4 * j, w);
    }
  }
  out.template store_tile<kPixels>(acc, y_at);
}

/// The tile of `n` <= kPixels pixels.
template <int kPixels, int kVectors>
static void tile_of(int n, const ConvByteArgs& a, const Store<kVectors>& out, const ptrdiff_t* x_at,
                    const ptrdiff_t* y_at) {
  if constexpr (kPixels > 1) {
    if (n < kPixels) return tile_of<kPixels - 1, kVectors>(n, a, out, x_at, y_at);
  }
  tile<kPixels, kVectors>(a, out, x_at, y_at);
}

/// All pixels in row-major order, in tiles of at most kPixels and as even as possible: a tile of one or two pixels
/// would wait for the multiplier's latency.
template <int kPixels, int kVectors>
static void run(const ConvByteArgs& a) {
  const PanelGeometry& g = a.geometry;
  const Store<kVectors> out(g, a.epilogue);
  int row = 0, col = 0;
  const int64_t pixels = int64_t(g.rows) * g.cols;
  for (int64_t left = pixels, tiles = (pixels + kPixels - 1) / kPixels; left > 0; --tiles) {
    const int n = int((left + tiles - 1) / tiles);
    ptrdiff_t x_at[kPixels], y_at[kPixels];
    for (int p = 0; p < n; ++p) {
      x_at[p] = row * g.x_row + col * g.x_col;
      y_at[p] = row * g.y_row + col * g.y_col;
      if (++col == g.cols) col = 0, ++row;
    }
    tile_of<kPixels, kVectors>(n, a, out, x_at, y_at);
    left -= n;
  }
}
