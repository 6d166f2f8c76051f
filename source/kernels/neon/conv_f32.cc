// Float panel product and depthwise, Advanced SIMD: one fused multiply-add a term in the canonical order, vectorised
// over output channels. Tile: 6 pixels × 16 channels (24 accumulators), or × 8.
#include "kernels/neon/conv_store.h"

#if defined(__aarch64__)  // ARMv7 takes neon_vfpv4's
namespace lq::neon {
namespace {

constexpr int kTilePixels = 6;

/// v > low ? v : low, then v < high ? v : high: NaN -> low, and of zeros of both signs the one the scalar rule takes.
[[gnu::always_inline]] static inline float32x4_t clamp_nan_to_low(float32x4_t v, float32x4_t low, float32x4_t high) {
  const float32x4_t t = vbslq_f32(vcgtq_f32(v, low), v, low);
  return vbslq_f32(vcltq_f32(t, high), t, high);
}

/// −0 becomes +0, clamp, lanes. kVectors of 4 channels.
template <int kVectors>
[[gnu::always_inline]] static inline void store_f32(const PanelGeometry& g, const FloatClamp& clamp,
                                                    const float32x4_t* acc, ptrdiff_t pixel) {
  float* y = static_cast<float*>(g.y) + pixel;
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const int lanes = g.lanes - 4 * v;
    float32x4_t t = vaddq_f32(acc[v], vdupq_n_f32(0));
    if (clamp.enabled) t = clamp_nan_to_low(t, vdupq_n_f32(clamp.low), vdupq_n_f32(clamp.high));
    float* to = y + v / 2 * g.y_block + v % 2 * 4;
    if (lanes >= 4) {
      vst1q_f32(to, t);
      continue;
    }
    float lane[4];
    vst1q_f32(lane, t);
    for (int i = 0; i < 4; ++i) {
      if (i < lanes) to[i] = lane[i];
      if (i >= lanes && g.y_blocked) to[i] = 0.0f;
    }
  }
}

template <int kPixels, int kVectors>
[[gnu::always_inline]] static inline void add_channel(float32x4_t (&acc)[kPixels][kVectors],
                                                      const float* const (&x)[kPixels], ptrdiff_t offset,
                                                      const float* w) {
  float32x4_t weights[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) weights[v] = vld1q_f32(w + 4 * v);
#pragma GCC unroll 6
  for (int p = 0; p < kPixels; ++p) {
    const float32x4_t in = vld1q_dup_f32(x[p] + offset);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) acc[p][v] = vfmaq_f32(acc[p][v], in, weights[v]);
  }
}

template <int kPixels, int kVectors>
[[gnu::noinline]] void tile(const ConvF32Args& a, const ptrdiff_t* x_at, const ptrdiff_t* start_at,
                            const ptrdiff_t* y_at) {
  const PanelGeometry& g = a.geometry;
  const float* x[kPixels];
  float32x4_t acc[kPixels][kVectors];
#pragma GCC unroll 6
  for (int p = 0; p < kPixels; ++p) {
    x[p] = a.x + x_at[p];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) acc[p][v] = vld1q_f32(a.start + start_at[p] + 4 * v);
  }
  const float* w = a.w;
  ptrdiff_t block = 0;
  for (int b = 0; b < g.blocks; ++b, block += g.x_block) {
    for (int t = 0; t < g.taps; ++t) {
      for (int i = 0; i < 8; ++i, w += 4 * kVectors) add_channel<kPixels, kVectors>(acc, x, block + g.tap[t] + i, w);
    }
  }
  for (int t = 0; g.tail > 0 && t < g.taps; ++t) {
    for (int i = 0; i < g.tail; ++i, w += 4 * kVectors) add_channel<kPixels, kVectors>(acc, x, block + g.tap[t] + i, w);
  }
#pragma GCC unroll 6
  for (int p = 0; p < kPixels; ++p) store_f32<kVectors>(g, a.clamp, acc[p], y_at[p]);
}

template <int kPixels, int kVectors>
void tile_of(int n, const ConvF32Args& a, const ptrdiff_t* x_at, const ptrdiff_t* start_at, const ptrdiff_t* y_at) {
  if constexpr (kPixels > 1) {
    if (n < kPixels) return tile_of<kPixels - 1, kVectors>(n, a, x_at, start_at, y_at);
  }
  tile<kPixels, kVectors>(a, x_at, start_at, y_at);
}

template <int kVectors>
void run(const ConvF32Args& a) {
  const PanelGeometry& g = a.geometry;
  int row = 0, col = 0;
  for (int64_t left = int64_t(g.rows) * g.cols; left > 0; left -= kTilePixels) {
    ptrdiff_t x_at[kTilePixels], start_at[kTilePixels], y_at[kTilePixels];
    const int n = left < kTilePixels ? int(left) : kTilePixels;
    for (int p = 0; p < n; ++p) {
      x_at[p] = row * g.x_row + col * g.x_col;
      start_at[p] = row * a.start_row + col * a.start_col;
      y_at[p] = row * g.y_row + col * g.y_col;
      if (++col == g.cols) col = 0, ++row;
    }
    tile_of<kTilePixels, kVectors>(n, a, x_at, start_at, y_at);
  }
}

template <int kPixels>
[[gnu::always_inline]] static inline void depthwise_tile(const DepthwiseF32Args& a, const float* x, ptrdiff_t y_at) {
  const PanelGeometry& g = a.geometry;
  float32x4_t acc[kPixels][2];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) acc[p][0] = vld1q_f32(a.start), acc[p][1] = vld1q_f32(a.start + 4);
  for (int t = 0; t < g.taps; ++t) {
    const float32x4_t w0 = vld1q_f32(a.w + 8 * t), w1 = vld1q_f32(a.w + 8 * t + 4);
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) {
      const float* in = x + g.tap[t] + p * g.x_col;
      acc[p][0] = vfmaq_f32(acc[p][0], vld1q_f32(in), w0);
      acc[p][1] = vfmaq_f32(acc[p][1], vld1q_f32(in + 4), w1);
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) store_f32<2>(g, a.clamp, acc[p], y_at + p * g.y_col);
}

}  // namespace

void conv_f32(const ConvF32Args& a) { a.geometry.width == 16 ? run<4>(a) : run<2>(a); }

void depthwise_f32(const DepthwiseF32Args& a) {
  const PanelGeometry& g = a.geometry;
  for (int r = 0; r < g.rows; ++r) {
    const float* x = a.x + r * g.x_row;
    ptrdiff_t y = r * g.y_row;
    int c = 0;
    for (; c + 4 <= g.cols; c += 4, x += 4 * g.x_col, y += 4 * g.y_col) depthwise_tile<4>(a, x, y);
    for (; c < g.cols; ++c, x += g.x_col, y += g.y_col) depthwise_tile<1>(a, x, y);
  }
}

}  // namespace lq::neon
#endif
