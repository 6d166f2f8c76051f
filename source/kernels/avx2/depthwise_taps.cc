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
[[gnu::always_inline]] static inline __m256i load_pixels(const uint8_t* x, ptrdiff_t step) {
  if constexpr (kStep == 8) return load_256(x);
  if constexpr (kStep == 16) return _mm256_unpacklo_epi64(load_256(x), load_256(x + 32));
  int64_t v[4];
  for (int i = 0; i < 4; ++i) __builtin_memcpy(&v[i], x + i * step, 8);
  return _mm256_setr_epi64x(v[0], v[1], v[2], v[3]);
}

/// int16 sums of 4 outputs: the first and the second 8 bytes of each lane.
struct Sums {
  __m256i low, high;
};

template <int kStep>
[[gnu::always_inline]] static inline Sums sum_group(const uint8_t* x, ptrdiff_t step, int pairs, const int16_t* start,
                                                    const int32_t*& at, const int8_t*& w) {
  Sums s{both_lanes(start), both_lanes(start)};
  do {
    const __m256i first = load_pixels<kStep>(x + at[0], step), second = load_pixels<kStep>(x + at[1], step),
                  weights = both_lanes(w);
    s.low = _mm256_add_epi16(s.low, _mm256_maddubs_epi16(_mm256_unpacklo_epi8(first, second), weights));
    s.high = _mm256_add_epi16(s.high, _mm256_maddubs_epi16(_mm256_unpackhi_epi8(first, second), weights));
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

/// `n` (1…4) outputs from y on.
template <int kStep>
[[gnu::always_inline]] static inline void tile(const DepthwiseTapsArgs& a, const Constants& k, const uint8_t* x,
                                               ptrdiff_t y_at, int n) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i acc[2][2] = {{k.bias[0], k.bias[1]}, {k.bias[0], k.bias[1]}};  // [low or high][channels 0–3 or 4–7]
  const int32_t* at = a.at;
  const int8_t* w = a.w;
  const ptrdiff_t step = a.geometry.x_col;
  for (int g = 0; g < a.groups; g += 2) {
    const Sums s = sum_group<kStep>(x, step, a.group[g], a.start + 8 * g, at, w);
    Sums t{_mm256_setzero_si256(), _mm256_setzero_si256()};
    if (g + 1 < a.groups) t = sum_group<kStep>(x, step, a.group[g + 1], a.start + 8 * g + 8, at, w);
    acc[0][0] = _mm256_add_epi32(acc[0][0], _mm256_madd_epi16(_mm256_unpacklo_epi16(s.low, t.low), ones));
    acc[0][1] = _mm256_add_epi32(acc[0][1], _mm256_madd_epi16(_mm256_unpackhi_epi16(s.low, t.low), ones));
    acc[1][0] = _mm256_add_epi32(acc[1][0], _mm256_madd_epi16(_mm256_unpacklo_epi16(s.high, t.high), ones));
    acc[1][1] = _mm256_add_epi32(acc[1][1], _mm256_madd_epi16(_mm256_unpackhi_epi16(s.high, t.high), ones));
  }
  if (a.epilogue.float_output) {
    for (int i = 0; i < n; ++i) {
      const int half = kStep == 16 ? i / 2 : i % 2;  // where output i lies: [half], lane
      const bool upper = kStep == 16 ? i % 2 == 1 : i >= 2;
      const __m256i v = upper ? _mm256_permute2x128_si256(acc[half][0], acc[half][1], 0x31)
                              : _mm256_permute2x128_si256(acc[half][0], acc[half][1], 0x20);
      k.one.store_float(&v, y_at + 8 * i);
    }
    return;
  }
  __m256i q16[2];
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h)
    q16[h] = _mm256_adds_epi16(_mm256_packs_epi32(k.scale(acc[h][0], 0), k.scale(acc[h][1], 1)), k.zero_point);
  __m256i q = _mm256_max_epi8(_mm256_packs_epi16(q16[0], q16[1]), k.smallest);
  q = _mm256_or_si256(_mm256_and_si256(q, k.lanes), k.empty);
  if (kStep == 16) q = _mm256_permute4x64_epi64(q, 0xD8);
  int8_t* y = static_cast<int8_t*>(a.geometry.y) + y_at;
  if (n == 4) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), q);
    return;
  }
  if (n >= 2) _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_castsi256_si128(q));
  if (n == 1) S8Store<1>::store_low(y, _mm256_castsi256_si128(q));
  if (n == 3) S8Store<1>::store_low(y + 16, _mm256_extracti128_si256(q, 1));
}

template <int kStep>
void run(const DepthwiseTapsArgs& a) {
  const PanelGeometry& g = a.geometry;
  const Constants constants(g, a.epilogue);
  for (int r = 0; r < g.rows; ++r) {
    const uint8_t* x = a.x + r * g.x_row;
    ptrdiff_t y = r * g.y_row;
    for (int c = 0; c < g.cols; c += 4, x += 4 * g.x_col, y += 32)
      tile<kStep>(a, constants, x, y, g.cols - c < 4 ? g.cols - c : 4);
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
