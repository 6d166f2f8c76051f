#include "runtime/ops/depthwise_split.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace lq {
namespace {

constexpr int kLanes = 8;
using Groups = std::vector<std::vector<int>>;

/// Sums of the channels' |weights|.
struct Load {
  int sum[kLanes] = {};
  void add(const int8_t* w, int tap) {
    for (int i = 0; i < kLanes; ++i) sum[i] += std::abs(int(w[tap * kLanes + i]));
  }
  int most() const { return *std::max_element(sum, sum + kLanes); }
};

/// May both taps meet in one vpmaddubsw?
bool is_pair(const int8_t* w, int a, int b, int32_t largest) {
  for (int i = 0; i < kLanes; ++i) {
    const int sum = (w[a * kLanes + i] + w[b * kLanes + i]) * largest;  // where signs differ it is smaller than each
    if (sum > 32767 || sum < -32768) return false;
  }
  return true;
}

/// Heaviest taps first, each to the group it loads least; empty if that does not fit into `count` groups.
Groups spread(const int8_t* w, int taps, int count, int limit) {
  std::vector<int> order(static_cast<size_t>(taps));
  std::iota(order.begin(), order.end(), 0);
  std::vector<int> weight;
  for (int t = 0; t < taps; ++t) {
    Load load;
    load.add(w, t);
    weight.push_back(load.most());
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return weight[size_t(a)] > weight[size_t(b)]; });
  Groups groups(static_cast<size_t>(count));
  std::vector<Load> loads(static_cast<size_t>(count));
  for (int t : order) {
    int best = limit + 1;
    size_t to = groups.size();
    for (size_t g = 0; g < groups.size(); ++g) {
      Load with = loads[g];
      with.add(w, t);
      // An odd group waits for a partner: prefer to complete a pair.
      const int rank = with.most() - (groups[g].size() % 2 == 1 ? 24 : 0);
      if (with.most() <= limit && rank < best) best = rank, to = g;
    }
    if (to == groups.size()) return {};
    groups[to].push_back(t);
    loads[to].add(w, t);
  }
  groups.erase(std::remove_if(groups.begin(), groups.end(), [](const auto& g) { return g.empty(); }), groups.end());
  return groups;
}

/// 9 taps as 4 + 5: any of the 126 ways in which the five fit (four must, too).
Groups four_and_five(const int8_t* w, int limit) {
  for (unsigned mask = 0; mask < (1u << 9); ++mask) {
    if (__builtin_popcount(mask) != 4) continue;
    Load loads[2];
    for (int t = 0; t < 9; ++t) loads[mask >> t & 1 ? 0 : 1].add(w, t);
    if (loads[0].most() > limit || loads[1].most() > limit) continue;
    Groups groups(2);
    for (int t = 0; t < 9; ++t) groups[mask >> t & 1 ? 0 : 1].push_back(t);
    return groups;
  }
  return {};
}

/// Taps of each group two by two where the pair is proved, else alone.
TapSplit pair_up(const int8_t* w, const Groups& groups, int32_t largest) {
  TapSplit split;
  for (std::vector<int> g : groups) {
    int16_t pairs = 0;
    while (!g.empty()) {
      const int tap = g.front();
      g.erase(g.begin());
      const auto mate = std::find_if(g.begin(), g.end(), [&](int t) { return is_pair(w, tap, t, largest); });
      split.taps.push_back(int16_t(tap));
      split.taps.push_back(mate == g.end() ? int16_t(-1) : int16_t(*mate));
      if (mate != g.end()) g.erase(mate);
      ++pairs;
    }
    split.group.push_back(pairs);
  }
  return split;
}

/// Instructions of 4 outputs, roughly: a pair's two interleavings, products and sums, a widening of two groups.
int64_t cost_of(const TapSplit& s) {
  return 6 * int64_t(s.taps.size() / 2) + 12 * int64_t((s.group.size() + 1) / 2) + int64_t(s.group.size());
}

void set_starts(const int8_t* w, int32_t largest, TapSplit& split) {
  const int16_t* tap = split.taps.data();
  for (int16_t pairs : split.group) {
    for (int i = 0; i < kLanes; ++i) {
      int most = 0;
      for (int p = 0; p < 2 * pairs; ++p) most += tap[p] < 0 ? 0 : largest * std::max<int>(0, w[tap[p] * kLanes + i]);
      int least = 0;
      for (int p = 0; p < 2 * pairs; ++p) least += tap[p] < 0 ? 0 : largest * std::min<int>(0, w[tap[p] * kLanes + i]);
      split.start.push_back(int16_t(most > 32767 ? 32767 - most : least < -32768 ? -32768 - least : 0));
    }
    tap += 2 * pairs;
  }
}

}  // namespace

TapSplit split_taps(const int8_t* w, int taps, int32_t largest) {
  const int limit = 65535 / largest;
  const int sure = limit / 128;  // taps that always fit
  TapSplit best;
  if (taps == 9 && sure >= 4) {
    const Groups two = four_and_five(w, limit);
    if (!two.empty()) best = pair_up(w, two, largest);
  }
  Load all;
  for (int t = 0; t < taps; ++t) all.add(w, t);
  const int least = std::max(1, (all.most() + limit - 1) / limit), most = std::max(least, (taps + sure - 1) / sure);
  for (int count = least; count <= most; ++count) {
    Groups groups = spread(w, taps, count, limit);
    if (groups.empty() && count < most) continue;
    if (groups.empty()) {  // `sure` by `sure`
      for (int t = 0; t < taps; ++t) {
        if (t % sure == 0) groups.emplace_back();
        groups.back().push_back(t);
      }
    }
    TapSplit split = pair_up(w, groups, largest);
    if (best.group.empty() || cost_of(split) < cost_of(best)) best = std::move(split);
  }
  set_starts(w, largest, best);
  return best;
}

}  // namespace lq
