// Panels of ConvStepsArgs (kernels/conv_kernels.h): what of a product on saturating byte multiplies can be proved, and
// the order of steps that follows.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace lq {

/// Steps of a panel by kind; twice is even.
struct StepCounts {
  int32_t twice = 0, once = 0, pairs = 0;
  int32_t total() const { return twice + once + pairs; }
};

/// A panel's steps, sorted by what holds for every x of 0…largest. order[i]: the natural index of the i-th. A step of
/// which some pair of channels is not safe (largest 255 only) comes twice, with the two halves of its weights.
struct SortedSteps {
  StepCounts counts;
  std::vector<int32_t> order;
  std::vector<int8_t> w;  // [steps][2][width][4]
};

/// w: the same in natural order, −127…127.
SortedSteps sort_steps(const int8_t* w, int64_t steps, int64_t width, int32_t largest);

/// Vector instructions of a panel's steps, and of channels (times taps) in int16, a pixel and 16 lanes: for comparison.
int64_t step_cost(const StepCounts& counts);
inline int64_t int16_cost(int64_t channels) { return 2 * channels; }

/// "twice 60% once 37% pairs 3%": shares of all steps, weighted by multiply-adds.
class StepShares {
 public:
  void add(const StepCounts& counts, int64_t width);
  std::string text() const;

 private:
  int64_t twice_ = 0, once_ = 0, pairs_ = 0;
};

}  // namespace lq
