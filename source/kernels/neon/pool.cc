// Blocked pools: a channel block is a half register of int8, two registers of floats or sums.
#include "kernels/neon/elementwise_neon.h"

namespace lq::neon {
namespace {

/// Calls f(block) for each valid tap of one output, in row-major order.
template <typename T, typename F>
inline void for_taps(const T* x, const PoolTaps& row, const PoolTaps& col, const PoolArgs& a, F f) {
  const int64_t line_step = static_cast<int64_t>(a.dilation_h) * a.in_w * kBlock;
  const int64_t step = static_cast<int64_t>(a.dilation_w) * kBlock;
  const T* line = x + (static_cast<int64_t>(row.first) * a.in_w + col.first) * kBlock;
  for (int32_t r = 0; r < row.count; ++r, line += line_step) {
    const T* v = line;
    for (int32_t c = 0; c < col.count; ++c, v += step) f(v);
  }
}

inline int64_t offset(const PoolArgs& a, int32_t oh, int32_t ow) {
  return (static_cast<int64_t>(oh) * a.out_w + ow) * kBlock;
}

}  // namespace

void max_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      int8x8_t best = vdup_n_s8(-128);
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const int8_t* v) { best = vmax_s8(best, vld1_s8(v)); });
      vst1_s8(y + offset(a, oh, ow), best);
    }
  }
}

void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  const Rounder r = rounder_of(a.round);
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      int32x4_t low = vdupq_n_s32(0), high = low;
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const int8_t* v) {
        const int16x8_t wide = vmovl_s8(vld1_s8(v));
        low = vaddw_s16(low, vget_low_s16(wide));
        high = add_wide_high(high, wide);
      });
      const int32x4_t zero = vdupq_n_s32(a.rows[oh].count * a.cols[ow].count * a.zero_x);
      const float32x4_t m = vdupq_n_f32(a.multiplier[a.rows[oh].slot * a.col_slots + a.cols[ow].slot]);
      const Float8 t = times({vcvtq_f32_s32(vsubq_s32(low, zero)), vcvtq_f32_s32(vsubq_s32(high, zero))}, m);
      vst1_s8(y + offset(a, oh, ow), r.finish(r.round8(t.low, t.high)));
    }
  }
}

#if defined(__aarch64__)
void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  // The scalar twin's expression, NaN and zeros of both signs included.
  const auto greater = [](float32x4_t v, float32x4_t best) { return vbslq_f32(vcgtq_f32(v, best), v, best); };
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      float32x4_t low = vdupq_n_f32(-__builtin_inff()), high = low;
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const float* v) {
        low = greater(vld1q_f32(v), low);
        high = greater(vld1q_f32(v + 4), high);
      });
      vst1q_f32(y + offset(a, oh, ow), low);
      vst1q_f32(y + offset(a, oh, ow) + 4, high);
    }
  }
}

void average_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      float32x4_t p[8][2];
      for (auto& v : p) v[0] = v[1] = vdupq_n_f32(0);
      uint32_t k = 0;  // tap k adds to partial k % 8
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const float* v) {
        float32x4_t(&s)[2] = p[k++ & 7];
        s[0] = vaddq_f32(s[0], vld1q_f32(v));
        s[1] = vaddq_f32(s[1], vld1q_f32(v + 4));
      });
      const float32x4_t n =
          vdupq_n_f32(static_cast<float>(static_cast<int64_t>(a.rows[oh].divisor) * a.cols[ow].divisor));
      for (int h = 0; h < 2; ++h) {
        const float32x4_t even = vaddq_f32(vaddq_f32(p[0][h], p[4][h]), vaddq_f32(p[2][h], p[6][h]));
        const float32x4_t odd = vaddq_f32(vaddq_f32(p[1][h], p[5][h]), vaddq_f32(p[3][h], p[7][h]));
        vst1q_f32(y + offset(a, oh, ow) + 4 * h, vdivq_f32(vaddq_f32(even, odd), n));
      }
    }
  }
}
#endif

}  // namespace lq::neon
