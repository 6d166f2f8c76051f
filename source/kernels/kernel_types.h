// What kernels share: plain data only. A kernel file includes nothing but this, <stdint.h>, <stddef.h> and intrinsics
// (an STL template compiled with -mavx2 could win at link time and crash an old CPU).
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace lq {

/// In order of preference: the last one a processor has is its best.
enum class Isa : uint8_t {
  kScalar = 0,
  kSse41 = 1,        // SSSE3 and SSE4.1
  kAvx2 = 2,         // AVX2 and FMA
  kAvxVnni = 3,      // and vpdpbusd on 256 bits, VEX form
  kAvx512Vnni = 4,   // AVX2, FMA, AVX512 F, BW, DQ, VL and VNNI
  kNeon = 5,         // Advanced SIMD of ARMv8.0; on 32-bit ARM that of ARMv7
  kNeonDotprod = 6,  // and sdot
  kNeonI8mm = 7,     // and smmla
  kNeonVfpv4 = 8,    // 32-bit ARM: Advanced SIMD, and VFPv4 with its fused multiply-add
  kRvv = 9,          // RISC-V V 1.0, vectors of 128 bits or more
};
constexpr int kIsaCount = 10;

/// Channels in a block of an NCHWc8 tensor.
constexpr int kBlock = 8;

/// What happens to an int32 accumulator (docs/NUMERICS.md, R) on its way to the output. Size-versioned.
/// y = clamp(rint(float(acc + bias[c]) * multiplier[c])) + zero_point, bounds as floats relative to the zero point.
struct Epilogue {
  uint32_t struct_size;
  const int32_t* bias;      // per output channel, padded to the tile; zero-point term already folded in
  const float* multiplier;  // per output channel, padded to the tile
  float low, high;          // qmin − zp, qmax − zp
  int32_t zero_point;
  bool float_output;  // true: y = float(acc + bias) * multiplier, no rounding or clamp
  bool float_clamp;   // with float_output: y is clamped to [low, high], NaN -> low (a folded Relu or Clip)
};

}  // namespace lq
