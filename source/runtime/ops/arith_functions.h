// The functors of elementwise_arith.cc, which compiles their rare types for size, and elementwise_arith_f32.cc, which
// compiles float32 for speed.
#pragma once
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/ops/binary_loop.h"

namespace lq::arith {

// Unsigned and at least as wide as int, so that wrapping is defined.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

struct AddFn {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) + Wrapping<T>(b));
    else
      return T(a + b);
  }
};
struct SubFn {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) - Wrapping<T>(b));
    else
      return T(a - b);
  }
};
struct MulFn {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) * Wrapping<T>(b));
    else
      return T(a * b);
  }
};
struct DivFn {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return SubFn::apply(T(0), a);
      }
      return b == 0 ? T(0) : T(a / b);  // zero is reported by run_checked before the loop
    } else {
      return T(a / b);
    }
  }
};
// Mod with fmod = 0: the result has the divisor's sign (Python's %).
struct FloorModFn {
  template <typename T>
  static T apply(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return 0;
    }
    const T r = T(a % b);
    return r != 0 && ((r < 0) != (b < 0)) ? T(r + b) : r;
  }
};
// Mod with fmod = 1: the dividend's sign (C's % and fmod; fmod is exact, so any libm gives the same bits).
struct TruncModFn {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return 0;
      }
      return T(a % b);
    } else if constexpr (std::is_same_v<T, double>) {
      return std::fmod(a, b);
    } else {
      return T(std::fmod(float(a), float(b)));
    }
  }
};
// Operand order as clamp_nan_to_low: the second operand wins when the first is NaN and when both are zeros.
struct MinFn {
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct MaxFn {
  template <typename T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
};
struct PReluFn {
  template <typename T>
  static T apply(T x, T slope) {
    if constexpr (std::is_integral_v<T>)
      return x < 0 ? MulFn::apply(x, slope) : x;
    else
      return x < T(0.0f) ? T(x * slope) : x;
  }
};

}  // namespace lq::arith

namespace lq {

// Compiled once, in elementwise_arith_f32.cc.
extern template void binary_row<arith::AddFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
extern template void binary_row<arith::SubFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
extern template void binary_row<arith::MulFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
extern template void binary_row<arith::DivFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
extern template void binary_row<arith::TruncModFn, float, float>(const void*, int64_t, const void*, int64_t, void*,
                                                                 int64_t);
extern template void binary_row<arith::MinFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
extern template void binary_row<arith::MaxFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
extern template void binary_row<arith::PReluFn, float, float>(const void*, int64_t, const void*, int64_t, void*,
                                                              int64_t);
extern template void repeat_row<arith::AddFn, 0>(const float*, const float*, int64_t, float*, int64_t);
extern template void repeat_row<arith::AddFn, 1>(const float*, const float*, int64_t, float*, int64_t);
extern template void repeat_row<arith::SubFn, 0>(const float*, const float*, int64_t, float*, int64_t);
extern template void repeat_row<arith::SubFn, 1>(const float*, const float*, int64_t, float*, int64_t);
extern template void repeat_row<arith::MulFn, 0>(const float*, const float*, int64_t, float*, int64_t);
extern template void repeat_row<arith::MulFn, 1>(const float*, const float*, int64_t, float*, int64_t);

}  // namespace lq
