// How the products of exact integer Winograd are cut into tiles. An ISA's file includes this inside its own anonymous
// namespace behind
//   kMostTiles, kMostPanels    most tiles and panels (1 or 2) whose sums fit the registers together
//   tile<kTiles, kPanels>(args, x, w, sum)    the product of one position; x, w and sum: of the first tile

/// The tile of n <= kTiles tiles.
template <int kTiles, int kPanels>
static void tile_of(int n, const WinogradProductArgs& a, const int16_t* x, const int16_t* w, int32_t* sum) {
  if constexpr (kTiles > 1) {
    if (n < kTiles) return tile_of<kTiles - 1, kPanels>(n, a, x, w, sum);
  }
  tile<kTiles, kPanels>(a, x, w, sum);
}

/// Tiles in groups of at most kMostTiles, as even as possible; a position's weights stay in the first-level cache
/// meanwhile.
template <int kPanels>
static void product_of(const WinogradProductArgs& a, int positions) {
  const int groups = (a.tiles + kMostTiles - 1) / kMostTiles;
  const int16_t *x = a.v, *w = a.u;
  int32_t* sum = a.sum;
  for (int p = 0; p < positions; ++p, x += a.v_position, w += a.u_position, sum += a.sum_position) {
    for (int g = groups, first = 0; g > 0; --g) {
      const int n = (a.tiles - first + g - 1) / g;
      tile_of<kMostTiles, kPanels>(n, a, x + 8 * first, w, sum + kWinogradPanel * first);
      first += n;
    }
  }
}

static void product(const WinogradProductArgs& a, int positions) {
  if constexpr (kMostPanels == 2) {
    if (a.panels == 2) return product_of<2>(a, positions);
  }
  product_of<1>(a, positions);
}
