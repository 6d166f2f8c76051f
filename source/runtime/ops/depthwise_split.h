// Which taps of a depthwise layer go together in DepthwiseTapsArgs (kernels/conv_kernels.h).
#pragma once
#include <cstdint>
#include <vector>

namespace lq {

/// The taps of one block of 8 channels. A group's int16 sum may start off centre (`start`, taken back from the bias),
/// so that it holds any group whose |weights| sum to at most 65535 / largest: 516 for x in 0…127, i.e. always 4 taps,
/// 257 for x in 0…255, always 2.
struct TapSplit {
  std::vector<int16_t> taps;   // [pairs][2]: which, −1: none (weight 0)
  std::vector<int16_t> group;  // [groups]: its pairs
  std::vector<int16_t> start;  // [groups][8]
};

/// w: [taps][8], x in 0…largest (127 or 255). Few groups, and of these few pairs.
TapSplit split_taps(const int8_t* w, int taps, int32_t largest);

}  // namespace lq
