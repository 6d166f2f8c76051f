// Kernels of everything that is not a product: quantize, dequantize, requantize, int8 Add/Mul/PRelu, tables, layout
// conversion, channels from block to block, pools, int8 Resize. Plain structs and functions on contiguous runs;
// broadcasting, threads and shapes are the business of runtime/ops. Every ISA's kernel equals its scalar twin bit for
// bit (docs/NUMERICS.md).
#pragma once
#include "kernels/kernel_types.h"

namespace lq {

/// The tail of every int8 rule: y = int(rint(clamp(t, low, high))) + zero_point with low = qmin − zp, high = qmax − zp.
/// |low|, |high| <= 2^22 (all 8- and 16-bit types).
struct RoundArgs {
  float low, high;
  int32_t zero_point;
};

struct QuantizeArgs {
  float scale;
  RoundArgs round;
};

/// R on (q − zero_x). PRelu: `multiplier` is the one of acc >= 0.
struct RescaleArgs {
  int32_t zero_x;
  float multiplier;
  RoundArgs round;
};

/// Add: t = float(a − zero_a)·mul_a + float(b − zero_b)·mul_b (Sub: mul_b negated, the same bits).
/// Mul: t = float((a − zero_a)·(b − zero_b))·mul_a; mul_b unused.
struct BinaryArgs {
  int32_t zero_a, zero_b;
  float mul_a, mul_b;
  RoundArgs round;
};

/// Valid taps of one output position along one axis of a pool. The k-th tap reads input first + k·dilation.
struct PoolTaps {
  int32_t first;    // first input position inside the image
  int32_t count;    // taps inside the image, >= 1
  int32_t divisor;  // taps counted by the average (count, or those inside the padded image with count_include_pad)
  int32_t slot;     // which of the axis' distinct divisors that is
};

/// One plane [in_h, in_w, 8] -> [out_h, out_w, 8] of a blocked pool; a 1-D pool has in_h = out_h = 1.
struct PoolArgs {
  int32_t in_w, out_w;
  int32_t dilation_h, dilation_w;
  const PoolTaps* rows;  // out_h of them
  const PoolTaps* cols;  // out_w of them
  // int8 average only
  const float*
      multiplier;  // [row slot · col_slots + col slot]: float(double(s_x) / (double(s_y) · n)), n the divisors' product
  int32_t col_slots;
  int32_t zero_x;
  RoundArgs round;
};

/// What an output block takes from one input block [pixels, 8].
constexpr uint8_t kNoLane = 0x80;
struct ChannelSource {
  const void* x;         // its first pixel
  uint8_t lane[kBlock];  // by lane of the output: the lane of x that goes there, or kNoLane
};

/// Taps of one axis of a Resize, `taps` for each output position.
struct ResizeAxis {
  int32_t taps;
  const int32_t* index;    // input position, inside the image
  const int32_t* weight;   // Q11, summing to 2048 for each output position
  const uint8_t* outside;  // 1: the whole position takes the extrapolation value; nullptr: none does
};

/// One plane [in_h, in_w, 8] -> [out_h, out_w, 8] of a linear or cubic Resize. The caller has proved that int32 holds Σ
/// w·(q − zp).
struct ResizeArgs {
  int32_t in_w, out_w;
  ResizeAxis rows, cols;
  int32_t zero_x;
  float multiplier;  // s_x / (s_y · 2^22)
  int8_t extrapolation;
  RoundArgs round;
};

// `b_step` 8: b runs along with a. 0: eight values of b repeat (a channel block, or a scalar splatted).
using QuantizeFn = void (*)(const float* x, int8_t* y, int64_t n, const QuantizeArgs& args);
using DequantizeFn = void (*)(const int8_t* x, float* y, int64_t n, float scale, int32_t zero_point);
using RescaleFn = void (*)(const int8_t* x, int8_t* y, int64_t n, const RescaleArgs& args);
using TableFn = void (*)(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table);  // table[256], by bit pattern
using BinaryFn = void (*)(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args);
using PReluFn = void (*)(const int8_t* x, const float* negative, int step, int8_t* y, int64_t n,
                         const RescaleArgs& args);
/// `channels` (1…8) rows of `count` elements, x_stride elements apart -> [count, 8]; the lanes behind get `fill`.
using ToBlockedFn = void (*)(const void* x, int64_t x_stride, int channels, void* y, int64_t count, uint32_t fill);
/// [count, 8] -> `channels` rows, y_stride elements apart.
using ToLinearFn = void (*)(const void* x, void* y, int64_t y_stride, int channels, int64_t count);
/// Rows [begin, end) of one output plane.
/// y[p, i] = x[p, lane[i]] of the one source that has a lane for i, `fill` where none has, for `count` pixels p of an
/// output block. At most 8 sources.
using MoveChannelsFn = void (*)(const ChannelSource* sources, int source_count, uint32_t fill, void* y, int64_t count);
using PoolF32Fn = void (*)(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& args);
using PoolS8Fn = void (*)(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& args);
using ResizeFn = void (*)(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& args);

template <typename Fn>
struct Kernel {
  const char* name;
  Isa isa;
  Fn run;
};

/// One ISA's kernels; every slot is filled (with the scalar twin where the ISA has nothing better).
struct ElementwiseKernels {
  Kernel<QuantizeFn> quantize;
  Kernel<DequantizeFn> dequantize;
  Kernel<RescaleFn> requantize;
  Kernel<TableFn> table;
  Kernel<BinaryFn> add, mul;
  Kernel<PReluFn> prelu;
  Kernel<ToBlockedFn> to_blocked_1, to_blocked_4;  // by element size
  Kernel<ToLinearFn> to_linear_1, to_linear_4;
  Kernel<MoveChannelsFn> move_channels_1, move_channels_4;
  Kernel<PoolF32Fn> max_pool_f32, average_pool_f32;
  Kernel<PoolS8Fn> max_pool_s8, average_pool_s8;
  Kernel<ResizeFn> resize_s8;
};

/// The kernels of `isa`, or of the next ISA it includes (fallback_isa); the scalar ones in the end.
const ElementwiseKernels& elementwise_kernels(Isa isa);
const ElementwiseKernels& elementwise_kernels_scalar();
const ElementwiseKernels& elementwise_kernels_sse41();
const ElementwiseKernels& elementwise_kernels_avx2();
const ElementwiseKernels& elementwise_kernels_neon();
const ElementwiseKernels& elementwise_kernels_rvv();

/// Writes lanes [first, 8) of `count` blocks: 1-byte and 4-byte elements.
void fill_lanes_1(uint8_t* y, int64_t count, int first, uint8_t fill);
void fill_lanes_4(uint32_t* y, int64_t count, int first, uint32_t fill);

}  // namespace lq
