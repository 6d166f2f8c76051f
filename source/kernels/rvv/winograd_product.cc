// The products of exact integer Winograd, RISC-V V: vwmacc of a scalar of v by the weights of 16 output channels, which
// every vector length holds in a group of 4 registers. Tile: 6 tiles × 16 channels.
#include <riscv_vector.h>

#include "kernels/kernel_types.h"
#include "kernels/winograd_kernels.h"

namespace lq::rvv {
namespace {

constexpr int kMostTiles = 6, kMostPanels = 1;

/// Vectors have no size, so no arrays; those from kTiles on are not used.
template <int kTiles, typename F>
[[gnu::always_inline]] static inline void for_each_sum(vint32m4_t& a0, vint32m4_t& a1, vint32m4_t& a2, vint32m4_t& a3,
                                                       vint32m4_t& a4, vint32m4_t& a5, const F& f) {
  f(0, a0);
  if constexpr (kTiles > 1) f(1, a1);
  if constexpr (kTiles > 2) f(2, a2);
  if constexpr (kTiles > 3) f(3, a3);
  if constexpr (kTiles > 4) f(4, a4);
  if constexpr (kTiles > 5) f(5, a5);
}

template <int kTiles, int>
static void tile(const WinogradProductArgs& a, const int16_t* x, const int16_t* w, int32_t* sum) {
  const size_t vl = __riscv_vsetvl_e32m4(kWinogradPanel);
  vint32m4_t a0 = __riscv_vmv_v_x_i32m4(0, vl), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0;
  const auto for_each = [&](const auto& f) __attribute__((always_inline)) {
    for_each_sum<kTiles>(a0, a1, a2, a3, a4, a5, f);
  };
  if (a.accumulate) {
    for_each([&](int t, vint32m4_t& acc)
                 __attribute__((always_inline)) { acc = __riscv_vle32_v_i32m4(sum + kWinogradPanel * t, vl); });
  }
  const auto add_channel = [&](int i) __attribute__((always_inline)) {
    const vint16m2_t weights = __riscv_vle16_v_i16m2(w, vl);
    w += kWinogradPanel;
    for_each([&](int t, vint32m4_t& acc)
                 __attribute__((always_inline)) { acc = __riscv_vwmacc_vx_i32m4(acc, x[8 * t + i], weights, vl); });
  };
  for (int b = a.pairs / 4; b > 0; --b, x += a.v_block) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) add_channel(i);
  }
  for (int i = 0; i < 2 * (a.pairs % 4); ++i) add_channel(i);
  for_each([&](int t, vint32m4_t& acc)
               __attribute__((always_inline)) { __riscv_vse32_v_i32m4(sum + kWinogradPanel * t, acc, vl); });
}

#include "kernels/winograd_tiles_inline.h"

}  // namespace

void winograd23_s8x1(const WinogradProductArgs& a) { product(a, winograd_positions(2)); }
void winograd43_s8x1(const WinogradProductArgs& a) { product(a, winograd_positions(4)); }

}  // namespace lq::rvv
