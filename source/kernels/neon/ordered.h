// Instructions in the order they are written: volatile asm statements keep theirs on any compiler. For the main loops
// of 64-bit kernels, where an in-order core (Cortex-A55) waits for every load that comes just before its use. What they
// read must not be written in the same function: they do not tell the compiler that they read memory (but for
// ordered_load_offset).
#pragma once
#include "kernels/neon/simd.h"

namespace lq::neon {

#if defined(__aarch64__)
/// 16 bytes at base + offset; both in registers, since on Cortex-A55 this form goes along with a multiplication.
[[gnu::always_inline]] static inline int8x16_t ordered_load(const int8_t* base, ptrdiff_t offset) {
  int8x16_t v;
  __asm__ volatile("ldr %q0, [%1, %2]" : "=w"(v) : "r"(base), "r"(offset));
  return v;
}
/// 16 bytes at base + 16 · i.
[[gnu::always_inline]] static inline int8x16_t ordered_load_scaled(const int8_t* base, ptrdiff_t i) {
  int8x16_t v;
  __asm__ volatile("ldr %q0, [%1, %2, lsl #4]" : "=w"(v) : "r"(base), "r"(i));
  return v;
}
/// 8 bytes at base + offset.
[[gnu::always_inline]] static inline int8x16_t ordered_load_half(const int8_t* base, ptrdiff_t offset) {
  int8x16_t v;
  __asm__ volatile("ldr %d0, [%1, %2]" : "=w"(v) : "r"(base), "r"(offset));
  return v;
}
/// A number of a list, `offset` bytes behind base.
[[gnu::always_inline]] static inline ptrdiff_t ordered_load_offset(const ptrdiff_t* base, ptrdiff_t offset) {
  ptrdiff_t v;
  __asm__ volatile("ldr %0, [%1, %2]" : "=r"(v) : "r"(base), "r"(offset) : "memory");
  return v;
}
/// 32 bytes at p + kOffset.
template <int kOffset>
[[gnu::always_inline]] static inline void ordered_load_two(const int32_t* p, int32x4_t& a, int32x4_t& b) {
  __asm__ volatile("ldp %q0, %q1, [%2, %3]" : "=w"(a), "=w"(b) : "r"(p), "n"(kOffset));
}
/// 8 bytes of each of four neighbouring pixels, each in both halves of a register. The instruction wants neighbouring
/// registers, which are named here, as compilers copy a struct of four about: kSet is 0 or 1.
template <int kSet>
[[gnu::always_inline]] static inline void ordered_load_pixels(const int8_t* p, int8x16_t (&v)[4]) {
  if constexpr (kSet == 0) {
    register int8x16_t a __asm__("v24"), b __asm__("v25"), c __asm__("v26"), d __asm__("v27");
    __asm__ volatile("ld4r {v24.2d - v27.2d}, [%4]" : "=w"(a), "=w"(b), "=w"(c), "=w"(d) : "r"(p));
    v[0] = a, v[1] = b, v[2] = c, v[3] = d;
  } else {
    register int8x16_t a __asm__("v28"), b __asm__("v29"), c __asm__("v30"), d __asm__("v31");
    __asm__ volatile("ld4r {v28.2d - v31.2d}, [%4]" : "=w"(a), "=w"(b), "=w"(c), "=w"(d) : "r"(p));
    v[0] = a, v[1] = b, v[2] = c, v[3] = d;
  }
}
/// acc + the low or the high half of w times lane kLane of x, which lies in one of the lower 16 registers.
template <bool kHigh, int kLane>
[[gnu::always_inline]] static inline void ordered_mlal_lane(int32x4_t& acc, int16x8_t w, int16x8_t x) {
  if constexpr (kHigh) {
    __asm__ volatile("smlal2 %0.4s, %1.8h, %2.h[%3]" : "+w"(acc) : "w"(w), "x"(x), "n"(kLane));
  } else {
    __asm__ volatile("smlal %0.4s, %1.4h, %2.h[%3]" : "+w"(acc) : "w"(w), "x"(x), "n"(kLane));
  }
}
/// Products of the low or the high halves, eight int16; added to t; neighbours' sums added to four int32.
template <bool kHigh>
[[gnu::always_inline]] static inline int16x8_t ordered_mull(int8x16_t a, int8x16_t b) {
  int16x8_t t;
  if constexpr (kHigh) {
    __asm__ volatile("smull2 %0.8h, %1.16b, %2.16b" : "=w"(t) : "w"(a), "w"(b));
  } else {
    __asm__ volatile("smull %0.8h, %1.8b, %2.8b" : "=w"(t) : "w"(a), "w"(b));
  }
  return t;
}
template <bool kHigh>
[[gnu::always_inline]] static inline void ordered_mlal(int16x8_t& t, int8x16_t a, int8x16_t b) {
  if constexpr (kHigh) {
    __asm__ volatile("smlal2 %0.8h, %1.16b, %2.16b" : "+w"(t) : "w"(a), "w"(b));
  } else {
    __asm__ volatile("smlal %0.8h, %1.8b, %2.8b" : "+w"(t) : "w"(a), "w"(b));
  }
}
[[gnu::always_inline]] static inline void ordered_adalp(int32x4_t& acc, int16x8_t t) {
  __asm__ volatile("sadalp %0.4s, %1.8h" : "+w"(acc) : "w"(t));
}
#endif

}  // namespace lq::neon
