// The 1-D transforms of Winograd (docs/NUMERICS.md), written once for every vector type. An ISA's file includes this
// inside its own anonymous namespace behind functions add(a, b), sub(a, b) and shl<n>(a) on its vectors of int16 (S16)
// and int32 (S32), and of S32 load_sums(p), times(a, factor) and shift_right(a, bits). m = 4 and 2 outputs a dimension;
// the scalar twin has the matrices themselves.

/// Bᵀ d.
template <int kM, typename V>
[[gnu::always_inline]] static inline void transform_input(const V* d, V* v) {
  if constexpr (kM == 4) {
    const V d1 = shl<2>(d[1]), d2 = shl<2>(d[2]);
    v[0] = add(sub(shl<2>(d[0]), add(d2, d[2])), d[4]);
    const V even = sub(d[4], d2), odd = sub(d[3], d1);
    v[1] = add(even, odd);
    v[2] = sub(even, odd);
    const V even2 = sub(d[4], d[2]), difference = sub(d[3], d[1]), odd2 = add(difference, difference);
    v[3] = add(even2, odd2);
    v[4] = sub(even2, odd2);
    v[5] = add(sub(d1, add(shl<2>(d[3]), d[3])), d[5]);
  } else {
    v[0] = sub(d[0], d[2]);
    v[1] = add(d[1], d[2]);
    v[2] = sub(d[2], d[1]);
    v[3] = sub(d[1], d[3]);
  }
}

/// G g.
template <int kM, typename V>
[[gnu::always_inline]] static inline void transform_weights(const V* g, V* u) {
  const V ends = add(g[0], g[2]);
  u[1] = add(ends, g[1]);
  u[2] = sub(ends, g[1]);
  if constexpr (kM == 4) {
    const V wide = add(g[0], shl<2>(g[2])), middle = add(g[1], g[1]);
    u[0] = g[0];
    u[3] = add(wide, middle);
    u[4] = sub(wide, middle);
    u[5] = g[2];
  } else {
    u[0] = add(g[0], g[0]);
    u[3] = add(g[2], g[2]);
  }
}

/// Aᵀ s; result i is 2^output_shift(i) times the true one (m = 4: 3 · 2^output_shift(i)).
template <int kM, typename V>
[[gnu::always_inline]] static inline void transform_output(const V* s, V* y) {
  const V sum = add(s[1], s[2]), difference = sub(s[1], s[2]);
  if constexpr (kM == 4) {
    const V outer_sum = add(s[3], s[4]), outer_difference = sub(s[3], s[4]);
    const V first = sub(add(add(s[0], s[0]), s[0]), add(sum, sum));
    const V last = add(outer_difference, add(add(s[5], s[5]), s[5]));
    y[0] = add(outer_sum, add(first, first));
    y[1] = sub(outer_difference, add(difference, difference));
    y[2] = sub(outer_sum, sum);
    y[3] = sub(add(last, last), difference);
  } else {
    y[0] = add(s[0], sum);
    y[1] = sub(difference, s[3]);
  }
}
template <int kM>
constexpr int output_shift(int i) {
  return kM == 2 ? 1 : i == 0 ? 3 : i == 1 ? 2 : 1;
}

/// Family "winograd_weights".
template <int kM>
static void weights(const WinogradWeightsArgs& a) {
  constexpr int kSize = kM + 2, kPairLanes = 2 * kWinogradPanel;
  for (int lane = 0; lane < kPairLanes * a.pairs; lane += S16::kLanes) {
    const int8_t* w = a.w + lane / kPairLanes * ptrdiff_t(kWinogradPairBytes) + lane % kPairLanes;
    S16 columns[3][kSize];
#pragma GCC unroll 3
    for (int s = 0; s < 3; ++s) {
      const S16 g[3] = {widen(w + s * kPairLanes), widen(w + (3 + s) * kPairLanes), widen(w + (6 + s) * kPairLanes)};
      transform_weights<kM>(g, columns[s]);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) {
      const S16 g[3] = {columns[0][i], columns[1][i], columns[2][i]};
      S16 u[kSize];
      transform_weights<kM>(g, u);
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) store(a.u + (i * kSize + j) * a.u_position + lane, u[j]);
    }
  }
}

/// Columns of a tile's sums, transformed: half[i][j] is what column j gives to output row i. The sum of position (i, j)
/// of the tile lies at sum + (i·(m + 2) + j)·position.
template <int kM>
[[gnu::always_inline]] static inline void transform_sum_columns(const int32_t* sum, ptrdiff_t position,
                                                                S32 (&half)[kM][kM + 2]) {
  constexpr int kSize = kM + 2;
#pragma GCC unroll 6
  for (int j = 0; j < kSize; ++j) {
    S32 s[kSize], y[kM];
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) s[i] = load_sums(sum + (i * kSize + j) * position);
    transform_output<kM>(s, y);
#pragma GCC unroll 4
    for (int i = 0; i < kM; ++i) half[i][j] = y[i];
  }
}

/// The exact sums of output row i of a tile, bias added.
template <int kM>
[[gnu::always_inline]] static inline void finish_row(const S32 (&half)[kM][kM + 2], int i, S32 bias, S32 (&y)[kM]) {
  constexpr int32_t kInverseOf9 = 954437177;  // modulo 2^32
  transform_output<kM>(half[i], y);
#pragma GCC unroll 4
  for (int j = 0; j < kM; ++j) {
    const S32 scaled = kM == 4 ? times(y[j], kInverseOf9) : y[j];
    y[j] = add(shift_right(scaled, output_shift<kM>(i) + output_shift<kM>(j)), bias);
  }
}
