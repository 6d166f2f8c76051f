// The operator tables of the runtime: one per family file in this folder, joined by registry.cc. Explicit tables, never
// static initialisers (a static link would drop them).
#pragma once
#include "runtime/op.h"

namespace lq {

/// A family's rows. Defined `const`, so a definition must see this header (it declares them extern).
struct OpRowTable {
  const OpRow* rows;
  int count;
};

extern const OpRowTable kConvRows;         // conv.cc: Conv, ConvTranspose
extern const OpRowTable kMatMulRows;       // matmul.cc: Gemm, MatMul
extern const OpRowTable kQuantRows;        // quantize.cc: QuantizeLinear, DequantizeLinear, Requantize
extern const OpRowTable kLayoutRows;       // layout.cc: LayoutToBlocked, LayoutToLinear
extern const OpRowTable kElementwiseRows;  // elementwise.cc: unary and binary float, integer, bool; their int8 forms
extern const OpRowTable kPoolRows;         // pool.cc
extern const OpRowTable kReduceRows;       // reduce.cc
extern const OpRowTable kNormRows;         // norm.cc: normalizations, Softmax
extern const OpRowTable kDataRows;     // data.cc: Concat, Split, Slice, Gather, Pad, Reshape, … Shape, Range, Cast
extern const OpRowTable kResizeRows;   // resize.cc
extern const OpRowTable kRnnRows;      // rnn.cc: LSTM, GRU
extern const OpRowTable kSortRows;     // sort.cc: ArgMax, ArgMin, TopK
extern const OpRowTable kEinsumRows;   // einsum.cc: Einsum
extern const OpRowTable kControlRows;  // control.cc: If

}  // namespace lq
