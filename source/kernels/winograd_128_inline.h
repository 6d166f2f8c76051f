// The transforms of exact integer Winograd on vectors of 128 bits, written once: inputs first the columns of a row of
// tiles, a pixel of 8 channels a vector, then the rows; weights 8 (output channel, input channel) pairs a vector;
// outputs 4 channels a vector. An ISA's file includes this inside its own anonymous namespace behind the S16 (8 lanes)
// and S32 of winograd_inline.h and
//   splat(int16), load(const int16_t*)    a vector of int16
//   difference(const int8_t* q, zero)     8 widened bytes minus a splat of int8
//   with_store(geometry, epilogue, f)     calls f(s) with what stores 8 channels from two vectors of sums:
//                                         s.store(sums, pixel), s.store_two(sums, next sums, pixel)

#include "kernels/winograd_inline.h"

/// Columns [begin, end) of the input, transformed, to columns of `out`: [column][m + 2][8 channels]. row[i]: input row
/// i of the tile, pixel 0.
template <int kM>
static void transform_columns(const int8_t* const (&row)[kM + 2], int begin, int end, int32_t zero_point,
                              int16_t* out) {
  constexpr int kSize = kM + 2;
  const S16 zero = splat(int16_t(zero_point));
  for (int c = begin; c < end; ++c, out += 8 * kSize) {
    S16 d[kSize], v[kSize];
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) d[i] = difference(row[i] + 8 * ptrdiff_t(c), zero);
    transform_input<kM>(d, v);
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) store(out + 8 * i, v[i]);
  }
}

/// The exact sums of a tile's outputs of 4 channels, bias added, at acc + 2 · (output).
template <int kM>
[[gnu::always_inline]] static inline void finish_tile(const int32_t* sum, ptrdiff_t sum_position, S32 bias, S32* acc) {
  S32 half[kM][kM + 2];
  transform_sum_columns<kM>(sum, sum_position, half);
#pragma GCC unroll 4
  for (int i = 0; i < kM; ++i) {
    S32 y[kM];
    finish_row<kM>(half, i, bias, y);
#pragma GCC unroll 4
    for (int j = 0; j < kM; ++j) acc[2 * (kM * i + j)] = y[j];
  }
}

/// 8 of the 16 channels.
template <int kM>
static void output_half(const WinogradOutputArgs& a, const PanelGeometry& g, const Epilogue& e, const int32_t* sum) {
  const S32 bias[2] = {load_sums(e.bias), load_sums(e.bias + 4)};
  with_store(g, e, [&](const auto& out) {
    for (int t = 0; t < a.tiles; ++t, sum += kWinogradPanel) {
      S32 acc[kM * kM][2];
      for (int h = 0; h < 2; ++h) finish_tile<kM>(sum + 4 * h, a.sum_position, bias[h], &acc[0][h]);
      const int count = a.cols - t * kM < kM ? a.cols - t * kM : kM;
      for (int i = 0; i < kM && i < a.rows; ++i) {
        const ptrdiff_t pixel = i * a.y_row + 8 * t * kM;
        if (!e.float_output && count == kM) {
          for (int j = 0; j < kM; j += 2) out.store_two(acc[kM * i + j], acc[kM * i + j + 1], pixel + 8 * j);
        } else {
          for (int j = 0; j < count; ++j) out.store(acc[kM * i + j], pixel + 8 * j);
        }
      }
    }
  });
}

#include "kernels/winograd_rows_inline.h"

template <int kM>
static void input(const WinogradInputArgs& a) {
  constexpr int kSize = kM + 2;
  input_columns<kM>(a);
  for (int t = 0; t < a.tiles; ++t) {
    const int16_t* tile = a.rows + ptrdiff_t(t) * kM * kSize * 8;
    for (int i = 0; i < kSize; ++i) {
      S16 d[kSize], v[kSize];
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) d[j] = load(tile + (j * kSize + i) * 8);
      transform_input<kM>(d, v);
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) store(a.v + 8 * t + (i * kSize + j) * a.v_position, v[j]);
    }
  }
}
