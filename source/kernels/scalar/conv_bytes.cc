// Byte panel products, scalar twins of the dot-product kernels. Sums are unsigned: they wrap modulo 2^32.
#include "kernels/scalar/conv_store.h"

namespace lq::scalar {
namespace {

constexpr int kMaxWidth = 64;

/// acc[l] += Σ over `groups` groups of kTogether channels; returns the weights behind those used.
template <typename X, int kTogether>
inline const int8_t* add_groups(uint32_t* acc, const uint8_t* x, const int8_t* w, int groups, int width) {
  for (int j = 0; j < groups; ++j, x += kTogether, w += kTogether * width) {
    for (int l = 0; l < width; ++l) {
      for (int i = 0; i < kTogether; ++i) acc[l] += uint32_t(int32_t(X(x[i])) * w[kTogether * l + i]);
    }
  }
  return w;
}

template <typename X, int kTogether>
void run(const ConvByteArgs& a) {
  const PanelGeometry& g = a.geometry;
  const int tail_groups = (g.tail + kTogether - 1) / kTogether;
  for (int r = 0; r < g.rows; ++r) {
    for (int c = 0; c < g.cols; ++c) {
      uint32_t acc[kMaxWidth];
      for (int l = 0; l < g.width; ++l) acc[l] = uint32_t(a.epilogue.bias[l]);
      const uint8_t* x = a.x + r * g.x_row + c * g.x_col;
      const int8_t* w = a.w;
      for (int b = 0; b < g.blocks; ++b, x += g.x_block) {
        for (int t = 0; t < g.taps; ++t) w = add_groups<X, kTogether>(acc, x + g.tap[t], w, 8 / kTogether, g.width);
      }
      if (tail_groups > 0) {
        for (int t = 0; t < g.taps; ++t) w = add_groups<X, kTogether>(acc, x + g.tap[t], w, tail_groups, g.width);
      }
      int32_t out[kMaxWidth];
      for (int l = 0; l < g.width; ++l) out[l] = int32_t(acc[l]);
      for (int h = 0; 8 * h < g.lanes; ++h) store_s8(g, a.epilogue, out + 8 * h, h, r * g.y_row + c * g.y_col);
    }
  }
}

}  // namespace

void conv_u8(const ConvByteArgs& a) { run<uint8_t, 4>(a); }
void conv_s8x4(const ConvByteArgs& a) { run<int8_t, 4>(a); }
void conv_s8x8(const ConvByteArgs& a) { run<int8_t, 8>(a); }

void offset_u8(const OffsetU8Args& a) {
  for (int64_t p = 0; p < a.pixels; ++p) {
    for (int i = 0; i < 8; ++i) a.y[8 * p + i] = uint8_t(a.x[p * a.x_step + i] ^ 0x80);
  }
}

}  // namespace lq::scalar
