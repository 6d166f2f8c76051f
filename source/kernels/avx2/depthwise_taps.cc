// Depthwise on vpmaddubsw: two taps at once, their bytes interleaved in registers; sums stay in int16 within a group,
// and two groups are widened together. Four neighbouring outputs of 8 channels fill a register.
#include "kernels/avx2/conv_store.h"

namespace lq::avx2 {
namespace {

[[gnu::always_inline]] static inline __m256i both_lanes(const void* p) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}

/// Input pixels of 4 outputs, `step` bytes apart. kStep 16: outputs 0, 2 | 1, 3 by lane; else in order.
template <int kStep>
[[gnu::always_inline]] static inline __m256i load_pixels(const uint8_t* x, [[maybe_unused]] ptrdiff_t step) {
  if constexpr (kStep == 8) return load_256(x);
  if constexpr (kStep == 16) return _mm256_unpacklo_epi64(load_256(x), load_256(x + 32));
  int64_t v[4];
  for (int i = 0; i < 4; ++i) __builtin_memcpy(&v[i], x + i * step, 8);
  return _mm256_setr_epi64x(v[0], v[1], v[2], v[3]);
}

/// int16 sums of 4 · kVectors outputs: the first and the second 8 bytes of each lane.
template <int kVectors>
struct Sums {
  __m256i low[kVectors], high[kVectors];
};

template <int kStep, int kVectors>
[[gnu::always_inline]] static inline Sums<kVectors> sum_group(const uint8_t* x, ptrdiff_t step, int pairs,
                                                              const int16_t* start, const int32_t*& at,
                                                              const int8_t*& w) {
  Sums<kVectors> s;
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) s.low[v] = s.high[v] = both_lanes(start);
  do {
    const __m256i weights = both_lanes(w);
    const uint8_t *first = x + at[0], *second = x + at[1];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const __m256i a = load_pixels<kStep>(first + 4 * step * v, step),
                    b = load_pixels<kStep>(second + 4 * step * v, step);
      s.low[v] = _mm256_add_epi16(s.low[v], _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), weights));
      s.high[v] = _mm256_add_epi16(s.high[v], _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), weights));
    }
    at += 2, w += 16;
  } while (--pairs > 0);
  return s;
}

/// Constants of the epilogue: channels 0–3 and 4–7 in both lanes.
struct Constants {
  S8Store<1> one;
  __m256i bias[2], zero_point, smallest, lanes, empty;
  __m256 multiplier[2];
  __attribute__((always_inline)) Constants(const PanelGeometry& g, const Epilogue& e) : one(g, e) {
    for (int h = 0; h < 2; ++h) {
      bias[h] = both_lanes(e.bias + 4 * h);
      multiplier[h] = _mm256_castsi256_ps(both_lanes(e.multiplier + 4 * h));
    }
    zero_point = _mm256_set1_epi16(int16_t(e.zero_point));
    smallest = _mm256_set1_epi8(int8_t(e.float_output ? 0 : int(e.low) + e.zero_point));
    lanes = _mm256_cmpgt_epi8(_mm256_set1_epi8(int8_t(g.lanes)), _mm256_set1_epi64x(0x0706050403020100));
    empty = _mm256_andnot_si256(lanes, _mm256_set1_epi8(int8_t(e.zero_point)));
  }
  /// As S8TileStore::scale: the lower bound is applied to the bytes.
  __attribute__((always_inline)) __m256i scale(__m256i acc, int h) const {
    const __m256 t = _mm256_mul_ps(_mm256_cvtepi32_ps(acc), multiplier[h]);
    return _mm256_cvtps_epi32(_mm256_min_ps(t, one.high));
  }
};

/// Accumulators of 4 outputs: [first or second 8 bytes of a lane][channels 0–3 or 4–7].
struct Four {
  __m256i acc[2][2];
  /// Two groups leave int16 together.
  [[gnu::always_inline]] inline void widen(__m256i s_low, __m256i s_high, __m256i t_low, __m256i t_high) {
    const __m256i ones = _mm256_set1_epi16(1);
    acc[0][0] = _mm256_add_epi32(acc[0][0], _mm256_madd_epi16(_mm256_unpacklo_epi16(s_low, t_low), ones));
    acc[0][1] = _mm256_add_epi32(acc[0][1], _mm256_madd_epi16(_mm256_unpackhi_epi16(s_low, t_low), ones));
    acc[1][0] = _mm256_add_epi32(acc[1][0], _mm256_madd_epi16(_mm256_unpacklo_epi16(s_high, t_high), ones));
    acc[1][1] = _mm256_add_epi32(acc[1][1], _mm256_madd_epi16(_mm256_unpackhi_epi16(s_high, t_high), ones));
  }
};

/// The first 4 of `n` outputs from y_at on; none if n < 1.
template <int kStep>
[[gnu::always_inline]] static inline void store(const Four& f, const Constants& k, const DepthwiseTapsArgs& a,
                                                ptrdiff_t y_at, int n) {
  if (a.epilogue.float_output) {
    for (int i = 0; i < (n < 4 ? n : 4); ++i) {
      const int half = kStep == 16 ? i / 2 : i % 2;  // where output i lies: [half], lane
      const bool upper = kStep == 16 ? i % 2 == 1 : i >= 2;
      const __m256i* v = f.acc[half];
      const __m256i one =
          upper ? _mm256_permute2x128_si256(v[0], v[1], 0x31) : _mm256_permute2x128_si256(v[0], v[1], 0x20);
      k.one.store_float(&one, y_at + 8 * i);
    }
    return;
  }
  __m256i q16[2];
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h)
    q16[h] = _mm256_adds_epi16(_mm256_packs_epi32(k.scale(f.acc[h][0], 0), k.scale(f.acc[h][1], 1)), k.zero_point);
  __m256i q = _mm256_max_epi8(_mm256_packs_epi16(q16[0], q16[1]), k.smallest);
  q = _mm256_or_si256(_mm256_and_si256(q, k.lanes), k.empty);
  if (kStep == 16) q = _mm256_permute4x64_epi64(q, 0xD8);
  int8_t* y = static_cast<int8_t*>(a.geometry.y) + y_at;
  if (n >= 4) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), q);
    return;
  }
  if (n >= 2) _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_castsi256_si128(q));
  if (n == 1) S8Store<1>::store_low(y, _mm256_castsi256_si128(q));
  if (n == 3) S8Store<1>::store_low(y + 16, _mm256_extracti128_si256(q, 1));
}

