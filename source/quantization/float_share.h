// --float-share: where eight bits alone do not hold the outputs, the few products with little work and much of the
// error compute in float.
#pragma once
#include <optional>

#include "quantization/sensitivity.h"

namespace lq::quantization {

/// Outputs this near to float are left alone: an error of 3 % of their rms. A judgement, no theorem: boxes and masks of
/// the networks tried agreed from some 20 dB on.
inline constexpr double kHeldDb = 30;

struct FloatShare {
  std::vector<size_t> nodes;  // of the float graph, ascending
  double mac_share = 0;       // of products' multiply-adds: the price
  double before_db = 0, after_db = 0;
  size_t samples = 0;
};

/// Products whose multiply-adds together are at most `share` of all, and their weights of all weights (the file grows
/// by three times that): those whose return to float takes most error away per multiply-add, measured one by one.
/// Nothing if the outputs are above kHeldDb, no product is that small, or all together gain less than 0.5 dB. Layers
/// the user decided about are no candidates.
Result<std::optional<FloatShare>> find_float_share(const SensitivityInput& input, double share);

}  // namespace lq::quantization
