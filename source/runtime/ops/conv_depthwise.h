// Depthwise convolution (groups == channels, one output each): every block of 8 channels on its own.
#pragma once
#include "runtime/ops/conv_plan.h"

namespace lq {

inline bool is_depthwise(const ConvShape& s) { return s.icg == 1 && s.ocg == 1; }
Status prepare_depthwise(OpPrepare& p, const ConvShape& shape, bool integer);

}  // namespace lq
