#include "runtime/fp_state.h"

#include <gtest/gtest.h>

#include <limits>

namespace lq {
namespace {

// Not folded by the compiler: the values come from memory it cannot see through.
float multiply(volatile float a, volatile float b) { return a * b; }

TEST(FpState, RoundingIsSetAndRestored) {
  std::fesetround(FE_DOWNWARD);
  {
    FpStateGuard guard;
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
  EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
  std::fesetround(FE_TONEAREST);
}

#if defined(__SSE2__)
TEST(FpState, SubnormalsLiveInsideAndFlushOutside) {
  const float smallest = std::numeric_limits<float>::min();
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);  // FTZ, DAZ
  EXPECT_EQ(multiply(smallest, 0.5f), 0.0f);
  {
    FpStateGuard guard;
    EXPECT_GT(multiply(smallest, 0.5f), 0.0f);
  }
  EXPECT_EQ(multiply(smallest, 0.5f), 0.0f);
  _mm_setcsr(saved);
}
#endif

}  // namespace
}  // namespace lq
