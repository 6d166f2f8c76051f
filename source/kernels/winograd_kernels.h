// Arguments of the exact integer Winograd kernels (docs/NUMERICS.md, Winograd): plain data. A 3×3 convolution of stride
// 1 on tiles of m × m outputs, m = 2 or 4, each from (m + 2)² transformed input values: one multiplication a position
// and channel pair instead of 9·m². Four families; positions are numbered row by row in the transformed tile.
//   winograd_input    V = Bᵀ d B    d = q − zp, 0 outside the image; int16, no sum leaves it for 9-bit differences
//   winograd_weights  U = G g Gᵀ    G scaled to integers; int16 for any int8 weights
//   winograd23_s8, winograd43_s8    M = Σ over input channels of V·U at each position, modulo 2^32; …_s8x1: the weights
//                                   of two input channels do not alternate, for processors that multiply them singly
//   winograd_output   y = Aᵀ M A divided by the scale of G modulo 2^32, then the epilogue
#pragma once
#include "kernels/kernel_types.h"

namespace lq {

[[gnu::always_inline]] constexpr int winograd_positions(int m) { return (m + 2) * (m + 2); }

/// Output channels of a panel, and what winograd_weights reads for two input channels of it.
constexpr int kWinogradPanel = 16;
constexpr int kWinogradPairBytes = 9 * kWinogradPanel * 2;

/// Family "winograd_input": one row of tiles of one block of 8 channels. The rows and columns a tile reads begin
/// at first_row and first_col + m · (its number) and may lie outside the image.
struct WinogradInputArgs {
  const int8_t* x;  // the block's plane, in_h × in_w pixels
  int32_t in_h, in_w;
  int32_t first_row, first_col;
  int32_t tiles;
  int32_t m;
  int32_t zero_point;
  int16_t* v;            // position p of tile t: 8 values at v + p · v_position + 8 · t
  ptrdiff_t v_position;  // elements
  int16_t* rows;         // scratch, winograd_row_scratch(…) elements
};
using WinogradInputFn = void (*)(const WinogradInputArgs& args);

/// The transformed columns of a row of tiles, and one input row of zero points.
[[gnu::always_inline]] constexpr int64_t winograd_row_scratch(int64_t tiles, int64_t in_w, int m) {
  return (m + 2) * 8 * (tiles * m + 2) + (in_w + 1) * 4;
}

/// Family "winograd_weights": w [pairs of input channels][9 taps][16 output channels][2],
/// u [position][pairs][16 output channels][2], positions u_position elements apart. For s8x1 both end in [2][16 output
/// channels]: lanes stay what they are.
struct WinogradWeightsArgs {
  const int8_t* w;
  int32_t pairs;
  int32_t m;
  int16_t* u;
  ptrdiff_t u_position;
};
using WinogradWeightsFn = void (*)(const WinogradWeightsArgs& args);

/// Families "winograd23_s8" (16 positions) and "winograd43_s8" (36): for every position p, tile t and output channel l
///   sum[p · sum_position + 16·t + l] (+)= Σ_{k < 2·pairs} v[p · v_position + k / 8 · v_block + 8·t + k % 8]
///                                                         · u[p · u_position + k / 2 · 32 + 2·l + k % 2]
/// modulo 2^32; "winograd23_s8x1" and "winograd43_s8x1" have u at k · 16 + l instead. The same for `panels` panels, at
/// most panel_width / 16 of the kernel's row, u_panel and sum_panel apart.
struct WinogradProductArgs {
  const int16_t* v;
  ptrdiff_t v_position, v_block;
  const int16_t* u;
  ptrdiff_t u_position, u_panel;
  int32_t panels;
  int32_t pairs;
  int32_t tiles;
  bool accumulate;  // false: what lies at sum is overwritten
  int32_t* sum;
  ptrdiff_t sum_position, sum_panel;
};
using WinogradProductFn = void (*)(const WinogradProductArgs& args);

/// Family "winograd_output": neighbouring tiles of one row of tiles, 16 channels. rows <= m and cols <= m · tiles say
/// which outputs exist; of both channel blocks those with a real lane are written, NCHWc8.
/// epilogue.bias and .multiplier have 16 entries, 0 in lanes >= lanes.
struct WinogradOutputArgs {
  const int32_t* sum;  // of the first tile, as above
  ptrdiff_t sum_position;
  int32_t m;
  int32_t tiles;
  int32_t rows, cols;
  int32_t lanes;  // real channels, 1…16
  void* y;        // the first tile's first output
  ptrdiff_t y_row, y_block;
  Epilogue epilogue;
};
using WinogradOutputFn = void (*)(const WinogradOutputArgs& args);

}  // namespace lq
