// Depthwise on bytes, scalar twin: the sum itself, without the quads the vector kernels build.
#include "kernels/scalar/conv_store.h"

namespace lq::scalar {

namespace {

/// kOffset: what x holds beyond q.
template <int kOffset>
void depthwise(const DepthwiseByteArgs& a) {
  PanelGeometry g{};
  g.y = a.y;
  g.lanes = a.lanes;
  g.y_blocked = true;
  for (int r = 0; r < a.rows; ++r) {
    for (int c = 0; c < a.cols; ++c) {
      uint32_t acc[kBlock];
      for (int i = 0; i < kBlock; ++i) acc[i] = uint32_t(a.epilogue.bias[i]);
      for (int th = 0; th < a.taps_h; ++th) {
        const int row = a.first_row + r * a.stride_h + th * a.dilation_h;
        for (int tw = 0; tw < a.taps_w; ++tw) {
          const int col = a.first_col + c * a.stride_w + tw * a.dilation_w;
          const bool inside = row >= 0 && row < a.in_h && col >= 0 && col < a.in_w;
          const int8_t* w = a.w + (th / 4 * a.taps_w + tw) * 4 * kBlock + th % 4;
          for (int i = 0; i < kBlock; ++i) {
            const int32_t x = inside ? a.x[(int64_t(row) * a.in_w + col) * kBlock + i] : a.zero_point;
            acc[i] += uint32_t((x + kOffset) * w[4 * i]);
          }
        }
      }
      int32_t out[kBlock];
      for (int i = 0; i < kBlock; ++i) out[i] = int32_t(acc[i]);
      store_s8(g, a.epilogue, out, 0, r * a.y_row + c * kBlock);
    }
  }
}

}  // namespace

void depthwise_u8(const DepthwiseByteArgs& a) { depthwise<128>(a); }
void depthwise_s8x4(const DepthwiseByteArgs& a) { depthwise<0>(a); }

}  // namespace lq::scalar
