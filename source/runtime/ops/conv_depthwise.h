// Depthwise convolution (groups == channels, one output each): every block of 8 channels on its own.
#pragma once
#include "runtime/ops/conv_plan.h"

namespace lq {

inline bool is_depthwise(const ConvShape& s) { return s.icg == 1 && s.ocg == 1; }
Status prepare_depthwise(OpPrepare& p, const ConvShape& shape, bool integer);

// conv_depthwise_byte.cc: integer layers where the processor multiplies bytes. offset: what the kernel's quads hold
// beyond q (128 in family depthwise_u8, 0 in depthwise_s8x4).
inline constexpr int64_t kMaxDepthwiseQuadBytes = 4 << 20;
bool depthwise_bytes_fit(const ConvShape& s);
Status prepare_depthwise_bytes(OpPrepare& p, const ConvShape& s, const KernelRow& row, int32_t offset);

// conv_depthwise_taps.cc: integer layers on saturating byte products, in the order depthwise_split.h chooses.
inline constexpr int64_t kMaxDepthwiseTaps = 256;
Status prepare_depthwise_taps(OpPrepare& p, const ConvShape& s, const KernelRow& row);

}  // namespace lq
