// Prepare functions of the elementwise operators, by file; elementwise.cc lists them in kElementwiseRows.
#pragma once
#include "runtime/op.h"

namespace lq {

// elementwise_arith.cc
Status prepare_add_sub(OpPrepare& p);
Status prepare_mul(OpPrepare& p);
Status prepare_div(OpPrepare& p);
Status prepare_mod(OpPrepare& p);
Status prepare_min_max(OpPrepare& p);
Status prepare_prelu(OpPrepare& p);
// elementwise_pow.cc
Status prepare_pow(OpPrepare& p);
// elementwise_logic.cc
Status prepare_compare(OpPrepare& p);
Status prepare_and_or(OpPrepare& p);
Status prepare_where(OpPrepare& p);
// elementwise_unary.cc
Status prepare_unary(OpPrepare& p);
Status prepare_clip(OpPrepare& p);
Status prepare_not(OpPrepare& p);
// cast.cc
Status prepare_cast(OpPrepare& p);

}  // namespace lq
