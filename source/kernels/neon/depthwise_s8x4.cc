// Depthwise for ARMv8.0: the input rows of an output row are copied with their padding, then two taps at a time, smull
// and smlal into int16 (two products fit) and saddw into int32. Two neighbouring outputs a step where the stride is 1.
#include "kernels/kernels_of_this_build.h"
#include "kernels/neon/conv_store.h"

namespace lq::neon {
namespace {

static inline void copy_pixels(int8_t* out, const int8_t* x, ptrdiff_t pixels) {
  if (pixels >= 8) {
    const int8_t* const last = x + (pixels - 8) * 8;
    int8_t* const to = out + (pixels - 8) * 8;
    for (; x < last; x += 64, out += 64) copy_64(out, x);
    copy_64(to, last);  // some of them once more
    return;
  }
  for (; pixels >= 2; pixels -= 2, x += 16, out += 16) vst1q_s8(out, vld1q_s8(x));
  if (pixels > 0) vst1_s8(out, vld1_s8(x));
}

static inline void rows_of_quad(const int8_t* w, int8_t* out, ptrdiff_t step, int rows) {
  const int8x8x4_t v = vld4_s8(w);
  vst1_s8(out, v.val[0]);
  if (rows > 1) vst1_s8(out + step, v.val[1]);
  if (rows > 2) vst1_s8(out + 2 * step, v.val[2]);
  if (rows > 3) vst1_s8(out + 3 * step, v.val[3]);
}

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
      s0.add(mlal_low(mull_low(u, w[t]), v, w[t + 1]));
      s1.add(mlal_high(mull_high(u, w[t]), v, w[t + 1]));
    }
    const int8x16_t u = load(kAll - 1);
    s0.add(mull_low(u, w[kAll - 1]));
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

/// 3×3, stride 1: two outputs each of two rows, input row by input row, so that what is live fits 32 registers.
struct FourOutputs {
  Sum sum[2][2];         // [row][column]
  int16x8_t last[2][2];  // the last column's products of the first window row, which those of the second join
  template <int kWindowRow>
  [[gnu::always_inline]] void add(const Square<3>& q, int r, int8x16_t x0, int8x16_t x1, int8x16_t x2) {
    constexpr int t = 3 * kWindowRow;
    const int16x8_t low = mlal_low(mull_low(x0, q.w[t]), x1, q.w[t + 1]);
    const int16x8_t high = mlal_high(mull_high(x0, q.w[t]), x1, q.w[t + 1]);
    if constexpr (kWindowRow == 0) sum[r][0] = sum[r][1] = {q.bias[0], q.bias[1]};
    sum[r][0].add(low), sum[r][1].add(high);
    if constexpr (kWindowRow == 1) {
      sum[r][0].add(mlal_low(last[r][0], x2, q.w[t + 2]));
      sum[r][1].add(mlal_high(last[r][1], x2, q.w[t + 2]));
    } else {
      const int16x8_t l = mull_low(x2, q.w[t + 2]), h = mull_high(x2, q.w[t + 2]);
      kWindowRow == 0 ? (last[r][0] = l, last[r][1] = h, void()) : (sum[r][0].add(l), sum[r][1].add(h));
    }
  }
  [[gnu::always_inline]] FourOutputs(const Square<3>& q, int8_t* const* rows, ptrdiff_t at) {
    int8x16_t x[3];
    const auto load = [&](int row) __attribute__((always_inline)) {
#pragma GCC unroll 3
      for (int t = 0; t < 3; ++t) x[t] = vld1q_s8(rows[row] + at + 8 * t);
    };
    load(0), add<0>(q, 0, x[0], x[1], x[2]);
    load(1), add<1>(q, 0, x[0], x[1], x[2]), add<0>(q, 1, x[0], x[1], x[2]);
    load(2), add<2>(q, 0, x[0], x[1], x[2]), add<1>(q, 1, x[0], x[1], x[2]);
    load(3), add<2>(q, 1, x[0], x[1], x[2]);
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
    if constexpr (kTaps == 3 && kRows == 2 && kIs64Bit) {
      const FourOutputs four(q, rows, x);
#pragma GCC unroll 4
      for (int p = 0; p < 4; ++p) acc[p][0] = four.sum[p / 2][p % 2].low, acc[p][1] = four.sum[p / 2][p % 2].high;
    } else {
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r) q.two(rows + r, x, acc[2 * r], acc[2 * r + 1]);
    }
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) out.store_two(acc[2 * r], acc[2 * r + 1], y + r * y_row + x);
  }
  for (int r = 0; c < cols && r < kRows; ++r) {
    q.one(rows + r, x, acc[0]);
    out.store(acc[0], y + r * y_row + x);
  }
}

