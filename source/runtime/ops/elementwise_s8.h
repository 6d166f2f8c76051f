// int8 forms of the elementwise operators (docs/NUMERICS.md, Rules). Called when the data tensors are quantized int8;
// all of them int8 with one scale, linear or NCHWc8 (constants are linear always). The output's lanes >= C get its zero
// point.
#pragma once
#include "runtime/op.h"

namespace lq {

/// Add, Sub: any numpy broadcasting.
Status prepare_add_sub_s8(OpPrepare& p);
/// Mul: any numpy broadcasting.
Status prepare_mul_s8(OpPrepare& p);
/// PRelu with a constant float slope.
Status prepare_prelu_s8(OpPrepare& p);
/// Every unary operator of the table rule, in elementwise_table_s8.cc; Clip with constant float bounds.
Status prepare_table_s8(OpPrepare& p);

}  // namespace lq
