// Blocked linear and cubic int8 Resize: Σ w_row·w_col·q over the taps, one int32 pass.
#include "kernels/elementwise_inline.h"
#include "kernels/scalar/elementwise_scalar.h"

namespace lq::scalar {

void resize_s8(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& a) {
  const uint32_t zero = static_cast<uint32_t>(a.zero_x) << 22;  // Σ w_row·w_col = 2^22
  for (int32_t oh = begin; oh < end; ++oh) {
    for (int32_t ow = 0; ow < a.out_w; ++ow) {
      int8_t* out = y + (static_cast<int64_t>(oh) * a.out_w + ow) * kBlock;
      if ((a.rows.outside && a.rows.outside[oh]) || (a.cols.outside && a.cols.outside[ow])) {
        for (int lane = 0; lane < kBlock; ++lane) out[lane] = a.extrapolation;
        continue;
      }
      uint32_t acc[kBlock] = {};  // intermediates may wrap; the final sum fits int32
      for (int32_t r = 0; r < a.rows.taps; ++r) {
        const int32_t row = oh * a.rows.taps + r;
        const int8_t* line = x + static_cast<int64_t>(a.rows.index[row]) * a.in_w * kBlock;
        for (int32_t c = 0; c < a.cols.taps; ++c) {
          const int32_t col = ow * a.cols.taps + c;
          const int8_t* v = line + static_cast<int64_t>(a.cols.index[col]) * kBlock;
          const uint32_t w = static_cast<uint32_t>(a.rows.weight[row] * a.cols.weight[col]);
          for (int lane = 0; lane < kBlock; ++lane)
            acc[lane] += w * static_cast<uint32_t>(static_cast<int32_t>(v[lane]));
        }
      }
      for (int lane = 0; lane < kBlock; ++lane) {
        const int32_t sum = static_cast<int32_t>(acc[lane] - zero);
        out[lane] = static_cast<int8_t>(round_clamped(static_cast<float>(sum) * a.multiplier, a.round));
      }
    }
  }
}

}  // namespace lq::scalar
