// Linear and cubic int8 Resize on blocked planes.
#include "kernels/neon/elementwise_neon.h"

namespace lq::neon {

void resize_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& a) {
  const Rounder round = rounder_of(a.round);
  // Σ w_row·w_col = 2^22
  const int32x4_t zero = vdupq_n_s32(static_cast<int32_t>(static_cast<uint32_t>(a.zero_x) << 22));
  const float32x4_t m = vdupq_n_f32(a.multiplier);
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      int8_t* out = y + (static_cast<int64_t>(oh) * a.out_w + ow) * kBlock;
      if ((a.rows.outside && a.rows.outside[oh]) || (a.cols.outside && a.cols.outside[ow])) {
        vst1_s8(out, vdup_n_s8(a.extrapolation));
        continue;
      }
      int32x4_t low = vdupq_n_s32(0), high = low;
      for (int32_t r = 0; r < a.rows.taps; ++r) {
        const int32_t row = oh * a.rows.taps + r;
        const int8_t* line = x + static_cast<int64_t>(a.rows.index[row]) * a.in_w * kBlock;
        // Σ w_col·q of this row, then times w_row: modulo 2^32 the scalar twin's sum
        int32x4_t sum_low = vdupq_n_s32(0), sum_high = sum_low;
        for (int32_t c = 0; c < a.cols.taps; ++c) {
          const int32_t col = ow * a.cols.taps + c, w = a.cols.weight[col];
          const int16x8_t v = vmovl_s8(vld1_s8(line + static_cast<int64_t>(a.cols.index[col]) * kBlock));
          sum_low = vmlaq_n_s32(sum_low, vmovl_s16(vget_low_s16(v)), w);
          sum_high = vmlaq_n_s32(sum_high, vmovl_s16(vget_high_s16(v)), w);
        }
        low = vmlaq_n_s32(low, sum_low, a.rows.weight[row]);
        high = vmlaq_n_s32(high, sum_high, a.rows.weight[row]);
      }
      const Float8 t{vcvtq_f32_s32(vsubq_s32(low, zero)), vcvtq_f32_s32(vsubq_s32(high, zero))};
      vst1_s8(out, round.finish(round.round8(vmulq_f32(t.low, m), vmulq_f32(t.high, m))));
    }
  }
}

}  // namespace lq::neon
