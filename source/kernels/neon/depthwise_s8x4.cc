// Depthwise for ARMv8.0: the input rows of an output row are copied with their padding, then two taps at a time, smull
// and smlal into int16 (two products fit) and saddw into int32. Two neighbouring outputs a step where the stride is 1.
#include "kernels/neon/conv_store.h"

namespace lq::neon {
namespace {

#include "kernels/depthwise_rows_inline.h"

struct Sum {
  int32x4_t low, high;
  [[gnu::always_inline]] void add(int16x8_t v) {
    low = vaddw_s16(low, vget_low_s16(v));
    high = add_wide_high(high, v);
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

/// The common windows, 3×3 and 5×5. Of two outputs each is a half of every register, so weights lie in both halves.
template <int kTaps>
struct Square {
  static constexpr int kAll = kTaps * kTaps;
  int8x16_t w[kAll];
  int32x4_t bias[2];
  ptrdiff_t stride;  // bytes between the pixels of the two

  [[gnu::always_inline]] Square(const DepthwiseByteArgs& a, const int8_t* weights)
      : bias{load_s32(a.epilogue.bias), load_s32(a.epilogue.bias + 4)}, stride(ptrdiff_t(a.stride_w) * 8) {
#pragma GCC unroll 25
    for (int t = 0; t < kAll; ++t) w[t] = vcombine_s8(vld1_s8(weights + 8 * t), vld1_s8(weights + 8 * t));
  }
  /// The outputs whose windows begin `at` and 8 bytes behind it.
  [[gnu::always_inline]] void two(int8_t* const* rows, ptrdiff_t at, int32x4_t (&first)[2],
                                  int32x4_t (&second)[2]) const {
    Sum s0{bias[0], bias[1]}, s1 = s0;
    const auto load = [&](int t) __attribute__((always_inline)) {
      return vld1q_s8(rows[t / kTaps] + at + t % kTaps * 8);
    };
#pragma GCC unroll 12
    for (int t = 0; t + 1 < kAll; t += 2) {
      const int8x16_t u = load(t), v = load(t + 1);
      s0.add(vmlal_s8(vmull_s8(vget_low_s8(u), vget_low_s8(w[t])), vget_low_s8(v), vget_low_s8(w[t + 1])));
      s1.add(mlal_high(mull_high(u, w[t]), v, w[t + 1]));
    }
    const int8x16_t u = load(kAll - 1);
    s0.add(vmull_s8(vget_low_s8(u), vget_low_s8(w[kAll - 1])));
    s1.add(mull_high(u, w[kAll - 1]));
    first[0] = s0.low, first[1] = s0.high, second[0] = s1.low, second[1] = s1.high;
  }
  /// The output whose window begins at `at`.
  [[gnu::always_inline]] void one(int8_t* const* rows, ptrdiff_t at, int32x4_t (&sum)[2]) const {
    Sum s{bias[0], bias[1]};
    const auto load = [&](int t) __attribute__((always_inline)) {
      return vld1_s8(rows[t / kTaps] + at + t % kTaps * 8);
    };
#pragma GCC unroll 12
    for (int t = 0; t + 1 < kAll; t += 2)
      s.add(vmlal_s8(vmull_s8(load(t), vget_low_s8(w[t])), load(t + 1), vget_low_s8(w[t + 1])));
    s.add(vmull_s8(load(kAll - 1), vget_low_s8(w[kAll - 1])));
    sum[0] = s.low, sum[1] = s.high;
  }
};

/// Outputs of kRows rows, stride 1, from the input rows of their windows: two by two pixels share what they read.
template <int kTaps, int kRows, bool kWhole>
[[gnu::always_inline]] static inline void dense_rows(const Square<kTaps>& q, const BlockStore<kWhole>& out, int cols,
                                                     int8_t* const* rows, ptrdiff_t y, ptrdiff_t y_row) {
  int32x4_t acc[2 * kRows][2];
  ptrdiff_t x = 0;
  int c = 0;
  for (; c + 2 <= cols; c += 2, x += 16) {
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) q.two(rows + r, x, acc[2 * r], acc[2 * r + 1]);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) out.store_two(acc[2 * r], acc[2 * r + 1], y + r * y_row + x);
  }
  for (int r = 0; c < cols && r < kRows; ++r) {
    q.one(rows + r, x, acc[0]);
    out.store(acc[0], y + r * y_row + x);
  }
}

/// Outputs of one row, any stride.
template <int kTaps, bool kWhole>
[[gnu::always_inline]] static inline void strided_row(const Square<kTaps>& q, const BlockStore<kWhole>& out, int cols,
                                                      int8_t* const* rows, ptrdiff_t y) {
  int32x4_t acc[2][2];
  ptrdiff_t x = 0;
  int c = 0;
  for (; c + 2 <= cols; c += 2, x += 2 * q.stride, y += 16) {
    q.one(rows, x, acc[0]);
    q.one(rows, x + q.stride, acc[1]);
    out.store_two(acc[0], acc[1], y);
  }
  if (c == cols) return;
  q.one(rows, x, acc[0]);
  out.store(acc[0], y);
}

template <int kTaps, bool kWhole>
[[gnu::noinline]] void run_square(const DepthwiseByteArgs& args) {
  const DepthwiseByteArgs a = args;  // bytes stored may alias what a pointer reaches
  PanelGeometry g{};
  g.y = a.y;
  g.lanes = a.lanes;
  g.y_blocked = true;
  const BlockStore<kWhole> out(g, a.epilogue);
  const int span = int(depthwise_span(a.cols, a.stride_w, kTaps, 1));
  const ptrdiff_t row_bytes = ptrdiff_t(span) * 8;
  int8_t* buffer = reinterpret_cast<int8_t*>(a.quads);  // kTaps + 1 rows in a ring, then the weights
  unpack_weights(a, buffer + (kTaps + 1) * row_bytes);
  const Square<kTaps> square(a, buffer + (kTaps + 1) * row_bytes);
  const bool dense = a.stride_h == 1 && a.stride_w == 1;
  int8_t* rows[kTaps + 1];
  int64_t next = a.first_row;  // the input row to copy
  for (int h = 0; h < kTaps; ++h) copy_row(a, next++, span, rows[h] = buffer + h * row_bytes);
  rows[kTaps] = buffer + kTaps * row_bytes;
  const auto advance = [&](int steps) {  // the oldest row's place takes the next one
    for (int s = 0; s < steps; ++s) {
      int8_t* const free = rows[0];
#pragma GCC unroll 5
      for (int h = 0; h < kTaps; ++h) rows[h] = rows[h + 1];
      rows[kTaps] = free;
      copy_row(a, next++, span, rows[kTaps - 1]);
    }
  };
  ptrdiff_t y = 0;
  int left = a.rows;
  for (; dense && left >= 2; left -= 2, y += 2 * a.y_row) {
    copy_row(a, next++, span, rows[kTaps]);
    dense_rows<kTaps, 2, kWhole>(square, out, a.cols, rows, y, a.y_row);
    if (left == 2) return;
    int8_t* const free = rows[0];
#pragma GCC unroll 5
    for (int h = 0; h < kTaps; ++h) rows[h] = rows[h + 1];
    rows[kTaps] = free;
    advance(1);
  }
  for (; left > 0; --left, y += a.y_row) {
    strided_row<kTaps, kWhole>(square, out, a.cols, rows, y);
    if (left > 1) advance(a.stride_h);
  }
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
  const ptrdiff_t col_step = ptrdiff_t(a.dilation_w) * 8;
  Taps first{rows, w, a.taps_w, a.taps_w, col_step, row - (a.taps_w - 1) * col_step};
  for (int r = 0; r < a.rows; ++r) {
    for (int h = 0; h < a.taps_h; ++h)
      copy_row(a, int64_t(a.first_row) + int64_t(r) * a.stride_h + int64_t(h) * a.dilation_h, span, rows + h * row);
    ptrdiff_t y = r * a.y_row;
    first.x = rows;
    int c = 0;
    if (a.stride_w == 1) {
      for (; c + 2 <= a.cols; c += 2, first.x += 16, y += 16) two(a, out, first, taps, y);
    }
    for (; c < a.cols; ++c, first.x += ptrdiff_t(a.stride_w) * 8, y += 8) one(a, out, first, taps, y);
  }
}

}  // namespace

void depthwise_s8x4(const DepthwiseByteArgs& a) {
  const bool whole = a.lanes == kBlock && !a.epilogue.float_output;
  const bool square = a.taps_h == a.taps_w && a.dilation_h == 1 && a.dilation_w == 1;
  if (square && a.taps_h == 3) return whole ? run_square<3, true>(a) : run_square<3, false>(a);
  if (square && a.taps_h == 5) return whole ? run_square<5, true>(a) : run_square<5, false>(a);
  whole ? run<true>(a) : run<false>(a);
}

}  // namespace lq::neon
