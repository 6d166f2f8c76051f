#include "runtime/ops/product_steps.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace lq {
namespace {

constexpr int kGroups = 32;  // of 4 channels {0, 1, 4, 5} or {2, 3, 6, 7} in each lane of a panel of 16

/// Sums of the positive and of the negative weights of each group. With x >= 0 every partial sum of a group's products
/// lies between largest · −negative and largest · positive.
struct StepLoad {
  uint16_t positive[kGroups] = {}, negative[kGroups] = {};

  StepLoad() = default;
  StepLoad(const int8_t* w, int64_t width) {
    for (int half = 0; half < 2; ++half) {
      for (int64_t l = 0; l < width; ++l) {
        for (int i = 0; i < 4; ++i) {
          const int v = w[(half * width + l) * 4 + i];
          (v > 0 ? positive : negative)[2 * l + i / 2] += uint16_t(v > 0 ? v : -v);
        }
      }
    }
  }
};

struct Limits {
  uint16_t positive, negative;
  explicit Limits(int32_t largest)
      : positive(uint16_t(32767 / std::max(1, largest))), negative(uint16_t(32768 / std::max(1, largest))) {}
};

/// Do the two steps' sums together stay in int16? Branch-free: this is the inner loop of packing.
bool fits(const StepLoad& a, const StepLoad& b, const Limits& limits) {
  unsigned over = 0;
  for (int g = 0; g < kGroups; ++g) {
    over |= unsigned(a.positive[g] + b.positive[g] > limits.positive);
    over |= unsigned(a.negative[g] + b.negative[g] > limits.negative);
  }
  return over == 0;
}

}  // namespace

StepCounts order_steps(int8_t* w, int64_t steps, int64_t width, int32_t largest, int32_t* order) {
  constexpr size_t kWindow = 24;  // partners tried for a step: more find hardly any
  const int64_t bytes = 8 * width;
  const Limits limits(largest);
  std::vector<StepLoad> load;
  load.reserve(size_t(steps));
  std::vector<int32_t> safe, others, alone;
  for (int64_t s = 0; s < steps; ++s) {
    load.emplace_back(w + s * bytes, width);
    (fits(load.back(), StepLoad(), limits) ? safe : others).push_back(int32_t(s));
  }
  StepCounts counts;
  while (!safe.empty()) {
    const int32_t first = safe.front();
    safe.erase(safe.begin());
    const auto end = safe.begin() + std::ptrdiff_t(std::min(kWindow, safe.size()));
    const auto partner =
        std::find_if(safe.begin(), end, [&](int32_t s) { return fits(load[size_t(first)], load[size_t(s)], limits); });
    if (partner == end) {
      alone.push_back(first);
      continue;
    }
    order[counts.twice++] = first;
    order[counts.twice++] = *partner;
    safe.erase(partner);
  }
  counts.once = int32_t(alone.size());
  counts.pairs = int32_t(others.size());
  std::copy(alone.begin(), alone.end(), order + counts.twice);
  std::copy(others.begin(), others.end(), order + counts.twice + counts.once);
  const std::vector<int8_t> natural(w, w + steps * bytes);
  for (int64_t s = 0; s < steps; ++s) std::memcpy(w + s * bytes, natural.data() + order[s] * bytes, size_t(bytes));
  return counts;
}

void StepShares::add(const StepCounts& counts, int64_t width) {
  twice_ += counts.twice * width, once_ += counts.once * width, pairs_ += counts.pairs * width;
}

std::string StepShares::text() const {
  const int64_t all = std::max<int64_t>(1, twice_ + once_ + pairs_);
  const auto percent = [&](int64_t n) { return std::to_string((200 * n + all) / (2 * all)) + "%"; };
  return "twice " + percent(twice_) + " once " + percent(once_) + " pairs " + percent(pairs_);
}

}  // namespace lq
