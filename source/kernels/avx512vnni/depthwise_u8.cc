// Depthwise on vpdpbusd, AVX-512: four rows of a column at once, two neighbouring outputs of 8 channels a vector.
#include "kernels/avx512vnni/conv_store.h"

namespace lq::avx512vnni {
namespace {

#include "kernels/avx2/depthwise_rows.h"
#include "kernels/depthwise_quads_inline.h"

[[gnu::always_inline]] static inline __m512i twice(const void* p) {
  return _mm512_broadcast_i64x4(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
/// Two outputs `step` bytes apart in the quads.
[[gnu::always_inline]] static inline __m512i load_two(const uint8_t* p, ptrdiff_t step) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + step)), 1);
}

/// The epilogue of two pixels of one block.
struct StoreTwo {
  __m512 multiplier, low, high;
  __m512i zero_point;
  __mmask16 mask;
  const DepthwiseByteArgs& a;
  explicit StoreTwo(const DepthwiseByteArgs& args) : a(args) {
    multiplier = _mm512_broadcast_f32x8(_mm256_loadu_ps(a.epilogue.multiplier));
    low = _mm512_set1_ps(a.epilogue.low);
    high = _mm512_set1_ps(a.epilogue.high);
    zero_point = _mm512_set1_epi32(a.epilogue.zero_point);
    mask = __mmask16(((1u << a.lanes) - 1) * 0x101u);
  }
  /// Pixels y_at and y_at + 8; only the first if `one`.
  [[gnu::always_inline]] void store(__m512i acc, ptrdiff_t y_at, bool one) const {
    __m512 t = _mm512_mul_ps(_mm512_cvtepi32_ps(acc), multiplier);
    if (a.epilogue.float_output) {
      if (a.epilogue.float_clamp) t = clamp_ps(t, low, high);
      _mm512_mask_storeu_ps(static_cast<float*>(a.y) + y_at, one ? 0xFF : 0xFFFF, _mm512_maskz_mov_ps(mask, t));
      return;
    }
    const __m512i q = _mm512_add_epi32(_mm512_maskz_cvtps_epi32(mask, clamp_ps(t, low, high)), zero_point);
    _mm_mask_storeu_epi8(static_cast<int8_t*>(a.y) + y_at, one ? 0xFF : 0xFFFF, _mm512_cvtepi32_epi8(q));
  }
};

/// kPairs pairs of neighbouring outputs; with `one` the pair is a single output, computed twice.
template <int kPairs>
[[gnu::always_inline]] static inline void tile(const DepthwiseByteArgs& a, const StoreTwo& out, const uint8_t* x,
                                               int span, ptrdiff_t y_at, bool one) {
  const ptrdiff_t step = ptrdiff_t(a.stride_w) * 32;
  const ptrdiff_t second = one ? 0 : step;
  __m512i acc[kPairs];
#pragma GCC unroll 8
  for (int p = 0; p < kPairs; ++p) acc[p] = twice(a.epilogue.bias);
  const int8_t* w = a.w;
  for (int q = 0; q < (a.taps_h + 3) / 4; ++q) {
    const uint8_t* in = x + ptrdiff_t(q) * span * 32;
    for (int t = 0; t < a.taps_w; ++t, w += 32, in += ptrdiff_t(a.dilation_w) * 32) {
      const __m512i weights = twice(w);
      if (step == 32 && !one) {
#pragma GCC unroll 8
        for (int p = 0; p < kPairs; ++p) acc[p] = _mm512_dpbusd_epi32(acc[p], _mm512_loadu_si512(in + 64 * p), weights);
      } else {
#pragma GCC unroll 8
        for (int p = 0; p < kPairs; ++p)
          acc[p] = _mm512_dpbusd_epi32(acc[p], load_two(in + 2 * p * step, second), weights);
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPairs; ++p) out.store(acc[p], y_at + 16 * p, one);
}

}  // namespace

void depthwise_u8(const DepthwiseByteArgs& args) {
  const DepthwiseByteArgs a = args;  // bytes stored may alias what a pointer reaches
  const StoreTwo out(a);
  const int span = int(depthwise_span(a.cols, a.stride_w, a.taps_w, a.dilation_w));
  const ptrdiff_t step = ptrdiff_t(a.stride_w) * 32;
  for (int r = 0; r < a.rows; ++r) {
    fill_quads(a, r, span);
    const uint8_t* x = a.quads;
    ptrdiff_t y = r * a.y_row;
    int c = 0;
    for (; c + 8 <= a.cols; c += 8, x += 8 * step, y += 64) tile<4>(a, out, x, span, y, false);
    for (; c + 2 <= a.cols; c += 2, x += 2 * step, y += 16) tile<1>(a, out, x, span, y, false);
    if (c < a.cols) tile<1>(a, out, x, span, y, true);
  }
}

}  // namespace lq::avx512vnni
