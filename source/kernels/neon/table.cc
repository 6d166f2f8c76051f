// 256-entry tables on aarch64: four lookups of 64 entries, each answering for indices of its own quarter.
#include "kernels/neon/elementwise_neon.h"

#if defined(__aarch64__)
namespace lq::neon {

// tbl gives 0 for an index beyond its 64 bytes, tbx leaves the lane alone. After subtracting 64·k the indices of
// quarter k are those below 64.
void table_u8(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table) {
  int64_t i = 0;
  if (n >= 16) {
    const uint8x16x4_t t0 = vld1q_u8_x4(table), t1 = vld1q_u8_x4(table + 64), t2 = vld1q_u8_x4(table + 128),
                       t3 = vld1q_u8_x4(table + 192);
    const uint8x16_t quarter = vdupq_n_u8(64);
    for (; i + 16 <= n; i += 16) {
      const uint8x16_t i0 = vld1q_u8(x + i), i1 = vsubq_u8(i0, quarter), i2 = vsubq_u8(i1, quarter),
                       i3 = vsubq_u8(i2, quarter);
      vst1q_u8(y + i, vqtbx4q_u8(vqtbx4q_u8(vqtbx4q_u8(vqtbl4q_u8(t0, i0), t1, i1), t2, i2), t3, i3));
    }
  }
  for (; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace lq::neon
#endif
