// Depthwise on pairs of taps, scalar twin: the plain sum, whatever was proved of the groups.
#include "kernels/scalar/conv_store.h"

namespace lq::scalar {

void depthwise_taps_u8(const DepthwiseTapsArgs& a) {
  const PanelGeometry& g = a.geometry;
  for (int r = 0; r < g.rows; ++r) {
    for (int c = 0; c < g.cols; ++c) {
      uint32_t acc[kBlock];
      for (int i = 0; i < kBlock; ++i) acc[i] = uint32_t(a.epilogue.bias[i]);
      const uint8_t* x = a.x + r * g.x_row + c * g.x_col;
      const int8_t* w = a.w;
      const int32_t* at = a.at;
      for (int k = 0; k < a.groups; ++k) {
        for (int i = 0; i < kBlock; ++i) acc[i] += uint32_t(int32_t(a.start[k * kBlock + i]));
        for (int p = 0; p < a.group[k]; ++p, at += 2, w += 2 * kBlock) {
          for (int i = 0; i < kBlock; ++i)
            acc[i] += uint32_t(x[at[0] + i] * w[2 * i]) + uint32_t(x[at[1] + i] * w[2 * i + 1]);
        }
      }
      int32_t out[kBlock];
      for (int i = 0; i < kBlock; ++i) out[i] = int32_t(acc[i]);
      store_s8(g, a.epilogue, out, 0, r * g.y_row + c * kBlock);
    }
  }
}

}  // namespace lq::scalar
