// Arguments of the convolution and matrix-product kernels: plain data. One panel kernel serves Conv, ConvTranspose,
// Gemm and MatMul: it makes `rows` × `cols` outputs of 8 or 16 channels, reading its input through block, tap and pixel
// steps.
//
// A panel product, for output pixel (r, c) and channel l of the panel:
//   acc = start + Σ_{b < blocks (+1 if tail)} Σ_{t < taps} Σ_{i < 8 (tail in the last block)}
//                 x[r·x_row + c·x_col + b·x_block + tap[t] + i] · w[b, t, i, l]
// in that order; all steps count elements. The integer sum wraps modulo 2^32, the float sum is one fused multiply-add a
// term.
#pragma once
#include "kernels/kernel_types.h"

namespace lq {

/// What both precisions share: where inputs and outputs lie.
struct PanelGeometry {
  ptrdiff_t x_block, x_row, x_col;
  const ptrdiff_t* tap;  // [taps]
  int32_t taps;
  int32_t blocks;  // full blocks of 8 input channels
  int32_t tail;    // channels (1…7) of one more, partial block; 0: none. Lanes >= tail are never used.
  int32_t width;   // channels of the panel: 8, or a multiple of 16 up to the row's panel_width
  int32_t lanes;   // real ones, 1…width
  int32_t rows, cols;
  void* y;                          // pixel (0, 0)
  ptrdiff_t y_row, y_col, y_block;  // between rows, columns and blocks of 8 channels
  bool y_blocked;  // true: all 8 lanes of a block are written, those >= lanes get zp (int8) or 0 (float);
                   // false: only real lanes are written (linear output, y_block is 8)
};

/// Family "conv_s8" and "gemm_s8". x holds q − zp widened to int16, padding holds 0.
/// w: [blocks][taps][4 pairs][width][2], then for the tail [taps][ceil(tail / 2) pairs][width][2].
/// epilogue.bias and .multiplier have `width` entries, 0 in lanes >= lanes.
struct ConvS8Args {
  PanelGeometry geometry;
  const int16_t* x;
  const int16_t* w;
  Epilogue epilogue;
};
using ConvS8Fn = void (*)(const ConvS8Args& args);

/// Families for processors that multiply bytes, "conv_…" and "gemm_…" each. All make the sum of conv_s8 modulo 2^32:
///   u8    x holds q + 128, padding zp + 128, the bias has −(zp + 128) · Σ w folded in (vpdpbusd: uint8 by int8)
///   s8x4  x holds q, padding zp, the bias has −zp · Σ w folded in (sdot)
///   s8x8  as s8x4, 8 channels together (smull, smmla)
/// w: [blocks][taps][groups][width][together], then for the tail [taps][ceil(tail / together) groups][width][together];
/// together, the channels of a group, is 4, or 8 in s8x8. width is a multiple of 16. All 8 lanes of a block are read.
/// epilogue.bias and .multiplier have `width` entries, 0 in lanes >= lanes. Blocks without real lanes are not written.
struct ConvByteArgs {
  PanelGeometry geometry;
  const uint8_t* x;
  const int8_t* w;
  Epilogue epilogue;
};
using ConvByteFn = void (*)(const ConvByteArgs& args);

/// Families "conv_steps_u8" and "gemm_steps_u8", for processors whose byte products (vpmaddubsw) saturate in int16. A
/// step is 8 neighbouring channels of one tap; the steps of a panel come in any order, sorted by what was proved of
/// their weights when they were packed (product_steps.h):
///   acc = start + Σ_{s < twice + once + pairs} Σ_{i < 8} x[pixel + at[s] + i] · w[s, i]
/// x holds q (0…127) or q + 128, as in ConvByteArgs. With M its largest value, no sum of some of these products leaves
/// int16:
///   first `twice` steps (an even number)  steps 2k and 2k + 1, channels {0, 1, 4, 5} and {2, 3, 6, 7} of both: 8 each
///   next `once` steps                     the same two groups of one step: 4 products each
///   last `pairs` steps                    channels 2j and 2j + 1
/// w: [step][2][width][4]; width is 8 or 16. Of the geometry, x_block, tap, taps, blocks and tail are unused. All
/// blocks of the width are written.
struct ConvStepsArgs {
  PanelGeometry geometry;
  const uint8_t* x;
  const int8_t* w;
  Epilogue epilogue;
  const int32_t* at;  // [steps]
  int32_t twice, once, pairs;
};
using ConvStepsFn = void (*)(const ConvStepsArgs& args);

/// Clamp of a float output: NaN -> low, as clamp_nan_to_low in numerics/quantize.h.
struct FloatClamp {
  bool enabled;
  float low, high;
};

/// Family "conv_f32" and "gemm_f32". w: [blocks][taps][8][width], then for the tail [taps][tail][width].
/// start: first value of each accumulator, `width` floats at start + r·start_row + c·start_col. y = clamp(acc + 0.0f).
struct ConvF32Args {
  PanelGeometry geometry;
  const float* x;
  const float* w;
  const float* start;
  ptrdiff_t start_row, start_col;
  FloatClamp clamp;
};
using ConvF32Fn = void (*)(const ConvF32Args& args);

/// Family "depthwise_s8": one block of 8 channels, each with its own taps, two horizontal taps at a time.
/// x: per pixel 16 int16, (v[p][i], v[p + shift][i]) for i < 8, from interleave_s16. w: [taps][8][2] (taps counts
/// pairs). `width` is 8, blocks and tail are unused.
struct DepthwiseS8Args {
  PanelGeometry geometry;
  const int16_t* x;
  const int16_t* w;
  Epilogue epilogue;
};
using DepthwiseS8Fn = void (*)(const DepthwiseS8Args& args);

/// Families "depthwise_u8" and "depthwise_s8x4": the same layer on bytes, straight from the NCHWc8 plane of one block
/// of 8 channels; x and bias as in ConvByteArgs. Output (r, c) reads rows first_row + r·stride_h + t·dilation_h, t <
/// taps_h, and columns likewise; outside [0, in_h) × [0, in_w) lies zp. Dot-product kernels multiply four rows of a
/// column at once: for every output row they lay the input rows it reads side by side, [row quad][column][8 channels][4
/// rows]. w: [row quad][taps_w][8][4], 0 in rows >= taps_h.
struct DepthwiseByteArgs {
  const int8_t* x;
  int32_t in_h, in_w;
  int32_t first_row, first_col;
  int32_t taps_h, taps_w, dilation_h, dilation_w, stride_h, stride_w;
  int32_t rows, cols;  // outputs
  int32_t lanes;       // real channels, 1…8
  int32_t zero_point;  // of x
  void* y;
  ptrdiff_t y_row;  // elements between output rows; columns are neighbours
  uint8_t* quads;   // depthwise_scratch(…) bytes
  const int8_t* w;
  Epilogue epilogue;
};
using DepthwiseByteFn = void (*)(const DepthwiseByteArgs& args);

/// Input columns an output row reads, from the first to the last.
[[gnu::always_inline]] constexpr int64_t depthwise_span(int64_t cols, int64_t stride, int64_t taps, int64_t dilation) {
  return (cols - 1) * stride + (taps - 1) * dilation + 1;
}
/// Scratch of a call: the quads of one output row, or its input rows and the weights tap by tap.
[[gnu::always_inline]] constexpr int64_t depthwise_scratch(int64_t span, int64_t taps_h, int64_t taps_w) {
  return (taps_h + 3) / 4 * 32 * (span + taps_w);
}

/// Family "depthwise_taps_u8": the same layer where byte products saturate in int16 (vpmaddubsw). x: a strip, padding
/// included, of bytes as in ConvStepsArgs. Taps come in pairs, pairs in groups (depthwise_split.h chooses them): pair p
/// multiplies the pixels at[2p] and at[2p + 1] from that of the output by w [pairs][8][2].
///   acc[i] = bias[i] + Σ_groups (start[group][i] + Σ_{its pairs} x[at[2p] + i] · w[p, i, 0] + x[at[2p + 1] + i] · w[p,
///   i, 1])
/// Neither the sum of a pair nor that in parentheses leaves int16. The last 3 outputs of a row may be computed beyond
/// its end: x is readable up to where output cols + 2 would read, and 32 bytes further. Of the geometry, x_block, tap,
/// taps, blocks, tail and y_block are unused; outputs are neighbours (y_col 8) of a blocked tensor.
struct DepthwiseTapsArgs {
  PanelGeometry geometry;
  const uint8_t* x;
  const int8_t* w;
  Epilogue epilogue;
  const int32_t* at;
  const int16_t* group;  // [groups]: its pairs
  const int16_t* start;  // [groups][8]
  int32_t groups;
};
using DepthwiseTapsFn = void (*)(const DepthwiseTapsArgs& args);

/// Family "depthwise_f32": w: [taps][8], start: [8].
struct DepthwiseF32Args {
  PanelGeometry geometry;
  const float* x;
  const float* w;
  const float* start;
  FloatClamp clamp;
};
using DepthwiseF32Fn = void (*)(const DepthwiseF32Args& args);

/// Family "widen_s8": y[8·p + i] = x[p·x_step + i] − zero_point for i < 8, p < pixels. y doesn't overlap x.
struct WidenS8Args {
  const int8_t* x;
  ptrdiff_t x_step;
  int16_t* y;
  int64_t pixels;
  int32_t zero_point;
};
using WidenS8Fn = void (*)(const WidenS8Args& args);

/// Family "offset_u8": y[8·p + i] = x[p·x_step + i] + 128 for i < 8, p < pixels. y doesn't overlap x.
struct OffsetU8Args {
  const int8_t* x;
  ptrdiff_t x_step;
  uint8_t* y;
  int64_t pixels;
};
using OffsetU8Fn = void (*)(const OffsetU8Args& args);

/// Family "interleave_s16": y[16·p + 2i] = x[8·p + i], y[16·p + 2i + 1] = x[8·p + shift + i] for i < 8, p < pixels.
struct InterleaveS16Args {
  const int16_t* x;
  ptrdiff_t shift;
  int16_t* y;
  int64_t pixels;
};
using InterleaveS16Fn = void (*)(const InterleaveS16Args& args);

}  // namespace lq
