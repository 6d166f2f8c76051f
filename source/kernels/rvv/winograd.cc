// Transforms of exact integer Winograd, RISC-V V: on 128 bits, whatever the vector's length, since vectors of any
// length cannot be elements of arrays. Lanes are unsigned, as sums wrap.
#include "kernels/rvv/rvv.h"
#include "kernels/winograd_kernels.h"

namespace lq::rvv {
namespace {

typedef int8_t Bytes __attribute__((vector_size(8), aligned(1), may_alias));
typedef uint16_t Halves __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint32_t Words __attribute__((vector_size(16), aligned(4), may_alias));
typedef int16_t SignedHalves __attribute__((vector_size(16)));
typedef int32_t SignedWords __attribute__((vector_size(16)));

/// int16 and int32 lanes as types of their own, so that the transforms can be written once.
struct S16 {
  static constexpr int kLanes = 8;
  Halves v;
};
struct S32 {
  Words v;
};
[[gnu::always_inline]] static inline S16 add(S16 a, S16 b) { return {a.v + b.v}; }
[[gnu::always_inline]] static inline S16 sub(S16 a, S16 b) { return {a.v - b.v}; }
[[gnu::always_inline]] static inline S32 add(S32 a, S32 b) { return {a.v + b.v}; }
[[gnu::always_inline]] static inline S32 sub(S32 a, S32 b) { return {a.v - b.v}; }
template <int kBits>
[[gnu::always_inline]] static inline S16 shl(S16 a) {
  return {a.v << kBits};
}
[[gnu::always_inline]] static inline S16 widen(const int8_t* p) {
  return {(Halves) __builtin_convertvector(*reinterpret_cast<const Bytes*>(p), SignedHalves)};
}
[[gnu::always_inline]] static inline S16 splat(int16_t value) { return {Halves{} + uint16_t(value)}; }
[[gnu::always_inline]] static inline S16 load(const int16_t* p) { return {*reinterpret_cast<const Halves*>(p)}; }
[[gnu::always_inline]] static inline void store(int16_t* p, S16 v) { *reinterpret_cast<Halves*>(p) = v.v; }
[[gnu::always_inline]] static inline S16 difference(const int8_t* q, S16 zero) { return sub(widen(q), zero); }
[[gnu::always_inline]] static inline S32 load_sums(const int32_t* p) { return {*reinterpret_cast<const Words*>(p)}; }
[[gnu::always_inline]] static inline S32 times(S32 a, int32_t factor) { return {a.v * uint32_t(factor)}; }
[[gnu::always_inline]] static inline S32 shift_right(S32 a, int bits) { return {(Words)((SignedWords)a.v >> bits)}; }

/// Whole blocks of int8 two pixels at a time.
struct PixelStore {
  const PanelGeometry& g;
  const Epilogue& e;
  bool whole;
  float multiplier[16];  // of a block, twice

  PixelStore(const PanelGeometry& geometry, const Epilogue& epilogue)
      : g(geometry), e(epilogue), whole(!epilogue.float_output && geometry.lanes == kBlock) {
    for (int i = 0; i < 16; ++i) multiplier[i] = e.multiplier[i % kBlock];
  }
  [[gnu::always_inline]] void store(const S32 (&a)[2], ptrdiff_t pixel) const {
    const size_t vl = __riscv_vsetvl_e32m4(kBlock);
    store_s8(g, e, __riscv_vle32_v_i32m4(reinterpret_cast<const int32_t*>(a), vl), 0, vl, false, pixel);
  }
  [[gnu::always_inline]] void store_two(const S32 (&a)[2], const S32 (&b)[2], ptrdiff_t pixel) const {
    if (!whole) return store(a, pixel), store(b, pixel + kBlock);
    const size_t vl = __riscv_vsetvl_e32m4(2 * kBlock);  // 128 bits have them
    const S32 sums[4] = {a[0], a[1], b[0], b[1]};
    const vint32m4_t q = requantize(__riscv_vle32_v_i32m4(reinterpret_cast<const int32_t*>(sums), vl),
                                    __riscv_vle32_v_f32m4(multiplier, vl), e, vl);
    __riscv_vse8_v_i8m1(static_cast<int8_t*>(g.y) + pixel,
                        __riscv_vncvt_x_x_w_i8m1(__riscv_vncvt_x_x_w_i16m2(q, vl), vl), vl);
  }
};
template <typename F>
[[gnu::always_inline]] static inline void with_store(const PanelGeometry& g, const Epilogue& e, const F& f) {
  f(PixelStore(g, e));
}

#include "kernels/winograd_128_inline.h"

}  // namespace

void winograd_input(const WinogradInputArgs& a) { a.m == 4 ? input<4>(a) : input<2>(a); }
void winograd_weights(const WinogradWeightsArgs& a) { a.m == 4 ? weights<4>(a) : weights<2>(a); }
void winograd_output(const WinogradOutputArgs& a) { a.m == 4 ? output<4>(a) : output<2>(a); }

}  // namespace lq::rvv
