// int8 panel products: vwmacc of a scalar of x by a vector of 16-bit weights, one weight a 32-bit lane. Tile: 4 pixels
// by as many channels as a group of 4 registers has lanes: 16 at 128 bits, 64 at 512.
#include "kernels/rvv/rvv.h"

namespace lq::rvv {
namespace {

/// Four accumulators (vectors have no size, so no arrays) += x[pixel] · w for one channel.
template <typename X>
[[gnu::always_inline]] inline void add_channel(vint32m4_t& a0, vint32m4_t& a1, vint32m4_t& a2, vint32m4_t& a3,
                                               const X* const (&x)[4], ptrdiff_t at, vint16m2_t w, size_t vl) {
  a0 = __riscv_vwmacc_vx_i32m4(a0, x[0][at], w, vl);
  a1 = __riscv_vwmacc_vx_i32m4(a1, x[1][at], w, vl);
  a2 = __riscv_vwmacc_vx_i32m4(a2, x[2][at], w, vl);
  a3 = __riscv_vwmacc_vx_i32m4(a3, x[3][at], w, vl);
}

/// The channels that lie together in a 32-bit lane of the weights: four bytes, or a pair of int16.
struct Bytes {
  using X = int8_t;
  using W = int8_t;
  static constexpr int kTogether = 4;
  template <typename F>
  [[gnu::always_inline]] static inline void for_each_channel(const W* w, size_t vl, const F& f) {
    const vuint32m4_t lane = __riscv_vle32_v_u32m4(reinterpret_cast<const uint32_t*>(w), vl);
    const vint16m2_t low = __riscv_vreinterpret_v_u16m2_i16m2(__riscv_vnsrl_wx_u16m2(lane, 0, vl));
    f(0, __riscv_vsra_vx_i16m2(__riscv_vsll_vx_i16m2(low, 8, vl), 8, vl));
    f(1, __riscv_vsra_vx_i16m2(low, 8, vl));
    const vint16m2_t high = __riscv_vreinterpret_v_u16m2_i16m2(__riscv_vnsrl_wx_u16m2(lane, 16, vl));
    f(2, __riscv_vsra_vx_i16m2(__riscv_vsll_vx_i16m2(high, 8, vl), 8, vl));
    f(3, __riscv_vsra_vx_i16m2(high, 8, vl));
  }
};
struct Pairs {
  using X = int16_t;
  using W = int16_t;
  static constexpr int kTogether = 2;
  template <typename F>
  [[gnu::always_inline]] static inline void for_each_channel(const W* w, size_t vl, const F& f) {
    const vuint32m4_t lane = __riscv_vle32_v_u32m4(reinterpret_cast<const uint32_t*>(w), vl);
    f(0, __riscv_vreinterpret_v_u16m2_i16m2(__riscv_vnsrl_wx_u16m2(lane, 0, vl)));
    f(1, __riscv_vreinterpret_v_u16m2_i16m2(__riscv_vnsrl_wx_u16m2(lane, 16, vl)));
  }
};

/// Calls add(offset of x, weights) for every group of channels, in the order of the weights.
template <typename Form, typename Add>
[[gnu::always_inline]] inline void for_each_group(const PanelGeometry& g, const typename Form::W* w, const Add& add) {
  const ptrdiff_t step = ptrdiff_t(Form::kTogether) * g.width;
  ptrdiff_t block = 0;
  for (int b = 0; b < g.blocks; ++b, block += g.x_block) {
    for (int t = 0; t < g.taps; ++t) {
      for (int i = 0; i < kBlock; i += Form::kTogether, w += step) add(block + g.tap[t] + i, w);
    }
  }
  for (int t = 0; g.tail > 0 && t < g.taps; ++t) {
    for (int i = 0; i < g.tail; i += Form::kTogether, w += step) add(block + g.tap[t] + i, w);
  }
}

/// Channels [first, first + vl) of all pixels.
template <typename Form>
void run_lanes(const PanelGeometry& g, const typename Form::X* x_base, const typename Form::W* w, const Epilogue& e,
               int first, size_t vl, bool empty_blocks) {
  const vint32m4_t bias = __riscv_vle32_v_i32m4(e.bias + first, vl);
  w += Form::kTogether * first;
  for_each_tile(g, [&](int n, const ptrdiff_t* x_at, const ptrdiff_t* y_at) {
    using X = typename Form::X;
    const X* const x[4] = {x_base + x_at[0], x_base + x_at[1], x_base + x_at[2], x_base + x_at[3]};
    vint32m4_t a0 = bias;
    if (n == 1) {
      for_each_group<Form>(g, w, [&](ptrdiff_t at, const typename Form::W* weights) {
        Form::for_each_channel(weights, vl,
                               [&](int i, vint16m2_t k) { a0 = __riscv_vwmacc_vx_i32m4(a0, x[0][at + i], k, vl); });
      });
      return store_s8(g, e, a0, first, vl, empty_blocks, y_at[0]);
    }
    vint32m4_t a1 = bias, a2 = bias, a3 = bias;
    for_each_group<Form>(g, w, [&](ptrdiff_t at, const typename Form::W* weights) {
      const X* const group[4] = {x[0] + at, x[1] + at, x[2] + at, x[3] + at};
      Form::for_each_channel(weights, vl, [&](int i, vint16m2_t k) { add_channel(a0, a1, a2, a3, group, i, k, vl); });
    });
    store_s8(g, e, a0, first, vl, empty_blocks, y_at[0]);
    store_s8(g, e, a1, first, vl, empty_blocks, y_at[1]);
    if (n > 2) store_s8(g, e, a2, first, vl, empty_blocks, y_at[2]);
    if (n > 3) store_s8(g, e, a3, first, vl, empty_blocks, y_at[3]);
  });
}

template <typename Form, typename Args>
void run(const Args& a, bool empty_blocks) {
  const PanelGeometry& g = a.geometry;
  const int most = int(__riscv_vsetvlmax_e32m4());
  for (int first = 0; first < g.width; first += most) {
    if (first >= g.lanes && !empty_blocks) return;
    const int lanes = g.width - first < most ? g.width - first : most;
    run_lanes<Form>(g, reinterpret_cast<const typename Form::X*>(a.x), a.w, a.epilogue, first,
                    __riscv_vsetvl_e32m4(size_t(lanes)), empty_blocks);
  }
}

}  // namespace

void conv_s8x4(const ConvByteArgs& a) { run<Bytes>(a, false); }
void conv_s8(const ConvS8Args& a) { run<Pairs>(a, true); }

void widen_s8(const WidenS8Args& a) {
  if (a.x_step == kBlock) {
    const size_t n = size_t(a.pixels) * kBlock;
    for (size_t i = 0, vl; i < n; i += vl) {
      vl = __riscv_vsetvl_e8m4(n - i);
      const vint16m8_t v = __riscv_vsext_vf2_i16m8(__riscv_vle8_v_i8m4(a.x + i, vl), vl);
      __riscv_vse16_v_i16m8(a.y + i, __riscv_vsub_vx_i16m8(v, int16_t(a.zero_point), vl), vl);
    }
    return;
  }
  for (int64_t p = 0; p < a.pixels; ++p) {
    const vint16m1_t v = __riscv_vsext_vf2_i16m1(__riscv_vle8_v_i8mf2(a.x + p * a.x_step, kBlock), kBlock);
    __riscv_vse16_v_i16m1(a.y + kBlock * p, __riscv_vsub_vx_i16m1(v, int16_t(a.zero_point), kBlock), kBlock);
  }
}

}  // namespace lq::rvv
