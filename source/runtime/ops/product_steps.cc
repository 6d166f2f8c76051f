#include "runtime/ops/product_steps.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace lq {
namespace {

constexpr int kGroups = 32;  // of 4 channels {0, 1, 4, 5} or {2, 3, 6, 7} in each lane of a panel of 16
constexpr int kWords = kGroups / 4;
constexpr uint64_t kEach = 0x0001000100010001;  // 16 bits a group, four in a word: packing tries many pairs of steps

/// Sums of the positive and of the negative weights of each group. With x >= 0 every partial sum of a group's products
/// lies between largest · −negative and largest · positive.
struct StepLoad {
  uint64_t positive[kWords] = {}, negative[kWords] = {};

  StepLoad() = default;
  StepLoad(const int8_t* w, int64_t width) {
    const int8_t* other = w + 4 * width;  // channels 4…7
    for (int64_t group = 0; group < 2 * width; ++group, w += 2, other += 2) {
      uint64_t up = 0, down = 0;
      for (const int v : {int(w[0]), int(w[1]), int(other[0]), int(other[1])}) {
        up += uint64_t(v > 0 ? v : 0);
        down += uint64_t(v < 0 ? -v : 0);
      }
      positive[group / 4] |= up << (group % 4 * 16);
      negative[group / 4] |= down << (group % 4 * 16);
    }
  }
};

struct Limits {
  uint64_t positive, negative;
  explicit Limits(int32_t largest)
      : positive(uint64_t(32767 / std::max(1, largest))), negative(uint64_t(32768 / std::max(1, largest))) {}
};

/// Do the two steps' sums together stay in int16? Sums are below 2^11, so a group over its limit sets bit 15 and no
/// carry leaves it.
bool fits(const StepLoad& a, const StepLoad& b, const Limits& limits) {
  const uint64_t room_up = (0x7FFF - std::min<uint64_t>(limits.positive, 0x3FFF)) * kEach,
                 room_down = (0x7FFF - std::min<uint64_t>(limits.negative, 0x3FFF)) * kEach;
  uint64_t over = 0;
  for (int i = 0; i < kWords; ++i) {
    over |= a.positive[i] + b.positive[i] + room_up;
    over |= a.negative[i] + b.negative[i] + room_down;
  }
  return (over & 0x8000 * kEach) == 0;
}

/// Is every pair of channels safe?
bool pairs_fit(const int8_t* w, int64_t bytes, const Limits& limits) {
  unsigned over = 0;
  for (int64_t i = 0; i < bytes; i += 2) {
    const int sum = w[i] + w[i + 1];  // where signs differ, each alone is the worse, and safe
    over |= unsigned(sum > int(limits.positive)) | unsigned(-sum > int(limits.negative));
  }
  return over == 0;
}

/// Every step as it will be multiplied: whole, or as two halves one after the other.
struct Parts {
  std::vector<int8_t> w;
  std::vector<int32_t> natural;  // which step
};
Parts cut(const int8_t* w, int64_t steps, int64_t bytes, const Limits& limits) {
  Parts parts;
  parts.w.reserve(size_t(steps * bytes));
  for (int64_t s = 0; s < steps; ++s, w += bytes) {
    const bool whole = pairs_fit(w, bytes, limits);
    parts.natural.insert(parts.natural.end(), whole ? 1 : 2, int32_t(s));
    if (whole) {
      parts.w.insert(parts.w.end(), w, w + bytes);
      continue;
    }
    for (int64_t i = 0; i < bytes; ++i) parts.w.push_back(int8_t(w[i] / 2));
    for (int64_t i = 0; i < bytes; ++i) parts.w.push_back(int8_t(w[i] - w[i] / 2));
  }
  return parts;
}

}  // namespace

SortedSteps sort_steps(const int8_t* w, int64_t steps, int64_t width, int32_t largest) {
  constexpr size_t kWindow = 24;  // partners tried for a step: more find hardly any
  const int64_t bytes = 8 * width;
  const Limits limits(largest);
  const Parts parts = cut(w, steps, bytes, limits);
  std::vector<StepLoad> load;
  load.reserve(parts.natural.size());
  std::vector<int32_t> safe, alone, others, sorted;
  for (size_t i = 0; i < parts.natural.size(); ++i) {
    load.emplace_back(parts.w.data() + int64_t(i) * bytes, width);
    (fits(load.back(), StepLoad(), limits) ? safe : others).push_back(int32_t(i));
  }
  while (!safe.empty()) {
    const int32_t first = safe.front();
    safe.erase(safe.begin());
    const auto end = safe.begin() + std::ptrdiff_t(std::min(kWindow, safe.size()));
    const auto partner =
        std::find_if(safe.begin(), end, [&](int32_t i) { return fits(load[size_t(first)], load[size_t(i)], limits); });
    if (partner == end) {
      alone.push_back(first);
      continue;
    }
    sorted.push_back(first);
    sorted.push_back(*partner);
    safe.erase(partner);
  }
  SortedSteps result;
  result.counts = {int32_t(sorted.size()), int32_t(alone.size()), int32_t(others.size())};
  sorted.insert(sorted.end(), alone.begin(), alone.end());
  sorted.insert(sorted.end(), others.begin(), others.end());
  result.w.reserve(parts.w.size());
  for (int32_t i : sorted) {
    result.order.push_back(parts.natural[size_t(i)]);
    result.w.insert(result.w.end(), parts.w.begin() + i * bytes, parts.w.begin() + (i + 1) * bytes);
  }
  return result;
}

int64_t step_cost(const StepCounts& counts) { return 9 * counts.twice + 10 * counts.once + 12 * counts.pairs; }

void StepShares::add(const StepCounts& counts, int64_t width) {
  twice_ += counts.twice * width, once_ += counts.once * width, pairs_ += counts.pairs * width;
}

std::string StepShares::text() const {
  const int64_t all = std::max<int64_t>(1, twice_ + once_ + pairs_);
  const auto percent = [&](int64_t n) { return std::to_string((200 * n + all) / (2 * all)) + "%"; };
  return "twice " + percent(twice_) + " once " + percent(once_) + " pairs " + percent(pairs_);
}

}  // namespace lq
