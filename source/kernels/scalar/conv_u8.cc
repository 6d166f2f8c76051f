// uint8 × int8 panel product, scalar twin of the vpdpbusd kernels. Sums are unsigned: they wrap modulo 2^32.
#include "kernels/scalar/conv_store.h"

namespace lq::scalar {
namespace {

constexpr int kMaxWidth = 64;

/// acc[l] += Σ over `quads` quads of channels; returns the weights behind those used.
inline const int8_t* add_quads(uint32_t* acc, const uint8_t* x, const int8_t* w, int quads, int width) {
  for (int j = 0; j < quads; ++j, x += 4, w += 4 * width) {
    for (int l = 0; l < width; ++l) {
      for (int i = 0; i < 4; ++i) acc[l] += uint32_t(int32_t(x[i]) * w[4 * l + i]);
    }
  }
  return w;
}

}  // namespace

void conv_u8(const ConvU8Args& a) {
  const PanelGeometry& g = a.geometry;
  const int tail_quads = (g.tail + 3) / 4;
  for (int r = 0; r < g.rows; ++r) {
    for (int c = 0; c < g.cols; ++c) {
      uint32_t acc[kMaxWidth];
      for (int l = 0; l < g.width; ++l) acc[l] = uint32_t(a.epilogue.bias[l]);
      const uint8_t* x = a.x + r * g.x_row + c * g.x_col;
      const int8_t* w = a.w;
      for (int b = 0; b < g.blocks; ++b, x += g.x_block) {
        for (int t = 0; t < g.taps; ++t) w = add_quads(acc, x + g.tap[t], w, 2, g.width);
      }
      if (tail_quads > 0) {
        for (int t = 0; t < g.taps; ++t) w = add_quads(acc, x + g.tap[t], w, tail_quads, g.width);
      }
      int32_t out[kMaxWidth];
      for (int l = 0; l < g.width; ++l) out[l] = int32_t(acc[l]);
      for (int h = 0; 8 * h < g.lanes; ++h) store_s8(g, a.epilogue, out + 8 * h, h, r * g.y_row + c * g.y_col);
    }
  }
}

void offset_u8(const OffsetU8Args& a) {
  for (int64_t p = 0; p < a.pixels; ++p) {
    for (int i = 0; i < 8; ++i) a.y[8 * p + i] = uint8_t(a.x[p * a.x_step + i] ^ 0x80);
  }
}

}  // namespace lq::scalar
