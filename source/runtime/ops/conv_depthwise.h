// Depthwise convolution (groups == channels, one output each): every block of 8 channels on its own.
#pragma once
#include "runtime/ops/conv_plan.h"

namespace lq {

inline bool is_depthwise(const ConvShape& s) { return s.icg == 1 && s.ocg == 1; }
Status prepare_depthwise(OpPrepare& p, const ConvShape& shape, bool integer);

// conv_depthwise_u8.cc: the integer form where `row` (family depthwise_u8) is not the scalar twin.
inline constexpr int64_t kMaxDepthwiseQuadBytes = 4 << 20;
bool depthwise_u8_fits(const ConvShape& s);
Status prepare_depthwise_u8(OpPrepare& p, const ConvShape& s, const KernelRow& row);

}  // namespace lq