#if defined(__aarch64__)
/// 3×3, stride 2: four outputs of a row. A load parts even pixels from odd ones.
template <bool kWhole>
[[gnu::always_inline]] static inline void four_of_stride_two(const Square<3>& q, const BlockStore<kWhole>& out,
                                                             int8_t* const* rows, ptrdiff_t at, ptrdiff_t y) {
  Sum s[4] = {{q.bias[0], q.bias[1]}, {q.bias[0], q.bias[1]}, {q.bias[0], q.bias[1]}, {q.bias[0], q.bias[1]}};
  int16x8_t last[4];
#pragma GCC unroll 3
  for (int r = 0; r < 3; ++r) {
    const int64_t* x = reinterpret_cast<const int64_t*>(rows[r] + at);
    const int64x2x2_t a = vld2q_s64(x), b = vld2q_s64(x + 4);  // pixels 0 2, 1 3; 4 6, 5 7
    const int64x2_t end = vcombine_s64(vld1_s64(x + 8), vdup_n_s64(0));
    const int8x16_t even[2] = {vreinterpretq_s8_s64(a.val[0]), vreinterpretq_s8_s64(b.val[0])};
    const int8x16_t odd[2] = {vreinterpretq_s8_s64(a.val[1]), vreinterpretq_s8_s64(b.val[1])};
    const int8x16_t next[2] = {vreinterpretq_s8_s64(vextq_s64(a.val[0], b.val[0], 1)),
                               vreinterpretq_s8_s64(vextq_s64(b.val[0], end, 1))};
    const int8x16_t* w = q.w + 3 * r;
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      s[2 * h].add(mlal_low(mull_low(even[h], w[0]), odd[h], w[1]));
      s[2 * h + 1].add(mlal_high(mull_high(even[h], w[0]), odd[h], w[1]));
      if (r == 1) {
        s[2 * h].add(mlal_low(last[2 * h], next[h], w[2]));
        s[2 * h + 1].add(mlal_high(last[2 * h + 1], next[h], w[2]));
        continue;
      }
      last[2 * h] = mull_low(next[h], w[2]), last[2 * h + 1] = mull_high(next[h], w[2]);
      if (r == 2) s[2 * h].add(last[2 * h]), s[2 * h + 1].add(last[2 * h + 1]);
    }
  }
  const int32x4_t acc[4][2] = {
      {s[0].low, s[0].high}, {s[1].low, s[1].high}, {s[2].low, s[2].high}, {s[3].low, s[3].high}};
  out.store_two(acc[0], acc[1], y);
  out.store_two(acc[2], acc[3], y + 16);
}
#endif

/// Outputs of one row, any stride.
template <int kTaps, bool kWhole>
[[gnu::always_inline]] static inline void strided_row(const Square<kTaps>& q, const BlockStore<kWhole>& out, int cols,
                                                      int8_t* const* rows, ptrdiff_t y) {
  int32x4_t acc[2][2];
  ptrdiff_t x = 0;
  int c = 0;
#if defined(__aarch64__)
  if constexpr (kTaps == 3) {
    for (; q.stride == 16 && c + 4 <= cols; c += 4, x += 64, y += 32) four_of_stride_two<kWhole>(q, out, rows, x, y);
  }
#endif
  for (; c + 2 <= cols; c += 2, x += 2 * q.stride, y += 16) {
    q.one(rows, x, acc[0]);
    q.one(rows, x + q.stride, acc[1]);
    out.store_two(acc[0], acc[1], y);
  }
  if (c == cols) return;
  q.one(rows, x, acc[0]);
  out.store(acc[0], y);
}

