// int8 ReduceMean: R on Σ(q − zp), m = s_x / (s_y·n). Any axes, linear or blocked on either side.
#pragma once
#include "runtime/op.h"

namespace lq {

Status prepare_reduce_mean_s8(OpPrepare& p);

}  // namespace lq
