// The floating-point state every bit of libquant's output is defined in: round to nearest even, no flush to zero, no
// traps.
#pragma once
#include <cfenv>
#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace lq {

/// Sets that state for the calling thread and restores the caller's when it goes out of scope.
class FpStateGuard {
 public:
  FpStateGuard() : saved_(read()) { write(default_bits(saved_)); }
  ~FpStateGuard() { write(saved_); }
  FpStateGuard(const FpStateGuard&) = delete;
  FpStateGuard& operator=(const FpStateGuard&) = delete;

 private:
#if defined(__SSE2__)
  // MXCSR: all exceptions masked, RC = 00 (nearest), FTZ = DAZ = 0.
  using Bits = uint32_t;
  static Bits read() { return _mm_getcsr(); }
  static void write(Bits bits) { _mm_setcsr(bits); }
  static Bits default_bits(Bits) { return 0x1F80; }
#elif defined(__aarch64__)
  // FPCR: RMode (23:22) = nearest, FZ (24) = 0, FZ16 (19) = 0, AH/FIZ (1:0) = 0, traps (15, 12:8) off; DN (25) = 0.
  using Bits = uint64_t;
  static Bits read() {
    Bits bits;
    __asm__ volatile("mrs %0, fpcr" : "=r"(bits));
    return bits;
  }
  static void write(Bits bits) { __asm__ volatile("msr fpcr, %0" : : "r"(bits) : "memory"); }
  static Bits default_bits(Bits bits) { return bits & ~Bits(0x03C89F03); }
#elif defined(__arm__) && defined(__ARM_FP)
  // FPSCR: RMode (23:22), FZ (24), DN (25), traps (15, 12:8) as above. NEON ignores it and always flushes, so float
  // runs on VFP.
  using Bits = uint32_t;
  static Bits read() {
    Bits bits;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(bits));
    return bits;
  }
  static void write(Bits bits) { __asm__ volatile("vmsr fpscr, %0" : : "r"(bits) : "memory"); }
  static Bits default_bits(Bits bits) { return bits & ~Bits(0x03C09F00); }
#else
  // No flush-to-zero to switch off on these processors (RISC-V has none).
  using Bits = int;
  static Bits read() { return std::fegetround(); }
  static void write(Bits bits) { std::fesetround(bits); }
  static Bits default_bits(Bits) { return FE_TONEAREST; }
#endif
  Bits saved_;
};

}  // namespace lq
