// Float panel product and depthwise for 32-bit ARM: one fused multiply-add of VFPv4 a term in the canonical order. NEON
// would do four at a time, but it flushes denormals, so these are no vectors: a tile of 4 pixels × 4 channels is 16 of
// VFP's 32 registers. A panel of 16 channels is four tiles.
#include "kernels/conv_kernels.h"

namespace lq::neon_vfpv4 {
namespace {

constexpr int kPixels = 4, kChannels = 4;

[[gnu::always_inline]] inline float clamp_nan_to_low(float v, float low, float high) {
  const float t = v > low ? v : low;
  return t < high ? t : high;
}

/// Channels [first, first + 4) of one pixel: −0 becomes +0, clamp, lanes.
[[gnu::always_inline]] inline void store(const PanelGeometry& g, const FloatClamp& clamp, const float (&acc)[kChannels],
                                         int first, ptrdiff_t pixel) {
  float* y = static_cast<float*>(g.y) + first / kBlock * g.y_block + pixel + first % kBlock;
#pragma GCC unroll 4
  for (int i = 0; i < kChannels; ++i) {
    const bool real = first + i < g.lanes;
    const float t = acc[i] + 0.0f, v = clamp.enabled ? clamp_nan_to_low(t, clamp.low, clamp.high) : t;
    if (real || g.y_blocked) y[i] = real ? v : 0.0f;
  }
}

[[gnu::always_inline]] inline void add_channel(float (&acc)[kPixels][kChannels], const float* const (&x)[kPixels],
                                               ptrdiff_t at, const float* w) {
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
    const float in = x[p][at];
#pragma GCC unroll 4
    for (int i = 0; i < kChannels; ++i) acc[p][i] = __builtin_fmaf(in, w[i], acc[p][i]);
  }
}

/// `n` pixels; x and start repeat the last one up to 4.
void tile(const ConvF32Args& a, int first, const float* const (&x)[kPixels], const float* const (&start)[kPixels],
          const ptrdiff_t* y_at, int n) {
  const PanelGeometry& g = a.geometry;
  float acc[kPixels][kChannels];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
    for (int i = 0; i < kChannels; ++i) acc[p][i] = start[p][first + i];
  }
  const float* w = a.w + first;
  ptrdiff_t block = 0;
  for (int b = 0; b < g.blocks; ++b, block += g.x_block) {
    for (int t = 0; t < g.taps; ++t) {
      for (int i = 0; i < kBlock; ++i, w += g.width) add_channel(acc, x, block + g.tap[t] + i, w);
    }
  }
  for (int t = 0; g.tail > 0 && t < g.taps; ++t) {
    for (int i = 0; i < g.tail; ++i, w += g.width) add_channel(acc, x, block + g.tap[t] + i, w);
  }
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
    if (p < n) store(g, a.clamp, acc[p], first, y_at[p]);
  }
}

}  // namespace

void conv_f32(const ConvF32Args& a) {
  const PanelGeometry& g = a.geometry;
  int row = 0, col = 0;
  for (int64_t left = int64_t(g.rows) * g.cols; left > 0; left -= kPixels) {
    const float *x[kPixels], *start[kPixels];
    ptrdiff_t y_at[kPixels];
    const int n = left < kPixels ? int(left) : kPixels;
    for (int p = 0; p < kPixels; ++p) {
      x[p] = p < n ? a.x + row * g.x_row + col * g.x_col : x[p - 1];
      start[p] = p < n ? a.start + row * a.start_row + col * a.start_col : start[p - 1];
      y_at[p] = p < n ? row * g.y_row + col * g.y_col : y_at[p - 1];
      if (p < n && ++col == g.cols) col = 0, ++row;
    }
    for (int first = 0; first < g.width; first += kChannels) tile(a, first, x, start, y_at, n);
  }
}

void depthwise_f32(const DepthwiseF32Args& a) {
  const PanelGeometry& g = a.geometry;
  for (int r = 0; r < g.rows; ++r) {
    for (int c = 0; c < g.cols; ++c) {
      const float* pixel = a.x + r * g.x_row + c * g.x_col;
      for (int first = 0; first < kBlock; first += kChannels) {
        float acc[kChannels];
#pragma GCC unroll 4
        for (int i = 0; i < kChannels; ++i) acc[i] = a.start[first + i];
        for (int t = 0; t < g.taps; ++t) {
#pragma GCC unroll 4
          for (int i = 0; i < kChannels; ++i)
            acc[i] = __builtin_fmaf(pixel[g.tap[t] + first + i], a.w[kBlock * t + first + i], acc[i]);
        }
        store(g, a.clamp, acc, first, r * g.y_row + c * g.y_col);
      }
    }
  }
}

}  // namespace lq::neon_vfpv4
