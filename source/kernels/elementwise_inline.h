// The scalar arithmetic of numerics/quantize.h for kernel files, which may not include the standard library. `static`,
// so that a copy compiled with an ISA's flags never replaces another at link time.
#pragma once
#include "kernels/elementwise_kernels.h"

namespace lq {

/// int(rint(clamp(t))) + zp. Adding and subtracting 1.5·2^23 rounds to an integer, ties to even, for |t| <= 2^22:
/// exact, and every compiler vectorises it. NaN gives low, as the contract orders the operands.
static inline int32_t round_clamped(float t, const RoundArgs& r) {
  constexpr float kMagic = 12582912.0f;
  float v = t > r.low ? t : r.low;
  v = v < r.high ? v : r.high;
  return static_cast<int32_t>((v + kMagic) - kMagic) + r.zero_point;
}

static inline int8_t quantize_one(float x, const QuantizeArgs& a) {
  return static_cast<int8_t>(round_clamped(x / a.scale, a.round));
}
static inline int8_t rescale_one(int8_t q, const RescaleArgs& a) {
  return static_cast<int8_t>(round_clamped(static_cast<float>(q - a.zero_x) * a.multiplier, a.round));
}
static inline int8_t add_one(int8_t a, int8_t b, const BinaryArgs& g) {
  const float ta = static_cast<float>(a - g.zero_a) * g.mul_a;
  const float tb = static_cast<float>(b - g.zero_b) * g.mul_b;
  return static_cast<int8_t>(round_clamped(ta + tb, g.round));
}
static inline int8_t mul_one(int8_t a, int8_t b, const BinaryArgs& g) {
  return static_cast<int8_t>(round_clamped(static_cast<float>((a - g.zero_a) * (b - g.zero_b)) * g.mul_a, g.round));
}
static inline int8_t prelu_one(int8_t q, float negative, const RescaleArgs& a) {
  const int32_t acc = q - a.zero_x;
  return static_cast<int8_t>(round_clamped(static_cast<float>(acc) * (acc < 0 ? negative : a.multiplier), a.round));
}
/// The fixed tree that joins eight interleaved partial sums.
static inline float join8(const float* p) { return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])); }

}  // namespace lq
