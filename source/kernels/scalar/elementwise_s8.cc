// int8 Add, Sub, Mul, PRelu.
#include "kernels/elementwise_inline.h"
#include "kernels/scalar/elementwise_scalar.h"

namespace lq::scalar {
namespace {

/// y[i] = f(a[i], b[i]) with b stepping along or repeating every eight elements.
template <typename B, typename F>
inline void binary(const int8_t* a, const B* b, int b_step, int8_t* y, int64_t n, F f) {
  if (b_step != 0) {
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
    return;
  }
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    for (int lane = 0; lane < kBlock; ++lane) y[i + lane] = f(a[i + lane], b[lane]);
  }
  for (int lane = 0; i + lane < n; ++lane) y[i + lane] = f(a[i + lane], b[lane]);
}

}  // namespace

void add_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args) {
  binary(a, b, b_step, y, n, [g = args](int8_t p, int8_t q) { return add_one(p, q, g); });
}

void mul_s8(const int8_t* a, const int8_t* b, int b_step, int8_t* y, int64_t n, const BinaryArgs& args) {
  binary(a, b, b_step, y, n, [g = args](int8_t p, int8_t q) { return mul_one(p, q, g); });
}

void prelu_s8(const int8_t* x, const float* negative, int step, int8_t* y, int64_t n, const RescaleArgs& args) {
  binary(x, negative, step, y, n, [g = args](int8_t p, float m) { return prelu_one(p, m, g); });
}

}  // namespace lq::scalar
