// The AVX512-VNNI kernels themselves, on bare metal: no operating system an emulator would have to boot. Results go to
// the first serial port, one line a kernel; the last line is PASS or FAIL and the number of cases.
#include <cpuid.h>
#include <stddef.h>
#include <stdint.h>

#include "emulation/kernel_checks.h"

namespace lq {
extern const KernelTable kAvx512VnniConvKernels;
extern const KernelTable kAvx512VnniWinogradKernels;
}  // namespace lq

// What the compiler and the scalar kernels take from the C library.
extern "C" {
void* memcpy(void* to, const void* from, size_t n) {
  void* result = to;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
  return result;
}
void* memset(void* to, int value, size_t n) {
  void* result = to;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(value) : "memory");
  return result;
}
int memcmp(const void* a, const void* b, size_t n) {
  const uint8_t *u = static_cast<const uint8_t*>(a), *v = static_cast<const uint8_t*>(b);
  for (uint64_t x, y; n >= 8; n -= 8, u += 8, v += 8) {
    __builtin_memcpy(&x, u, 8), __builtin_memcpy(&y, v, 8);
    if (x != y) break;
  }
  for (; n > 0; --n, ++u, ++v) {
    if (*u != *v) return *u < *v ? -1 : 1;
  }
  return 0;
}
float nearbyintf(float v) {
  __asm__("roundss $12, %0, %0" : "+x"(v));  // in MXCSR's mode, to even; no precision exception
  return v;
}
float fmaf(float a, float b, float c) {
  __asm__("vfmadd231ss %1, %2, %0" : "+x"(c) : "x"(a), "x"(b));
  return c;
}
}

namespace {

constexpr uint16_t kSerial = 0x3F8;

void out(uint16_t port, uint8_t value) { __asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port)); }
uint8_t in(uint16_t port) {
  uint8_t value;
  __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
  return value;
}

void open_serial() {
  out(kSerial + 3, 0x80);                          // the next two set the speed
  out(kSerial, 1), out(kSerial + 1, 0);            // the fastest
  out(kSerial + 3, 0x03), out(kSerial + 1, 0x00);  // 8 bits; no interrupts
}

void print(const char* text) {
  for (; *text != '\0'; ++text) {
    while ((in(kSerial + 5) & 0x20) == 0) {
    }
    out(kSerial, uint8_t(*text));
  }
}
void print(int value) {
  if (value < 0) print("-"), value = -value;
  char digits[12];
  char* p = digits + 11;
  *p = '\0';
  do *--p = char('0' + value % 10);
  while ((value /= 10) > 0);
  print(p);
}

int total = 0;

void report(const char* kernel, int cases, int failed) {
  total += cases;
  print(kernel), print(": "), print(cases), print(" cases, "), print(failed), print(" differ\n");
}

bool has_avx512_vnni() {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  return (b >> 16 & 1) != 0 && (b >> 30 & 1) != 0 && (b >> 31 & 1) != 0 && (c >> 11 & 1) != 0;
}

}  // namespace

extern "C" void run_checks() {
  open_serial();
  if (!has_avx512_vnni()) {
    print("FAIL: the emulated processor has no AVX512-VNNI\n");
  } else {
    const int bad = lq::test::check_rows(lq::kAvx512VnniConvKernels, LQ_CASES, report) +
                    lq::test::check_rows(lq::kAvx512VnniWinogradKernels, LQ_CASES, report);
    print(bad == 0 ? "PASS " : "FAIL "), print(total), print("\n");
  }
  while ((in(kSerial + 5) & 0x40) == 0) {  // until the last byte has left
  }
  for (const char* word = "Shutdown"; *word != '\0'; ++word) out(0x8900, uint8_t(*word));  // ends Bochs
}
