// Layout conversion: 8×8 transposes of bytes, 4×4 of 32-bit elements.
#include "kernels/neon/elementwise_neon.h"

namespace lq::neon {
namespace {

/// Eight rows of eight bytes -> eight columns, in place.
[[gnu::always_inline]] inline void transpose_8x8_bytes(uint8x8_t (&r)[8]) {
  const auto as16 = [](uint8x16_t v) { return vreinterpretq_u16_u8(v); };
  // Rows i and i + 4 side by side: all steps but the last work within halves.
  const uint8x16x2_t ab = vtrnq_u8(vcombine_u8(r[0], r[4]), vcombine_u8(r[1], r[5])),
                     cd = vtrnq_u8(vcombine_u8(r[2], r[6]), vcombine_u8(r[3], r[7]));
  const uint16x8x2_t even = vtrnq_u16(as16(ab.val[0]), as16(cd.val[0])),
                     odd = vtrnq_u16(as16(ab.val[1]), as16(cd.val[1]));
  const uint16x8_t column[4] = {even.val[0], odd.val[0], even.val[1], odd.val[1]};  // columns i and i + 4
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const uint32x4_t v = vreinterpretq_u32_u16(column[i]);
    const uint32x2x2_t z = vtrn_u32(vget_low_u32(v), vget_high_u32(v));
    r[i] = vreinterpret_u8_u32(z.val[0]);
    r[i + 4] = vreinterpret_u8_u32(z.val[1]);
  }
}

[[gnu::always_inline]] inline void transpose_4x4_words(uint32x4_t (&r)[4]) {
  const uint32x4x2_t ab = vtrnq_u32(r[0], r[1]), cd = vtrnq_u32(r[2], r[3]);
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    r[i] = vcombine_u32(vget_low_u32(ab.val[i]), vget_low_u32(cd.val[i]));
    r[i + 2] = vcombine_u32(vget_high_u32(ab.val[i]), vget_high_u32(cd.val[i]));
  }
}

template <typename T>
inline void to_blocked_tail(const T* x, int64_t x_stride, int channels, T* y, int64_t begin, int64_t count, T fill) {
  for (int64_t i = begin; i < count; ++i) {
    for (int c = 0; c < channels; ++c) y[i * kBlock + c] = x[c * x_stride + i];
    for (int c = channels; c < kBlock; ++c) y[i * kBlock + c] = fill;
  }
}

template <typename T>
inline void to_linear_tail(const T* x, T* y, int64_t y_stride, int channels, int64_t begin, int64_t count) {
  for (int c = 0; c < channels; ++c) {
    for (int64_t i = begin; i < count; ++i) y[c * y_stride + i] = x[i * kBlock + c];
  }
}

}  // namespace

void to_blocked_1(const void* xv, int64_t x_stride, int channels, void* yv, int64_t count, uint32_t fill) {
  const uint8_t* x = static_cast<const uint8_t*>(xv);
  uint8_t* y = static_cast<uint8_t*>(yv);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint8x8_t r[8];
    for (int c = 0; c < kBlock; ++c) r[c] = c < channels ? vld1_u8(x + c * x_stride + i) : vdup_n_u8(uint8_t(fill));
    transpose_8x8_bytes(r);
    for (int k = 0; k < 8; k += 2) vst1q_u8(y + (i + k) * kBlock, vcombine_u8(r[k], r[k + 1]));
  }
  to_blocked_tail(x, x_stride, channels, y, i, count, uint8_t(fill));
}

void to_linear_1(const void* xv, void* yv, int64_t y_stride, int channels, int64_t count) {
  const uint8_t* x = static_cast<const uint8_t*>(xv);
  uint8_t* y = static_cast<uint8_t*>(yv);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint8x8_t r[8];
    for (int k = 0; k < 8; ++k) r[k] = vld1_u8(x + (i + k) * kBlock);
    transpose_8x8_bytes(r);
    for (int c = 0; c < channels; ++c) vst1_u8(y + c * y_stride + i, r[c]);
  }
  to_linear_tail(x, y, y_stride, channels, i, count);
}

void to_blocked_4(const void* xv, int64_t x_stride, int channels, void* yv, int64_t count, uint32_t fill) {
  const uint32_t* x = static_cast<const uint32_t*>(xv);
  uint32_t* y = static_cast<uint32_t*>(yv);
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int half = 0; half < kBlock; half += 4) {
      uint32x4_t r[4];
      for (int c = 0; c < 4; ++c)
        r[c] = half + c < channels ? vld1q_u32(x + (half + c) * x_stride + i) : vdupq_n_u32(fill);
      transpose_4x4_words(r);
      for (int k = 0; k < 4; ++k) vst1q_u32(y + (i + k) * kBlock + half, r[k]);
    }
  }
  to_blocked_tail(x, x_stride, channels, y, i, count, fill);
}

void to_linear_4(const void* xv, void* yv, int64_t y_stride, int channels, int64_t count) {
  const uint32_t* x = static_cast<const uint32_t*>(xv);
  uint32_t* y = static_cast<uint32_t*>(yv);
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int half = 0; half < channels; half += 4) {
      uint32x4_t r[4];
      for (int k = 0; k < 4; ++k) r[k] = vld1q_u32(x + (i + k) * kBlock + half);
      transpose_4x4_words(r);
      for (int c = 0; c < 4 && half + c < channels; ++c) vst1q_u32(y + (half + c) * y_stride + i, r[c]);
    }
  }
  to_linear_tail(x, y, y_stride, channels, i, count);
}

}  // namespace lq::neon
