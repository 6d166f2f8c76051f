#include "kernels/cpu_features.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif (defined(__aarch64__) || defined(__arm__) || defined(__riscv)) && defined(__linux__)
#include <sys/auxv.h>
#include <unistd.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace lq {
namespace {

/// One bit for each Isa.
constexpr uint32_t bit(Isa isa) { return 1u << uint32_t(isa); }

#if defined(__x86_64__) || defined(__i386__)
// XCR0 by xgetbv; the mnemonic is spelled out so that this file needs no -mxsave.
uint64_t read_xcr0() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t(high) << 32) | low;
}

bool has(uint32_t value, uint32_t bits) { return (value & bits) == bits; }

// Bits as in the Intel SDM, CPUID. XCR0 says which registers the operating system saves on a context switch; without
// that the instructions fault: bits 1, 2: xmm, ymm; 5 to 7: opmask, zmm.
uint32_t detect() {
  uint32_t found = bit(Isa::kScalar);
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t kSsse3 = 1u << 9, kFma = 1u << 12, kSse41 = 1u << 19, kOsxsave = 1u << 27,
                     kAvx = 1u << 28;  // leaf 1 ECX
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, kSsse3 | kSse41)) return found;
  found |= bit(Isa::kSse41);
  if (!has(c, kFma | kOsxsave | kAvx)) return found;
  const uint64_t saved = read_xcr0();
  constexpr uint32_t kAvx2 = 1u << 5;  // leaf 7.0 EBX
  if ((saved & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, kAvx2)) return found;
  found |= bit(Isa::kAvx2);
  constexpr uint32_t kF = 1u << 16, kDq = 1u << 17, kBw = 1u << 30, kVl = 1u << 31;  // leaf 7.0 EBX
  constexpr uint32_t kVnni512 = 1u << 11;                                            // leaf 7.0 ECX
  if ((saved & 0xE6) == 0xE6 && has(b, kF | kDq | kBw | kVl) && has(c, kVnni512)) found |= bit(Isa::kAvx512Vnni);
  constexpr uint32_t kVnni = 1u << 4;  // leaf 7.1 EAX
  const uint32_t subleaves = a;
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && has(a, kVnni)) found |= bit(Isa::kAvxVnni);
  return found;
}
#elif defined(__aarch64__)
constexpr uint32_t kArmV8 = bit(Isa::kScalar) | bit(Isa::kNeon);
uint32_t with(bool dotprod, bool i8mm) {
  return kArmV8 | (dotprod ? bit(Isa::kNeonDotprod) : 0) | (dotprod && i8mm ? bit(Isa::kNeonI8mm) : 0);
}
#if defined(__linux__)
// Linux and Android: the kernel's list of what every core of the system has. Bits as in asm/hwcap.h, spelled out since
// old NDK headers lack them.
uint32_t detect() {
  constexpr unsigned long kAsimdDp = 1ul << 20;  // AT_HWCAP
  constexpr unsigned long kI8mm = 1ul << 13;     // AT_HWCAP2
  return with((getauxval(AT_HWCAP) & kAsimdDp) != 0, (getauxval(26 /* AT_HWCAP2 */) & kI8mm) != 0);
}
#elif defined(__APPLE__)
bool sysctl_flag(const char* name) {
  int value = 0;
  size_t size = sizeof(value);
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
uint32_t detect() {
  return with(sysctl_flag("hw.optional.arm.FEAT_DotProd"), sysctl_flag("hw.optional.arm.FEAT_I8MM"));
}
#else
uint32_t detect() { return kArmV8; }
#endif
#elif defined(__arm__) && defined(__linux__)
// 32-bit processes, on ARMv8 processors too. Bits of AT_HWCAP as in the kernel's arch/arm/include/uapi/asm/hwcap.h.
uint32_t detect() {
  constexpr unsigned long kHwcapNeon = 1ul << 12, kHwcapVfpv4 = 1ul << 16;
  const unsigned long found = getauxval(AT_HWCAP);
  if ((found & kHwcapNeon) == 0) return bit(Isa::kScalar);
  return bit(Isa::kScalar) | bit(Isa::kNeon) | ((found & kHwcapVfpv4) != 0 ? bit(Isa::kNeonVfpv4) : 0);
}
#elif defined(__riscv) && defined(__linux__)
/// Where the system says there is V: is it version 1.0? Vendors' kernels for silicon with the draft 0.7.1 say so, too.
/// vsetvli x, x0, e32, m1, ta, ma is an instruction in both, but in the draft its bits mean an element size that no
/// processor has: the vector length becomes 0.
bool is_vector_version_1() {
  unsigned long length;
  __asm__ volatile(".insn i 0x57, 7, %0, x0, 0xd0" : "=r"(length));
  return length != 0;
}
// The riscv_hwprobe system call (Linux 6.4) says which version of V there is; before it there is only the letter in
// AT_HWCAP, and the processor is asked itself.
uint32_t detect() {
  constexpr long kSysHwprobe = 258, kKeyImaExt0 = 4;
  constexpr uint64_t kImaV = 1u << 2;
  constexpr unsigned long kHwcapV = 1ul << ('V' - 'A');
  struct {
    int64_t key;
    uint64_t value;
  } pair = {kKeyImaExt0, 0};
  const bool probed = syscall(kSysHwprobe, &pair, 1L, 0L, nullptr, 0L) == 0 && pair.key == kKeyImaExt0;
  const bool vector =
      probed ? (pair.value & kImaV) != 0 : (getauxval(AT_HWCAP) & kHwcapV) != 0 && is_vector_version_1();
  return bit(Isa::kScalar) | (vector ? bit(Isa::kRvv) : 0);
}
#else
uint32_t detect() { return bit(Isa::kScalar); }
#endif

constexpr uint32_t kBuilt = bit(Isa::kScalar)
#ifdef LQ_HAS_SSE41
                            | bit(Isa::kSse41)
#endif
#ifdef LQ_HAS_AVX2
                            | bit(Isa::kAvx2)
#endif
#ifdef LQ_HAS_AVXVNNI
                            | bit(Isa::kAvxVnni)
#endif
#ifdef LQ_HAS_AVX512VNNI
                            | bit(Isa::kAvx512Vnni)
#endif
#ifdef LQ_HAS_NEON
                            | bit(Isa::kNeon)
#endif
#ifdef LQ_HAS_NEON_DOTPROD
                            | bit(Isa::kNeonDotprod)
#endif
#ifdef LQ_HAS_NEON_I8MM
                            | bit(Isa::kNeonI8mm)
#endif
#ifdef LQ_HAS_NEON_VFPV4
                            | bit(Isa::kNeonVfpv4)
#endif
#ifdef LQ_HAS_RVV
                            | bit(Isa::kRvv)
#endif
    ;

}  // namespace

