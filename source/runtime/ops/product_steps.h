// Panels of ConvStepsArgs (kernels/conv_kernels.h): what of a product on saturating byte multiplies can be proved, and
// the order of steps that follows.
#pragma once
#include <cstdint>
#include <string>

namespace lq {

/// Steps of a panel by kind; twice is even.
struct StepCounts {
  int32_t twice = 0, once = 0, pairs = 0;
  int32_t total() const { return twice + once + pairs; }
};

/// Sorts the steps of a panel, w [steps][2][width][4] in natural order, by what holds for every x of 0…largest;
/// order[i]: the natural index of the i-th. Pairs of channels must be safe: with largest <= 127 they always are.
StepCounts order_steps(int8_t* w, int64_t steps, int64_t width, int32_t largest, int32_t* order);

/// "twice 60% once 37% pairs 3%": shares of all steps, weighted by multiply-adds.
class StepShares {
 public:
  void add(const StepCounts& counts, int64_t width);
  std::string text() const;

 private:
  int64_t twice_ = 0, once_ = 0, pairs_ = 0;
};

}  // namespace lq
