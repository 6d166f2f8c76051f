// Blocked pools, written once for every instruction set whose vectors hold a channel block. `static`, so that a copy
// compiled with an ISA's flags never replaces another at link time.
//
// `Lanes` is the ISA's arithmetic on one block of eight channels:
//   Floats load(const float*), void store(float*, Floats), Floats add(Floats, Floats), Floats divide(Floats, float),
//   Floats greater(Floats v, Floats best)   v > best ? v : best, the scalar twin's expression, NaN and ±0 included
//   Floats all(float)
//   Bytes least(), Bytes greatest(Bytes, const int8_t*), void store(int8_t*, Bytes)
//   Sums all(int32_t), Sums plus(Sums, const int8_t*), Rounder rounder(const RoundArgs&),
//   void store_scaled(int8_t*, Sums, float m, const Rounder&)   R
// An ISA whose float lanes are no IEEE (ARMv7 NEON) leaves the float half away and takes the scalar twins.
#pragma once
#include "kernels/elementwise_kernels.h"

namespace lq {

/// Calls f(block) for each valid tap of one output, in row-major order.
template <typename T, typename F>
static inline void for_taps(const T* x, const PoolTaps& row, const PoolTaps& col, const PoolArgs& a, F f) {
  const int64_t line_step = static_cast<int64_t>(a.dilation_h) * a.in_w * kBlock;
  const int64_t step = static_cast<int64_t>(a.dilation_w) * kBlock;
  const T* line = x + (static_cast<int64_t>(row.first) * a.in_w + col.first) * kBlock;
  for (int32_t r = 0; r < row.count; ++r, line += line_step) {
    const T* v = line;
    for (int32_t c = 0; c < col.count; ++c, v += step) f(v);
  }
}

/// Calls f(row taps, column taps, output block) for all outputs of rows [begin, end).
template <typename T, typename F>
static inline void for_pool_outputs(T* y, int32_t begin, int32_t end, const PoolArgs& a, F f) {
  T* out = y + static_cast<int64_t>(begin) * a.out_w * kBlock;
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow, out += kBlock) f(a.rows[oh], a.cols[ow], out);
  }
}

template <typename Lanes>
static inline void max_pool_f32_of(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for_pool_outputs(y, begin, end, a, [&](const PoolTaps& row, const PoolTaps& col, float* out) {
    auto best = Lanes::all(-__builtin_inff());
    for_taps(x, row, col, a, [&](const float* v) { best = Lanes::greater(Lanes::load(v), best); });
    Lanes::store(out, best);
  });
}

/// Tap k adds to partial k % 8; the partials are joined by the fixed tree of docs/NUMERICS.md.
template <typename Lanes>
static inline void average_pool_f32_of(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for_pool_outputs(y, begin, end, a, [&](const PoolTaps& row, const PoolTaps& col, float* out) {
    float partial[8][kBlock] = {};
    uint32_t k = 0;
    for_taps(x, row, col, a, [&](const float* v) {
      float* p = partial[k++ & 7];
      Lanes::store(p, Lanes::add(Lanes::load(p), Lanes::load(v)));
    });
    const auto two = [&](int i, int j) { return Lanes::add(Lanes::load(partial[i]), Lanes::load(partial[j])); };
    const auto even = Lanes::add(two(0, 4), two(2, 6)), odd = Lanes::add(two(1, 5), two(3, 7));
    const float n = static_cast<float>(static_cast<int64_t>(row.divisor) * col.divisor);
    Lanes::store(out, Lanes::divide(Lanes::add(even, odd), n));
  });
}

template <typename Lanes>
static inline void max_pool_s8_of(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for_pool_outputs(y, begin, end, a, [&](const PoolTaps& row, const PoolTaps& col, int8_t* out) {
    auto best = Lanes::least();
    for_taps(x, row, col, a, [&](const int8_t* v) { best = Lanes::greatest(best, v); });
    Lanes::store(out, best);
  });
}

template <typename Lanes>
static inline void average_pool_s8_of(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  const auto rounder = Lanes::rounder(a.round);
  for_pool_outputs(y, begin, end, a, [&](const PoolTaps& row, const PoolTaps& col, int8_t* out) {
    auto sum = Lanes::all(-(row.count * col.count * a.zero_x));
    for_taps(x, row, col, a, [&](const int8_t* v) { sum = Lanes::plus(sum, v); });
    Lanes::store_scaled(out, sum, a.multiplier[row.slot * a.col_slots + col.slot], rounder);
  });
}

}  // namespace lq