/// The input rows of a window and one more, in a ring, with their padding; columns of padding are written once. Between
/// two steps all rows of the window but its last are there.
template <int kTaps>
struct RowRing {
  int8_t* rows[kTaps + 1];
  const int8_t* x;  // pixel `begin` of the next row to copy
  int64_t next, in_h;
  ptrdiff_t in_row, begin, pixels;
  int32_t zero_point;
  [[gnu::always_inline]] RowRing(const DepthwiseByteArgs& a, int8_t* buffer, int span)
      : next(a.first_row), in_h(a.in_h), in_row(ptrdiff_t(a.in_w) * 8), zero_point(a.zero_point) {
    begin = a.first_col < 0 ? (-a.first_col < span ? -a.first_col : span) : 0;
    const int64_t end = int64_t(a.in_w) - a.first_col < span ? int64_t(a.in_w) - a.first_col : span;
    pixels = end > begin ? end - begin : 0;
    x = a.x + (ptrdiff_t(a.first_row) * a.in_w + a.first_col + begin) * 8;
    for (int h = 0; h <= kTaps; ++h) {
      rows[h] = buffer + ptrdiff_t(h) * span * 8;
      pad_pixels(rows[h], 0, int(begin), zero_point);
      pad_pixels(rows[h], int(begin + pixels), span, zero_point);
    }
    for (int h = 0; h + 1 < kTaps; ++h) copy_next(rows[h]);
  }
  [[gnu::always_inline]] void copy_next(int8_t* to) {
    if (next >= 0 && next < in_h) {
      copy_pixels(to + begin * 8, x, pixels);
    } else {
      pad_pixels(to, int(begin), int(begin + pixels), zero_point);
    }
    ++next, x += in_row;
  }
  template <int kSteps>
  [[gnu::always_inline]] void rotate() {
    int8_t* before[kTaps + 1];
#pragma GCC unroll 6
    for (int h = 0; h <= kTaps; ++h) before[h] = rows[h];
#pragma GCC unroll 6
    for (int h = 0; h <= kTaps; ++h) rows[h] = before[(h + kSteps) % (kTaps + 1)];
  }
};

template <int kTaps, bool kWhole>
[[gnu::noinline]] void run_square(const DepthwiseByteArgs& args) {
  const DepthwiseByteArgs a = args;  // bytes stored may alias what a pointer reaches
  PanelGeometry g{};
  g.y = a.y;
  g.lanes = a.lanes;
  g.y_blocked = true;
  const BlockStore<kWhole> out(g, a.epilogue);
  const int span = int(depthwise_span(a.cols, a.stride_w, kTaps, 1));
  int8_t* buffer = reinterpret_cast<int8_t*>(a.quads);  // the ring, then the weights
  int8_t* const weights = buffer + (kTaps + 1) * ptrdiff_t(span) * 8;
  unpack_weights(a, weights);
  const Square<kTaps> square(a, weights);
  RowRing<kTaps> ring(a, buffer, span);
  ptrdiff_t y = 0;
  int left = a.rows;
  for (; a.stride_h == 1 && a.stride_w == 1 && left >= 2; left -= 2, y += 2 * a.y_row) {
    ring.copy_next(ring.rows[kTaps - 1]), ring.copy_next(ring.rows[kTaps]);
    dense_rows<kTaps, 2, kWhole>(square, out, a.cols, ring.rows, y, a.y_row);
    ring.template rotate<2>();
  }
  for (; left > 0; --left, y += a.y_row) {
    ring.copy_next(ring.rows[kTaps - 1]);
    strided_row<kTaps, kWhole>(square, out, a.cols, ring.rows, y);
    ring.template rotate<1>();
    for (int s = 1; s < a.stride_h && left > 1; ++s) {
      ring.copy_next(ring.rows[kTaps - 1]);
      ring.template rotate<1>();
    }
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
  if constexpr (has::kDepthwise5x5) {
    if (square && a.taps_h == 5) return whole ? run_square<5, true>(a) : run_square<5, false>(a);
  }
  if constexpr (has::kDepthwiseWindows) {
    whole ? run<true>(a) : run<false>(a);
  } else {
    __builtin_trap();  // such a window was refused when the layer was prepared
  }
}

}  // namespace lq::neon
