// int8 panel product, scalar twin. Sums are unsigned: they wrap modulo 2^32 as the vector kernels' do.
#include "kernels/scalar/conv_store.h"

namespace lq::scalar {
namespace {

/// acc[l] += Σ over `pairs` pairs of channels; returns the weights behind those used.
template <int kWidth>
inline const int16_t* add_pairs(uint32_t* acc, const int16_t* x, const int16_t* w, int pairs) {
  for (int j = 0; j < pairs; ++j, w += 2 * kWidth) {
    const int32_t x0 = x[2 * j], x1 = x[2 * j + 1];
    for (int l = 0; l < kWidth; ++l) acc[l] += uint32_t(x0 * w[2 * l]) + uint32_t(x1 * w[2 * l + 1]);
  }
  return w;
}

template <int kWidth>
void run(const ConvS8Args& a) {
  const PanelGeometry& g = a.geometry;
  const int tail_pairs = (g.tail + 1) / 2;
  for (int r = 0; r < g.rows; ++r) {
    for (int c = 0; c < g.cols; ++c) {
      uint32_t acc[kWidth];
      for (int l = 0; l < kWidth; ++l) acc[l] = uint32_t(a.epilogue.bias[l]);
      const int16_t* x = a.x + r * g.x_row + c * g.x_col;
      const int16_t* w = a.w;
      for (int b = 0; b < g.blocks; ++b, x += g.x_block) {
        for (int t = 0; t < g.taps; ++t) w = add_pairs<kWidth>(acc, x + g.tap[t], w, 4);
      }
      if (tail_pairs > 0) {
        for (int t = 0; t < g.taps; ++t) w = add_pairs<kWidth>(acc, x + g.tap[t], w, tail_pairs);
      }
      int32_t out[kWidth];
      for (int l = 0; l < kWidth; ++l) out[l] = int32_t(acc[l]);
      const ptrdiff_t pixel = r * g.y_row + c * g.y_col;
      store_s8(g, a.epilogue, out, 0, pixel);
      if (kWidth == 16) store_s8(g, a.epilogue, out + 8, 1, pixel);
    }
  }
}

}  // namespace

void conv_s8(const ConvS8Args& a) { a.geometry.width == 16 ? run<16>(a) : run<8>(a); }

void widen_s8(const WidenS8Args& a) {
  for (int64_t p = 0; p < a.pixels; ++p) {
    for (int i = 0; i < 8; ++i) a.y[8 * p + i] = int16_t(a.x[p * a.x_step + i] - a.zero_point);
  }
}

}  // namespace lq::scalar