bool is_isa_built(Isa isa) { return (kBuilt & bit(isa)) != 0; }

bool is_isa_supported(Isa isa) {
  static const uint32_t supported = detect();
  return (supported & bit(isa)) != 0;
}

Isa best_isa() {
  for (int i = kIsaCount - 1; i > 0; --i) {
    if (is_isa_built(Isa(i)) && is_isa_supported(Isa(i))) return Isa(i);
  }
  return Isa::kScalar;
}

Isa fallback_isa(Isa isa) {
  switch (isa) {
    case Isa::kAvxVnni:
    case Isa::kAvx512Vnni:  // Ice Lake has the 512-bit form without the VEX one: neither VNNI includes the other
      return Isa::kAvx2;
    case Isa::kNeonI8mm:
      return Isa::kNeonDotprod;
    case Isa::kNeonDotprod:
    case Isa::kNeonVfpv4:
      return Isa::kNeon;
    default:  // AVX2 has a kernel of its own wherever SSE4.1 has one
      return Isa::kScalar;
  }
}

int rvv_vector_bits() {
#if defined(__riscv)
  if (is_isa_supported(Isa::kRvv)) {
    unsigned long bytes;
    __asm__("csrr %0, 0xc22" : "=r"(bytes));  // vlenb, by its number: this file is not built for V
    return int(8 * bytes);
  }
#endif
  return 0;
}

}  // namespace lq
