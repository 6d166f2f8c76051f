// The products of exact integer Winograd on x86, written once for every vector size. An ISA's file includes this inside
// its own anonymous namespace behind a struct `Vector`:
//   Vector::Int                    a vector of int32
//   kLanes                         how many; kWinogradPanel / kLanes vectors a panel
//   kTiles, kPanels                most tiles and panels (1 or 2) whose sums fit the registers together
//   zero(), load(p), store(p, v), broadcast2(p)    unaligned vectors; 2 int16 to every lane
//   dot(acc, v, w), pin(v)         acc + Σ of 2 products a lane; keeps v where it is computed

constexpr int kVectors = kWinogradPanel / Vector::kLanes;

/// Where vector v of `kPanels` panels lies: panels `panel` elements apart, `vector` elements a vector within one.
[[gnu::always_inline]] static inline ptrdiff_t vector_at(int v, ptrdiff_t panel, int vector) {
  return v / kVectors * panel + v % kVectors * vector;
}

/// kPairs pairs of channels for every tile; x is their first value for tile 0, tiles 8 apart.
template <int kTiles, int kAll, int kPairs>
[[gnu::always_inline]] static inline void add_pairs(Vector::Int (&acc)[kTiles][kAll], const int16_t* x,
                                                    const int16_t* w, ptrdiff_t panel) {
#pragma GCC unroll 4
  for (int j = 0; j < kPairs; ++j) {
    Vector::Int weights[kAll];
#pragma GCC unroll 4
    for (int v = 0; v < kAll; ++v)
      weights[v] = Vector::load(w + 2 * kWinogradPanel * j + vector_at(v, panel, 2 * Vector::kLanes));
#pragma GCC unroll 12
    for (int t = 0; t < kTiles; ++t) {
      const Vector::Int in = Vector::broadcast2(x + 8 * t + 2 * j);
#pragma GCC unroll 4
      for (int v = 0; v < kAll; ++v) {
        acc[t][v] = Vector::dot(acc[t][v], in, weights[v]);
        Vector::pin(acc[t][v]);
      }
    }
  }
}

template <int kTiles, int kPanels>
__attribute__((noinline)) static void tile(const WinogradProductArgs& a, const int16_t* x, const int16_t* w,
                                           int32_t* sum) {
  constexpr int kAll = kVectors * kPanels;
  const ptrdiff_t panel = a.u_panel;
  Vector::Int acc[kTiles][kAll];
#pragma GCC unroll 12
  for (int t = 0; t < kTiles; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kAll; ++v) {
      const int32_t* from = sum + kWinogradPanel * t + vector_at(v, a.sum_panel, Vector::kLanes);
      acc[t][v] = a.accumulate ? Vector::load(from) : Vector::zero();
    }
  }
  for (int b = a.pairs / 4; b > 0; --b, x += a.v_block, w += 8 * kWinogradPanel)
    add_pairs<kTiles, kAll, 4>(acc, x, w, panel);
  for (int j = a.pairs % 4; j > 0; --j, x += 2, w += 2 * kWinogradPanel) add_pairs<kTiles, kAll, 1>(acc, x, w, panel);
#pragma GCC unroll 12
  for (int t = 0; t < kTiles; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kAll; ++v)
      Vector::store(sum + kWinogradPanel * t + vector_at(v, a.sum_panel, Vector::kLanes), acc[t][v]);
  }
}

constexpr int kMostTiles = Vector::kTiles, kMostPanels = Vector::kPanels;

#include "kernels/winograd_tiles_inline.h"
