// Depthwise on pmaddubsw: two taps at once, their bytes interleaved in registers; sums stay in int16 within a group,
// and two groups are widened together. Two neighbouring outputs of 8 channels fill a register, four share their
// weights.
#include "kernels/sse41/conv_store.h"

namespace lq::sse41 {
namespace {

/// Input pixels of 2 outputs, `step` bytes apart.
template <bool kNeighbours>
[[gnu::always_inline]] static inline __m128i load_pixels(const uint8_t* x, ptrdiff_t step) {
  if (kNeighbours) return load_128(x);
  return _mm_unpacklo_epi64(load_64(x), load_64(x + step));
}

/// int16 sums of 2 · kVectors outputs.
template <int kVectors>
struct Sums {
  __m128i first[kVectors], second[kVectors];
};

template <bool kNeighbours, int kVectors>
[[gnu::always_inline]] static inline Sums<kVectors> sum_group(const uint8_t* x, ptrdiff_t step, int pairs,
                                                              const int16_t* start, const int32_t*& at,
                                                              const int8_t*& w) {
  Sums<kVectors> s;
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) s.first[v] = s.second[v] = load_128(start);
  do {
    const __m128i weights = load_128(w);
    const uint8_t *one = x + at[0], *other = x + at[1];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const __m128i a = load_pixels<kNeighbours>(one + 2 * step * v, step),
                    b = load_pixels<kNeighbours>(other + 2 * step * v, step);
      s.first[v] = _mm_add_epi16(s.first[v], _mm_maddubs_epi16(_mm_unpacklo_epi8(a, b), weights));
      s.second[v] = _mm_add_epi16(s.second[v], _mm_maddubs_epi16(_mm_unpackhi_epi8(a, b), weights));
    }
    at += 2, w += 16;
  } while (--pairs > 0);
  return s;
}

/// acc[0], acc[1] += channels 0–3 and 4–7 of two groups' int16 sums.
[[gnu::always_inline]] static inline void widen(__m128i (&acc)[2], __m128i s, __m128i t) {
  const __m128i ones = _mm_set1_epi16(1);
  acc[0] = _mm_add_epi32(acc[0], _mm_madd_epi16(_mm_unpacklo_epi16(s, t), ones));
  acc[1] = _mm_add_epi32(acc[1], _mm_madd_epi16(_mm_unpackhi_epi16(s, t), ones));
}

/// `n` outputs, 2 · kVectors − 1 or 2 · kVectors of them.
template <bool kNeighbours, int kVectors>
[[gnu::always_inline]] static inline void tile(const DepthwiseTapsArgs& a, const S8Store<1>& out, const uint8_t* x,
                                               ptrdiff_t y_at, int n) {
  __m128i acc[2 * kVectors][2];
#pragma GCC unroll 4
  for (int p = 0; p < 2 * kVectors; ++p) {
    acc[p][0] = load_128(a.epilogue.bias), acc[p][1] = load_128(a.epilogue.bias + 4);
  }
  const int32_t* at = a.at;
  const int8_t* w = a.w;
  const ptrdiff_t step = a.geometry.x_col;
  for (int g = 0; g < a.groups; g += 2) {
    const Sums<kVectors> s = sum_group<kNeighbours, kVectors>(x, step, a.group[g], a.start + 8 * g, at, w);
    Sums<kVectors> t;
    if (g + 1 < a.groups) {
      t = sum_group<kNeighbours, kVectors>(x, step, a.group[g + 1], a.start + 8 * g + 8, at, w);
    } else {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) t.first[v] = t.second[v] = _mm_setzero_si128();
    }
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      widen(acc[2 * v], s.first[v], t.first[v]);
      widen(acc[2 * v + 1], s.second[v], t.second[v]);
    }
  }
#pragma GCC unroll 2
  for (int p = 0; p < 2 * kVectors; p += 2, y_at += 16) {
    const bool both = n > p + 1;
    if (both && !a.epilogue.float_output) {
      out.store_two(acc[p], acc[p + 1], y_at, y_at + 8);
    } else {
      out.store(acc[p], y_at);
      if (both) out.store(acc[p + 1], y_at + 8);
    }
  }
}

template <bool kNeighbours>
void run(const DepthwiseTapsArgs& a) {
  const PanelGeometry& g = a.geometry;
  const S8Store<1> out(g, a.epilogue);
  for (int r = 0; r < g.rows; ++r) {
    const uint8_t* x = a.x + r * g.x_row;
    ptrdiff_t y = r * g.y_row;
    int left = g.cols;
    for (; left > 2; left -= 4, x += 4 * g.x_col, y += 32) tile<kNeighbours, 2>(a, out, x, y, left);
    if (left > 0) tile<kNeighbours, 1>(a, out, x, y, left);
  }
}

}  // namespace

void depthwise_taps_u8(const DepthwiseTapsArgs& a) { a.geometry.x_col == 8 ? run<true>(a) : run<false>(a); }

}  // namespace lq::sse41
