// Float panel product, scalar twin: one fused multiply-add a term, in the canonical order. Without FMA instructions
// __builtin_fmaf is a (slow, exact) library call.
#include "kernels/scalar/conv_store.h"

namespace lq::scalar {
namespace {

template <int kWidth>
inline const float* add_channels(float* acc, const float* x, const float* w, int channels) {
  for (int i = 0; i < channels; ++i, w += kWidth) {
    for (int l = 0; l < kWidth; ++l) acc[l] = __builtin_fmaf(x[i], w[l], acc[l]);
  }
  return w;
}

template <int kWidth>
void run(const ConvF32Args& a) {
  const PanelGeometry& g = a.geometry;
  for (int r = 0; r < g.rows; ++r) {
    for (int c = 0; c < g.cols; ++c) {
      float acc[kWidth];
      const float* start = a.start + r * a.start_row + c * a.start_col;
      for (int l = 0; l < kWidth; ++l) acc[l] = start[l];
      const float* x = a.x + r * g.x_row + c * g.x_col;
      const float* w = a.w;
      for (int b = 0; b < g.blocks; ++b, x += g.x_block) {
        for (int t = 0; t < g.taps; ++t) w = add_channels<kWidth>(acc, x + g.tap[t], w, 8);
      }
      if (g.tail > 0) {
        for (int t = 0; t < g.taps; ++t) w = add_channels<kWidth>(acc, x + g.tap[t], w, g.tail);
      }
      const ptrdiff_t pixel = r * g.y_row + c * g.y_col;
      store_f32(g, a.clamp, acc, 0, pixel);
      if (kWidth == 16) store_f32(g, a.clamp, acc + 8, 1, pixel);
    }
  }
}

}  // namespace

void conv_f32(const ConvF32Args& a) { a.geometry.width == 16 ? run<16>(a) : run<8>(a); }

}  // namespace lq::scalar
