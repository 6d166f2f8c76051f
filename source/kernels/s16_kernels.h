// Kernels of int16 activations (docs/NUMERICS.md, "Sixteen bits") beside the products, which take the int16 form they
// have anyway (conv_kernels.h). Values are q − zp: int16 tensors have zero point 0, int8 ones are widened before and
// narrowed after, so that one kernel serves every mixture of the two. Contiguous runs; every ISA's kernel equals its
// scalar twin bit for bit.
#pragma once
#include "kernels/elementwise_kernels.h"

namespace lq {

using QuantizeS16Fn = void (*)(const float* x, int16_t* y, int64_t n, const QuantizeArgs& args);
using DequantizeS16Fn = void (*)(const int16_t* x, float* y, int64_t n, float scale);
/// y = rint(x), |x| <= 32768: the second half of R behind a product kernel that wrote float(acc)·m, clamped.
using RoundS16Fn = void (*)(const float* x, int16_t* y, int64_t n);
/// R on x; args.zero_x and .round.zero_point are 0.
using RescaleS16Fn = void (*)(const int16_t* x, int16_t* y, int64_t n, const RescaleArgs& args);
/// As BinaryFn of elementwise_kernels.h, all zero points 0. y is apart from both operands.
using BinaryS16Fn = void (*)(const int16_t* a, const int16_t* b, int b_step, int16_t* y, int64_t n,
                             const BinaryArgs& args);
/// y = x − zero_point.
using WidenRunFn = void (*)(const int8_t* x, int16_t* y, int64_t n, int32_t zero_point);
/// y = x + zero_point, which fits int8.
using NarrowRunFn = void (*)(const int16_t* x, int8_t* y, int64_t n, int32_t zero_point);

struct S16Kernels {
  Kernel<QuantizeS16Fn> quantize;
  Kernel<DequantizeS16Fn> dequantize;
  Kernel<RoundS16Fn> round;
  Kernel<RescaleS16Fn> requantize;
  Kernel<BinaryS16Fn> add, mul;
  Kernel<WidenRunFn> widen;
  Kernel<NarrowRunFn> narrow;
};

/// The kernels of `isa`, or of the next ISA it includes; the scalar ones in the end.
const S16Kernels& s16_kernels(Isa isa);
const S16Kernels& s16_kernels_scalar();
const S16Kernels& s16_kernels_avx2();

}  // namespace lq
