// Add, Sub and Mul of which an operand or the result is int16 (docs/NUMERICS.md, Rules); the others are int8. All per
// tensor, linear or NCHWc8 (constants are linear always), any numpy broadcasting.
#pragma once
#include "runtime/op.h"

namespace lq {

/// An input or the output of the node holds quantized int16 values.
bool has_int16_values(const OpPrepare& p);

Status prepare_add_sub_s16(OpPrepare& p);
Status prepare_mul_s16(OpPrepare& p);

}  // namespace lq
