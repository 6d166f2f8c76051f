// Depthwise on vpdpbusd, AVX-VNNI: four rows of a column at once, a vector of 8 channels an output.
#include "kernels/avx2/conv_store.h"

namespace lq::avxvnni {
namespace {

#include "kernels/avx2/depthwise_rows.h"
#include "kernels/depthwise_quads_inline.h"

/// kPixels neighbouring outputs of a row.
template <int kPixels>
[[gnu::always_inline]] static inline void tile(const DepthwiseByteArgs& a, const avx2::S8Store<1>& out,
                                               const uint8_t* x, int span, ptrdiff_t y_at) {
  __m256i acc[kPixels];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) acc[p] = avx2::load_256(a.epilogue.bias);
  const int8_t* w = a.w;
  for (int q = 0; q < (a.taps_h + 3) / 4; ++q) {
    const uint8_t* in = x + ptrdiff_t(q) * span * 32;
    for (int t = 0; t < a.taps_w; ++t, w += 32, in += ptrdiff_t(a.dilation_w) * 32) {
      const __m256i weights = avx2::load_256(w);
#pragma GCC unroll 4
      for (int p = 0; p < kPixels; ++p)
        acc[p] = _mm256_dpbusd_avx_epi32(acc[p], avx2::load_256(in + ptrdiff_t(p) * a.stride_w * 32), weights);
    }
  }
  if (kPixels % 2 == 0 && !a.epilogue.float_output) {
#pragma GCC unroll 4
    for (int p = 0; p + 1 < kPixels; p += 2) out.store_two(acc[p], acc[p + 1], y_at + 8 * p, y_at + 8 * p + 8);
  } else {
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) out.store(&acc[p], y_at + 8 * p);
  }
}

}  // namespace

void depthwise_u8(const DepthwiseByteArgs& a) {
  const PanelGeometry g = output_geometry(a);
  const avx2::S8Store<1> out(g, a.epilogue);
  const int span = int(depthwise_span(a.cols, a.stride_w, a.taps_w, a.dilation_w));
  for (int r = 0; r < a.rows; ++r) {
    fill_quads(a, r, span);
    const uint8_t* x = a.quads;
    ptrdiff_t y = r * a.y_row;
    int c = 0;
    for (; c + 4 <= a.cols; c += 4, x += ptrdiff_t(4) * a.stride_w * 32, y += 32) tile<4>(a, out, x, span, y);
    for (; c < a.cols; ++c, x += ptrdiff_t(a.stride_w) * 32, y += 8) tile<1>(a, out, x, span, y);
  }
}

}  // namespace lq::avxvnni
