// Blocked pools: eight channels side by side, window by window.
#include "kernels/elementwise_inline.h"
#include "kernels/scalar/elementwise_scalar.h"

namespace lq::scalar {
namespace {

/// Calls f(block) for each valid tap of output (oh, ow), in row-major order.
template <typename T, typename F>
inline void for_taps(const T* x, const PoolTaps& row, const PoolTaps& col, const PoolArgs& a, F f) {
  for (int32_t r = 0; r < row.count; ++r) {
    const T* line = x + (static_cast<int64_t>(row.first + r * a.dilation_h) * a.in_w + col.first) * kBlock;
    for (int32_t c = 0; c < col.count; ++c) f(line + static_cast<int64_t>(c) * a.dilation_w * kBlock);
  }
}

/// y = max over the window: v > best ? v : best, starting from the lowest value, so padding never wins.
template <typename T>
inline void max_pool(const T* x, T* y, int32_t begin, int32_t end, const PoolArgs& a, T lowest) {
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      T best[kBlock];
      for (T& b : best) b = lowest;
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const T* v) {
        for (int lane = 0; lane < kBlock; ++lane) best[lane] = v[lane] > best[lane] ? v[lane] : best[lane];
      });
      T* out = y + (static_cast<int64_t>(oh) * a.out_w + ow) * kBlock;
      for (int lane = 0; lane < kBlock; ++lane) out[lane] = best[lane];
    }
  }
}

}  // namespace

void max_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& args) {
  max_pool(x, y, begin, end, args, -__builtin_inff());
}

void max_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& args) {
  max_pool<int8_t>(x, y, begin, end, args, -128);
}

// Tap k adds to partial k % 8; the partials are joined by the fixed tree and divided once.
void average_pool_f32(const float* x, float* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      float partial[8][kBlock] = {};
      int32_t k = 0;
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const float* v) {
        float* p = partial[k++ & 7];
        for (int lane = 0; lane < kBlock; ++lane) p[lane] += v[lane];
      });
      const float n = static_cast<float>(static_cast<int64_t>(a.rows[oh].divisor) * a.cols[ow].divisor);
      float* out = y + (static_cast<int64_t>(oh) * a.out_w + ow) * kBlock;
      for (int lane = 0; lane < kBlock; ++lane) {
        float p[8];
        for (int i = 0; i < 8; ++i) p[i] = partial[i][lane];
        out[lane] = join8(p) / n;
      }
    }
  }
}

// R on Σ(q − zp) = Σq − taps·zp; the multiplier depends on the divisor.
void average_pool_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const PoolArgs& a) {
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      int32_t acc[kBlock] = {};
      for_taps(x, a.rows[oh], a.cols[ow], a, [&](const int8_t* v) {
        for (int lane = 0; lane < kBlock; ++lane) acc[lane] += v[lane];
      });
      const int32_t zero = a.rows[oh].count * a.cols[ow].count * a.zero_x;
      const float m = a.multiplier[a.rows[oh].slot * a.col_slots + a.cols[ow].slot];
      int8_t* out = y + (static_cast<int64_t>(oh) * a.out_w + ow) * kBlock;
      for (int lane = 0; lane < kBlock; ++lane) {
        out[lane] = static_cast<int8_t>(round_clamped(static_cast<float>(acc[lane] - zero) * m, a.round));
      }
    }
  }
}

}  // namespace lq::scalar
