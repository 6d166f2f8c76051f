#include "kernels/cpu_features.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace lq {
namespace {

#if defined(__x86_64__) || defined(__i386__)
// XCR0 by xgetbv; the mnemonic is spelled out so that this file needs no -mxsave.
uint64_t read_xcr0() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t(high) << 32) | low;
}

// AVX2 and FMA: leaf 1 ECX bit 12 (FMA), 27 (OSXSAVE), 28 (AVX); leaf 7.0 EBX bit 5 (AVX2). XCR0 bits 1 and 2 say that
// the operating system saves xmm and ymm on a context switch; without them the instructions fault.
bool detect_avx2() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  constexpr uint32_t kFma = 1u << 12, kOsxsave = 1u << 27, kAvx = 1u << 28;
  if ((c & (kFma | kOsxsave | kAvx)) != (kFma | kOsxsave | kAvx)) return false;
  if ((read_xcr0() & 6) != 6) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  return (b & (1u << 5)) != 0;
}
#else
bool detect_avx2() { return false; }
#endif

}  // namespace

bool is_isa_built(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2:
#ifdef LQ_HAS_AVX2
      return true;
#else
      return false;
#endif
  }
  return false;
}

bool is_isa_supported(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2: {
      static const bool supported = detect_avx2();
      return supported;
    }
  }
  return false;
}

Isa best_isa() {
  for (int i = kIsaCount - 1; i > 0; --i) {
    if (is_isa_built(Isa(i)) && is_isa_supported(Isa(i))) return Isa(i);
  }
  return Isa::kScalar;
}

}  // namespace lq
