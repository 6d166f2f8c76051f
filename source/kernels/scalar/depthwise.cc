// Depthwise convolution of one block of 8 channels, scalar twins.
#include "kernels/scalar/conv_store.h"

namespace lq::scalar {

void depthwise_s8(const DepthwiseS8Args& a) {
  const PanelGeometry& g = a.geometry;
  for (int r = 0; r < g.rows; ++r) {
    for (int c = 0; c < g.cols; ++c) {
      uint32_t acc[8];
      for (int l = 0; l < 8; ++l) acc[l] = uint32_t(a.epilogue.bias[l]);
      const int16_t* pixel = a.x + r * g.x_row + c * g.x_col;
      for (int t = 0; t < g.taps; ++t) {
        const int16_t* x = pixel + g.tap[t];
        const int16_t* w = a.w + 16 * t;
        for (int l = 0; l < 8; ++l) acc[l] += uint32_t(x[2 * l] * w[2 * l]) + uint32_t(x[2 * l + 1] * w[2 * l + 1]);
      }
      int32_t out[8];
      for (int l = 0; l < 8; ++l) out[l] = int32_t(acc[l]);
      store_s8(g, a.epilogue, out, 0, r * g.y_row + c * g.y_col);
    }
  }
}

void depthwise_f32(const DepthwiseF32Args& a) {
  const PanelGeometry& g = a.geometry;
  for (int r = 0; r < g.rows; ++r) {
    for (int c = 0; c < g.cols; ++c) {
      float acc[8];
      for (int l = 0; l < 8; ++l) acc[l] = a.start[l];
      const float* pixel = a.x + r * g.x_row + c * g.x_col;
      for (int t = 0; t < g.taps; ++t) {
        for (int l = 0; l < 8; ++l) acc[l] = __builtin_fmaf(pixel[g.tap[t] + l], a.w[8 * t + l], acc[l]);
      }
      store_f32(g, a.clamp, acc, 0, r * g.y_row + c * g.y_col);
    }
  }
}

void interleave_s16(const InterleaveS16Args& a) {
  for (int64_t p = 0; p < a.pixels; ++p) {
    for (int i = 0; i < 8; ++i) {
      a.y[16 * p + 2 * i] = a.x[8 * p + i];
      a.y[16 * p + 2 * i + 1] = a.x[8 * p + a.shift + i];
    }
  }
}

}  // namespace lq::scalar
