#include "runtime/fp_state.h"

#include <gtest/gtest.h>

#include <limits>

namespace lq {
namespace {

// Operands come from memory the compiler cannot see through, so that nothing is folded.
float divide(float a, float b) {
  volatile float x = a, y = b;
  return x / y;
}

// 1/3 lies between two floats: rounded down and to nearest it differs by one unit in the last place from rounded up.
// (Asked by arithmetic: fegetround() looks at the x87 control word, libquant computes in SSE.)
TEST(FpState, RoundingIsSetAndRestored) {
  const float nearest = divide(1, 3);
  std::fesetround(nearest * 3.0 > 1.0 ? FE_DOWNWARD : FE_UPWARD);
  EXPECT_NE(divide(1, 3), nearest);
  {
    FpStateGuard guard;
    EXPECT_EQ(divide(1, 3), nearest);
  }
  EXPECT_NE(divide(1, 3), nearest);
  std::fesetround(FE_TONEAREST);
}

#if defined(__SSE2__)
TEST(FpState, SubnormalsLiveInsideAndFlushOutside) {
  const float smallest = std::numeric_limits<float>::min();
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);  // FTZ, DAZ
  EXPECT_EQ(divide(smallest, 2), 0.0f);
  {
    FpStateGuard guard;
    EXPECT_GT(divide(smallest, 2), 0.0f);
  }
  EXPECT_EQ(divide(smallest, 2), 0.0f);
  _mm_setcsr(saved);
}
#endif

}  // namespace
}  // namespace lq
