// 256-entry tables: any int8 function of one int8 input.
#include "kernels/scalar/elementwise_scalar.h"

namespace lq::scalar {

void table_u8(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table) {
  for (int64_t i = 0; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace lq::scalar
