// The scalar arithmetic of docs/NUMERICS.md. Every kernel, on every ISA, equals these functions bit for bit.
// Compile with -ffp-contract=off; rounding mode is to nearest, ties to even.
#pragma once
#include <cmath>
#include <cstdint>

namespace lq {

/// min/max with the operand order the contract fixes: a NaN `v` gives lo (as x86 maxps/minps with v first).
inline float clamp_nan_to_low(float v, float lo, float hi) {
  float t = v > lo ? v : lo;  // NaN > lo is false -> lo
  return t < hi ? t : hi;
}

/// Quantize: q = int(rint(clamp(x / s, qmin − zp, qmax − zp))) + zp. NaN -> qmin, ±Inf saturate.
inline int32_t quantize(float x, float scale, int32_t zero_point, int32_t qmin, int32_t qmax) {
  float v = clamp_nan_to_low(x / scale, float(qmin - zero_point), float(qmax - zero_point));
  return int32_t(std::nearbyintf(v)) + zero_point;
}

/// Dequantize: float(q − zp) · s.
inline float dequantize(int32_t q, float scale, int32_t zero_point) { return float(q - zero_point) * scale; }

/// R(t): clamp to [qmin − zp, qmax − zp], round half to even, add zp. `t` already in units of the output scale.
inline int32_t round_to_quantized(float t, int32_t zero_point, int32_t qmin, int32_t qmax) {
  return int32_t(std::nearbyintf(clamp_nan_to_low(t, float(qmin - zero_point), float(qmax - zero_point)))) + zero_point;
}

/// R(acc, m) = int(rint(clamp(float(acc)·m, qmin − zp, qmax − zp))) + zp: one IEEE multiply.
inline int32_t requantize(int32_t acc, float m, int32_t zero_point, int32_t qmin, int32_t qmax) {
  return round_to_quantized(float(acc) * m, zero_point, qmin, qmax);
}

/// Multiplier of a product rule, e.g. s_x·s_w/s_y: computed in double, rounded once to float.
inline float requantize_multiplier(float s_a, float s_b, float s_y) { return float(double(s_a) * double(s_b) / double(s_y)); }
/// Multiplier of a change of scale, s_a/s_y.
inline float rescale_multiplier(float s_a, float s_y) { return float(double(s_a) / double(s_y)); }

}  // namespace lq
