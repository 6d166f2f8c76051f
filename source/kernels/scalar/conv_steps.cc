// Byte panel product in steps, scalar twin: the plain sum, whatever was proved of the steps. Sums wrap modulo 2^32.
#include "kernels/scalar/conv_store.h"

namespace lq::scalar {

void conv_steps_u8(const ConvStepsArgs& a) {
  const PanelGeometry& g = a.geometry;
  const int steps = a.twice + a.once + a.pairs;
  for (int r = 0; r < g.rows; ++r) {
    for (int c = 0; c < g.cols; ++c) {
      uint32_t acc[16];
      for (int l = 0; l < g.width; ++l) acc[l] = uint32_t(a.epilogue.bias[l]);
      const int8_t* w = a.w;
      for (int s = 0; s < steps; ++s) {
        const uint8_t* x = a.x + r * g.x_row + c * g.x_col + a.at[s];
        for (int half = 0; half < 2; ++half, w += 4 * g.width) {
          for (int l = 0; l < g.width; ++l) {
            for (int i = 0; i < 4; ++i) acc[l] += uint32_t(int32_t(x[4 * half + i]) * w[4 * l + i]);
          }
        }
      }
      int32_t out[16];
      for (int l = 0; l < g.width; ++l) out[l] = int32_t(acc[l]);
      for (int h = 0; 8 * h < g.width; ++h) store_s8(g, a.epilogue, out + 8 * h, h, r * g.y_row + c * g.y_col);
    }
  }
}

}  // namespace lq::scalar
