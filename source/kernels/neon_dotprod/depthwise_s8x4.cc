// Depthwise on sdot: four rows of a column at once, a pair of vectors of 4 channels an output.
#include "kernels/kernels_of_this_build.h"
#include "kernels/neon/conv_store.h"

namespace lq::neon {
void depthwise_s8x4(const DepthwiseByteArgs& args);
}

namespace lq::neon_dotprod {
namespace {

constexpr int kOffset = 0;

/// 16 bytes of a row are two pixels.
[[gnu::always_inline]] static inline void interleave_two(const int8_t* const (&rows)[4], int p, uint8_t* y) {
  const ptrdiff_t at = ptrdiff_t(8) * p;
  const int8x16x2_t ab = vzipq_s8(vld1q_s8(rows[0] + at), vld1q_s8(rows[1] + at));
  const int8x16x2_t cd = vzipq_s8(vld1q_s8(rows[2] + at), vld1q_s8(rows[3] + at));
  int16_t* out = reinterpret_cast<int16_t*>(y);
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    const int16x8x2_t z = vzipq_s16(vreinterpretq_s16_s8(ab.val[k]), vreinterpretq_s16_s8(cd.val[k]));
    vst1q_s16(out + 16 * k, z.val[0]);
    vst1q_s16(out + 16 * k + 8, z.val[1]);
  }
}

#include "kernels/depthwise_quads_inline.h"

/// kPixels neighbouring outputs of a row.
template <int kPixels, bool kWhole>
[[gnu::always_inline]] static inline void tile(const DepthwiseByteArgs& a, const neon::BlockStore<kWhole>& out,
                                               const uint8_t* x, int span, ptrdiff_t y_at) {
  int32x4_t acc[kPixels][2];
#pragma GCC unroll 4
  for (int p = 0; p < kPixels; ++p) {
    acc[p][0] = vld1q_s32(a.epilogue.bias);
    acc[p][1] = vld1q_s32(a.epilogue.bias + 4);
  }
  const int8_t* w = a.w;
  for (int q = 0; q < (a.taps_h + 3) / 4; ++q) {
    const int8_t* in = reinterpret_cast<const int8_t*>(x) + ptrdiff_t(q) * span * 32;
    for (int t = 0; t < a.taps_w; ++t, w += 32, in += ptrdiff_t(a.dilation_w) * 32) {
      const int8x16_t w0 = vld1q_s8(w), w1 = vld1q_s8(w + 16);
#pragma GCC unroll 4
      for (int p = 0; p < kPixels; ++p) {
        const int8_t* v = in + ptrdiff_t(p) * a.stride_w * 32;
        acc[p][0] = vdotq_s32(acc[p][0], vld1q_s8(v), w0);
        acc[p][1] = vdotq_s32(acc[p][1], vld1q_s8(v + 16), w1);
      }
    }
  }
  if constexpr (kPixels % 2 == 0) {
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; p += 2) out.store_two(acc[p], acc[p + 1], y_at + 8 * p);
  } else {
    out.store(acc[0], y_at);
  }
}

template <bool kWhole>
[[gnu::noinline]] void run(const DepthwiseByteArgs& args) {
  const DepthwiseByteArgs a = args;  // bytes stored may alias what a pointer reaches
  const PanelGeometry g = output_geometry(a);
  const neon::BlockStore<kWhole> out(g, a.epilogue);
  const int span = int(depthwise_span(a.cols, a.stride_w, a.taps_w, a.dilation_w));
  for (int r = 0; r < a.rows; ++r) {
    fill_quads(a, r, span);
    const uint8_t* x = a.quads;
    ptrdiff_t y = r * a.y_row;
    int c = 0;
    for (; c + 4 <= a.cols; c += 4, x += ptrdiff_t(4) * a.stride_w * 32, y += 32) tile<4, kWhole>(a, out, x, span, y);
    for (; c < a.cols; ++c, x += ptrdiff_t(a.stride_w) * 32, y += 8) tile<1, kWhole>(a, out, x, span, y);
  }
}

}  // namespace

void depthwise_s8x4(const DepthwiseByteArgs& a) {
  // Small windows leave lanes of sdot empty, and laying rows side by side costs more than it saves.
  const bool square = a.taps_h == a.taps_w && a.dilation_h == 1 && a.dilation_w == 1;
  if (!has::kDepthwiseWindows || (square && (a.taps_h == 3 || a.taps_h == 5))) return neon::depthwise_s8x4(a);
  a.lanes == kBlock && !a.epilogue.float_output ? run<true>(a) : run<false>(a);
}

}  // namespace lq::neon_dotprod
