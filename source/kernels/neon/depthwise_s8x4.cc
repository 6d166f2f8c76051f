// Depthwise for ARMv8.0: the input rows of an output row are copied with their padding, then two taps at a time, smull
// and smlal into int16 (two products fit) and saddw into int32. Two neighbouring outputs a step where the stride is 1.
#include "kernels/neon/conv_store.h"

namespace lq::neon {
namespace {

/// Row `row` of the plane, columns first_col … first_col + span − 1, zp outside.
void copy_row(const DepthwiseByteArgs& a, int64_t row, int span, int8_t* out) {
  const int8_t zp = int8_t(a.zero_point);
  int begin = a.first_col < 0 ? (-a.first_col < span ? -a.first_col : span) : 0;
  int end = a.in_w - a.first_col;
  end = end < begin ? begin : end > span ? span : end;
  if (row < 0 || row >= a.in_h) begin = end = span;
  __builtin_memset(out, zp, size_t(begin) * 8);
  if (end > begin)
    __builtin_memcpy(out + ptrdiff_t(begin) * 8, a.x + (row * a.in_w + a.first_col + begin) * 8,
                     size_t(end - begin) * 8);
  __builtin_memset(out + ptrdiff_t(end) * 8, zp, size_t(span - end) * 8);
}

/// Weights of tap t as [8] behind one another, from [row quad][taps_w][8][4].
void unpack_weights(const DepthwiseByteArgs& a, int8_t* out) {
  for (int h = 0; h < a.taps_h; ++h) {
    for (int t = 0; t < a.taps_w; ++t) {
      for (int i = 0; i < 8; ++i) *out++ = a.w[((h / 4 * a.taps_w + t) * 8 + i) * 4 + h % 4];
    }
  }
}

struct Sum {
  int32x4_t low, high;
  [[gnu::always_inline]] void add(int16x8_t v) {
    low = vaddw_s16(low, vget_low_s16(v));
    high = vaddw_high_s16(high, v);
  }
};

/// What a tap reads, and where the next one is.
struct Taps {
  const int8_t* x;
  const int8_t* w;
  int row_left, taps_w;
  ptrdiff_t col_step, row_step;  // to the next tap of the row, from the last one to the next row's first
  [[gnu::always_inline]] void next() {
    w += 8;
    if (--row_left > 0) {
      x += col_step;
    } else {
      x += row_step;
      row_left = taps_w;
    }
  }
};

/// Two neighbouring outputs, stride 1.
template <bool kWhole>
[[gnu::always_inline]] static inline void two(const DepthwiseByteArgs& a, const BlockStore<kWhole>& out, Taps t,
                                              int taps, ptrdiff_t y_at) {
  Sum s0{load_s32(a.epilogue.bias), load_s32(a.epilogue.bias + 4)}, s1 = s0;
  int left = taps;
  for (; left >= 2; left -= 2) {
    const int8x16_t x0 = vld1q_s8(t.x);
    const int8x8_t w0 = vld1_s8(t.w);
    t.next();
    const int8x16_t x1 = vld1q_s8(t.x);
    const int8x8_t w1 = vld1_s8(t.w);
    t.next();
    s0.add(vmlal_s8(vmull_s8(vget_low_s8(x0), w0), vget_low_s8(x1), w1));
    s1.add(vmlal_s8(vmull_s8(vget_high_s8(x0), w0), vget_high_s8(x1), w1));
  }
  if (left > 0) {
    const int8x16_t x0 = vld1q_s8(t.x);
    const int8x8_t w0 = vld1_s8(t.w);
    s0.add(vmull_s8(vget_low_s8(x0), w0));
    s1.add(vmull_s8(vget_high_s8(x0), w0));
  }
  const int32x4_t acc0[2] = {s0.low, s0.high}, acc1[2] = {s1.low, s1.high};
  out.store_two(acc0, acc1, y_at);
}

template <bool kWhole>
[[gnu::always_inline]] static inline void one(const DepthwiseByteArgs& a, const BlockStore<kWhole>& out, Taps t,
                                              int taps, ptrdiff_t y_at) {
  Sum s{load_s32(a.epilogue.bias), load_s32(a.epilogue.bias + 4)};
  int left = taps;
  for (; left >= 2; left -= 2) {
    const int8x8_t x0 = vld1_s8(t.x), w0 = vld1_s8(t.w);
    t.next();
    const int8x8_t x1 = vld1_s8(t.x), w1 = vld1_s8(t.w);
    t.next();
    s.add(vmlal_s8(vmull_s8(x0, w0), x1, w1));
  }
  if (left > 0) s.add(vmull_s8(vld1_s8(t.x), vld1_s8(t.w)));
  const int32x4_t acc[2] = {s.low, s.high};
  out.store(acc, y_at);
}

/// The common 3 × 3: weights stay in registers, no counting of taps.
template <bool kWhole>
[[gnu::always_inline]] static inline void two_3x3(const DepthwiseByteArgs& a, const BlockStore<kWhole>& out,
                                                  const int8_t* x, ptrdiff_t row, const int8x8_t (&w)[9],
                                                  ptrdiff_t y_at) {
  Sum s0{load_s32(a.epilogue.bias), load_s32(a.epilogue.bias + 4)}, s1 = s0;
  int8x16_t in[9];
#pragma GCC unroll 9
  for (int t = 0; t < 9; ++t) in[t] = vld1q_s8(x + t / 3 * row + t % 3 * 8);
#pragma GCC unroll 4
  for (int t = 0; t < 8; t += 2) {
    s0.add(vmlal_s8(vmull_s8(vget_low_s8(in[t]), w[t]), vget_low_s8(in[t + 1]), w[t + 1]));
    s1.add(vmlal_s8(vmull_s8(vget_high_s8(in[t]), w[t]), vget_high_s8(in[t + 1]), w[t + 1]));
  }
  s0.add(vmull_s8(vget_low_s8(in[8]), w[8]));
  s1.add(vmull_s8(vget_high_s8(in[8]), w[8]));
  const int32x4_t acc0[2] = {s0.low, s0.high}, acc1[2] = {s1.low, s1.high};
  out.store_two(acc0, acc1, y_at);
}

template <bool kWhole>
[[gnu::noinline]] void run(const DepthwiseByteArgs& args) {
  const DepthwiseByteArgs a = args;  // bytes stored may alias what a pointer reaches
  PanelGeometry g{};
  g.y = a.y;
  g.lanes = a.lanes;
  g.y_blocked = true;
  const BlockStore<kWhole> out(g, a.epilogue);
  const int span = int(depthwise_span(a.cols, a.stride_w, a.taps_w, a.dilation_w)), taps = a.taps_h * a.taps_w;
  int8_t* rows = reinterpret_cast<int8_t*>(a.quads);
  const ptrdiff_t row = ptrdiff_t(span) * 8;
  int8_t* w = rows + a.taps_h * row;
  unpack_weights(a, w);
  const bool is_3x3 = a.taps_h == 3 && a.taps_w == 3 && a.dilation_w == 1;
  int8x8_t w9[9];
  for (int t = 0; is_3x3 && t < 9; ++t) w9[t] = vld1_s8(w + 8 * t);
  const ptrdiff_t col_step = ptrdiff_t(a.dilation_w) * 8;
  Taps first{rows, w, a.taps_w, a.taps_w, col_step, row - (a.taps_w - 1) * col_step};
  for (int r = 0; r < a.rows; ++r) {
    for (int h = 0; h < a.taps_h; ++h)
      copy_row(a, int64_t(a.first_row) + int64_t(r) * a.stride_h + int64_t(h) * a.dilation_h, span, rows + h * row);
    ptrdiff_t y = r * a.y_row;
    first.x = rows;
    int c = 0;
    if (a.stride_w == 1 && is_3x3) {
      for (; c + 2 <= a.cols; c += 2, first.x += 16, y += 16) two_3x3(a, out, first.x, row, w9, y);
    } else if (a.stride_w == 1) {
      for (; c + 2 <= a.cols; c += 2, first.x += 16, y += 16) two(a, out, first, taps, y);
    }
    for (; c < a.cols; ++c, first.x += ptrdiff_t(a.stride_w) * 8, y += 8) one(a, out, first, taps, y);
  }
}

}  // namespace

void depthwise_s8x4(const DepthwiseByteArgs& a) {
  a.lanes == kBlock && !a.epilogue.float_output ? run<true>(a) : run<false>(a);
}

}  // namespace lq::neon
