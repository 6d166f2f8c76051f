// float16 and bfloat16 as storage types: every operation goes through float and is rounded once to nearest even, which
// for
// + − × ÷ equals the half operation itself (24 >= 2·11 + 2 bits).
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace lq {

/// Bits of the float16 nearest to v (ties to even); overflow gives infinity, NaN stays a quiet NaN.
inline uint16_t half_bits(float v) {
  const uint32_t x = std::bit_cast<uint32_t>(v);
  const uint32_t sign = (x >> 16) & 0x8000u;
  const uint32_t magnitude = x & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return uint16_t(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return uint16_t(sign | 0x7c00u);  // >= 65520 rounds to infinity
  if (magnitude < 0x38800000u) {
    // Subnormal half: a multiple of 2^-24. Adding 0.5 leaves that multiple, rounded to even, in the low mantissa bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return uint16_t(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

inline float half_value(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 31u, mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {  // zero or subnormal: mantissa · 2^-24, exact in float
    const float magnitude = float(mantissa) * 5.9604644775390625e-8f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

/// The float next to d with its last bit set when inexact ("round to odd"): rounding that to 16 bits equals rounding d.
inline float round_to_odd(double d) {
  const float f = float(d);
  if (!(std::fabs(f) <= 3.4e38f) || double(f) == d) return f;  // exact, infinite or NaN
  uint32_t x = std::bit_cast<uint32_t>(f);
  if (std::fabs(double(f)) > std::fabs(d)) --x;
  return std::bit_cast<float>(x | 1u);
}

struct Half {
  uint16_t bits = 0;
  Half() = default;
  Half(float v) : bits(half_bits(v)) {}
  Half(double v) : bits(half_bits(round_to_odd(v))) {}
  operator float() const { return half_value(bits); }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float v) {
    const uint32_t x = std::bit_cast<uint32_t>(v);
    bits = (x & 0x7fffffffu) > 0x7f800000u ? uint16_t((x >> 16) | 0x40u)
                                           : uint16_t((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
  }
  BFloat16(double v) : BFloat16(round_to_odd(v)) {}
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

}  // namespace lq
