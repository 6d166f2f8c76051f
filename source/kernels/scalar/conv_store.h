// How a scalar panel kernel leaves its accumulators: the definition every other ISA's store repeats bit for bit.
#pragma once
#include "kernels/conv_kernels.h"

namespace lq::scalar {

/// A NaN gives lo, as numerics/quantize.h has it (kernels include no header above kernel_types.h).
static inline float clamp_nan_to_low(float v, float lo, float hi) {
  const float t = v > lo ? v : lo;
  return t < hi ? t : hi;
}

/// Writes channel block `half` of one pixel from 8 accumulators, the bias already inside.
static inline void store_s8(const PanelGeometry& g, const Epilogue& e, const int32_t* acc, int half, ptrdiff_t pixel) {
  const int lanes = g.lanes - 8 * half;
  const int written = g.y_blocked ? 8 : (lanes < 8 ? lanes : 8);
  for (int i = 0; i < written; ++i) {
    const float t = float(acc[i]) * e.multiplier[8 * half + i];
    if (e.float_output) {
      const float v = e.float_clamp ? clamp_nan_to_low(t, e.low, e.high) : t;
      static_cast<float*>(g.y)[half * g.y_block + pixel + i] = i < lanes ? v : 0.0f;
    } else {
      const int32_t q = int32_t(__builtin_nearbyintf(clamp_nan_to_low(t, e.low, e.high))) + e.zero_point;
      static_cast<int8_t*>(g.y)[half * g.y_block + pixel + i] = int8_t(i < lanes ? q : e.zero_point);
    }
  }
}

static inline void store_f32(const PanelGeometry& g, const FloatClamp& clamp, const float* acc, int half,
                             ptrdiff_t pixel) {
  const int lanes = g.lanes - 8 * half;
  const int written = g.y_blocked ? 8 : (lanes < 8 ? lanes : 8);
  float* y = static_cast<float*>(g.y) + half * g.y_block + pixel;
  for (int i = 0; i < written; ++i) {
    const float t = acc[i] + 0.0f;  // −0 becomes +0
    const float v = clamp.enabled ? clamp_nan_to_low(t, clamp.low, clamp.high) : t;
    y[i] = i < lanes ? v : 0.0f;
  }
}

}  // namespace lq::scalar