/// kPairs pairs, known when compiled: 3×3 taps as 4 + 5.
template <int kStep, int kVectors, int kPairs>
[[gnu::always_inline]] static inline Sums<kVectors> sum_pairs(const uint8_t* x, ptrdiff_t step, const int16_t* start,
                                                              const int32_t* at, const int8_t* w) {
  Sums<kVectors> s;
#pragma GCC unroll 3
  for (int p = 0; p < kPairs; ++p) {
    const __m256i weights = both_lanes(w + 16 * p);
    const uint8_t *first = x + at[2 * p], *second = x + at[2 * p + 1];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const __m256i a = load_pixels<kStep>(first + 4 * step * v, step),
                    b = load_pixels<kStep>(second + 4 * step * v, step);
      const __m256i low = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), weights),
                    high = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), weights);
      s.low[v] = _mm256_add_epi16(p == 0 ? both_lanes(start) : s.low[v], low);
      s.high[v] = _mm256_add_epi16(p == 0 ? both_lanes(start) : s.high[v], high);
    }
  }
  return s;
}

template <int kStep, int kVectors>
[[gnu::always_inline]] static inline void tile_of_nine(const DepthwiseTapsArgs& a, const Constants& k, const uint8_t* x,
                                                       ptrdiff_t y_at, int n) {
  const ptrdiff_t step = kStep == 0 ? a.geometry.x_col : kStep;
  const Sums<kVectors> s = sum_pairs<kStep, kVectors, 2>(x, step, a.start, a.at, a.w),
                       t = sum_pairs<kStep, kVectors, 3>(x, step, a.start + 8, a.at + 4, a.w + 32);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    Four out{{{k.bias[0], k.bias[1]}, {k.bias[0], k.bias[1]}}};
    out.widen(s.low[v], s.high[v], t.low[v], t.high[v]);
    store<kStep>(out, k, a, y_at + 32 * v, n - 4 * v);
  }
}

/// `n` outputs, 4 · kVectors − 3 … 4 · kVectors of them.
template <int kStep, int kVectors>
[[gnu::always_inline]] static inline void tile(const DepthwiseTapsArgs& a, const Constants& k, const uint8_t* x,
                                               ptrdiff_t y_at, int n) {
  Four out[kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    for (int h = 0; h < 2; ++h) out[v].acc[h][0] = k.bias[0], out[v].acc[h][1] = k.bias[1];
  }
  const int32_t* at = a.at;
  const int8_t* w = a.w;
  const ptrdiff_t step = a.geometry.x_col;
  for (int g = 0; g + 1 < a.groups; g += 2) {
    const Sums<kVectors> s = sum_group<kStep, kVectors>(x, step, a.group[g], a.start + 8 * g, at, w);
    const Sums<kVectors> t = sum_group<kStep, kVectors>(x, step, a.group[g + 1], a.start + 8 * g + 8, at, w);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) out[v].widen(s.low[v], s.high[v], t.low[v], t.high[v]);
  }
  if (a.groups % 2 == 1) {
    const int g = a.groups - 1;
    const Sums<kVectors> s = sum_group<kStep, kVectors>(x, step, a.group[g], a.start + 8 * g, at, w);
    const __m256i none = _mm256_setzero_si256();
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) out[v].widen(s.low[v], s.high[v], none, none);
  }
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) store<kStep>(out[v], k, a, y_at + 32 * v, n - 4 * v);
}

template <int kStep>
void run(const DepthwiseTapsArgs& a) {
  const PanelGeometry& g = a.geometry;
  const Constants constants(g, a.epilogue);
  const bool nine = a.groups == 2 && a.group[0] == 2 && a.group[1] == 3;
  for (int r = 0; r < g.rows; ++r) {
    const uint8_t* x = a.x + r * g.x_row;
    ptrdiff_t y = r * g.y_row;
    int left = g.cols;
    if (nine) {
      constexpr int kVectors = kStep == 8 ? 1 : 2;  // what measured faster
      for (; left > 4 * (kVectors - 1); left -= 4 * kVectors, x += 4 * kVectors * g.x_col, y += 32 * kVectors)
        tile_of_nine<kStep, kVectors>(a, constants, x, y, left);
      if (kVectors == 2 && left > 0) tile_of_nine<kStep, 1>(a, constants, x, y, left);
      continue;
    }
    for (; left > 4; left -= 8, x += 8 * g.x_col, y += 64) tile<kStep, 2>(a, constants, x, y, left);
    if (left > 0) tile<kStep, 1>(a, constants, x, y, left);
  }
}

}  // namespace

void depthwise_taps_u8(const DepthwiseTapsArgs& a) {
  switch (a.geometry.x_col) {
    case 8:
      return run<8>(a);
    case 16:
      return run<16>(a);
    default:
      return run<0>(a);
  }
}

}  // namespace lq::avx2
