// KL: the threshold whose quantized distribution loses the least information (docs/DESIGN.md, 'Toolchain').
//
// Over the |x| view with 2048 bins, for each candidate i = levels…2048 (threshold: the upper edge of bin i − 1):
//   P: bins [0, i), the outliers (bins [i, 2048)) added to the last one;
//   Q: bins [0, i) without the outliers, cut into `levels` groups [floor(j·i/levels), floor((j+1)·i/levels)); each
//   group's
//      mass is spread evenly over its non-empty bins, empty bins stay empty.
// KL = Σ p·log(p/q) of the two, each normalised to 1; infinite where Q is empty and P is not (outliers behind an empty
// last bin). The smallest wins; ties (less than 1e-12 apart, which is rounding) take the smaller threshold.
//
// With S_j, c_j the mass and the non-empty bins of group j, N and N_q the sums of P and Q:
//   KL = (Σ p·log p − Σ_j S'_j·log(S_j/c_j)) / N − log N + log N_q,    S' = S but for the outliers in the last group.
// Σ p·log p is a prefix sum; S·log(S/c) depends only on a group's start and width, and only two widths occur for a
// given floor(i/levels): one table a width, 2048·(2048/levels + 1) logarithms in all, and O(bins × levels) additions.
#include <cmath>
#include <limits>

#include "calibration/methods/method.h"
#include "numerics/elementary.h"

namespace lq::calibration {
namespace {

constexpr double kTie = 1e-12;

double x_log_x(uint64_t n) { return n == 0 ? 0.0 : double(n) * elementary::log(double(n)); }

class KlSearch {
 public:
  KlSearch(const std::vector<uint64_t>& bins, int levels)
      : bins_(bins), levels_(levels), mass_(kBins + 1), filled_(kBins + 1), entropy_(kBins + 1), log_small_(kBins + 2) {
    for (size_t b = 0; b < size_t(kBins); ++b) {
      mass_[b + 1] = mass_[b] + bins[b];
      filled_[b + 1] = filled_[b] + (bins[b] != 0);
      entropy_[b + 1] = entropy_[b] + x_log_x(bins[b]);
    }
    for (int c = 1; c <= kBins / levels + 1; ++c) log_small_[size_t(c)] = elementary::log(double(c));
  }

  /// Number of bins kept by the best candidate.
  int best() {
    double best_kl = std::numeric_limits<double>::infinity();
    int best_bins = kBins;
    std::vector<double> narrow = group_table(1), wide;
    for (int width = 1; width * levels_ <= kBins; ++width) {
      wide = group_table(width + 1);
      for (int i = width * levels_; i < (width + 1) * levels_ && i <= kBins; ++i) {
        const double kl = divergence(i, width, narrow, wide);
        if (kl < best_kl - kTie || (best_kl == std::numeric_limits<double>::infinity() && kl < best_kl))
          best_kl = kl, best_bins = i;
      }
      narrow.swap(wide);
    }
    return best_bins;
  }

 private:
  /// S·log(S/c) of the group [start, start + width), for every start.
  std::vector<double> group_table(int width) const {
    std::vector<double> table(kBins, 0.0);
    for (int start = 0; start + width <= kBins; ++start) {
      const uint64_t mass = mass_[size_t(start + width)] - mass_[size_t(start)];
      if (mass == 0) continue;
      const uint32_t count = filled_[size_t(start + width)] - filled_[size_t(start)];
      table[size_t(start)] = double(mass) * (elementary::log(double(mass)) - log_small_[count]);
    }
    return table;
  }

  double divergence(int i, int width, const std::vector<double>& narrow, const std::vector<double>& wide) const {
    const uint64_t total = mass_[kBins], kept = mass_[size_t(i)], outliers = total - kept, last = bins_[size_t(i) - 1];
    if (kept == 0 || (last == 0 && outliers != 0)) return std::numeric_limits<double>::infinity();
    const int extra = i % levels_;  // group borders floor(j·i/levels), kept as start and remainder
    double cross = 0;
    int start = 0, remainder = 0;
    for (int j = 0; j + 1 < levels_; ++j) {
      remainder += extra;
      const bool is_wide = remainder >= levels_;
      cross += is_wide ? wide[size_t(start)] : narrow[size_t(start)];
      start += width + (is_wide ? 1 : 0);
      remainder -= is_wide ? levels_ : 0;
    }
    const uint64_t mass = kept - mass_[size_t(start)];
    if (mass != 0) {
      const uint32_t count = filled_[size_t(i)] - filled_[size_t(start)];
      cross += double(mass + outliers) * (elementary::log(double(mass)) - log_small_[count]);
    }
    const double own = entropy_[size_t(i) - 1] + x_log_x(last + outliers);
    return (own - cross) / double(total) - elementary::log(double(total)) + elementary::log(double(kept));
  }

  const std::vector<uint64_t>& bins_;
  const int levels_;
  std::vector<uint64_t> mass_;     // prefix sums
  std::vector<uint32_t> filled_;   // prefix counts of non-empty bins
  std::vector<double> entropy_;    // prefix sums of n·log n
  std::vector<double> log_small_;  // log of small integers
};

}  // namespace

ValueRange kl_threshold(const MethodInput& input) {
  const std::vector<uint64_t> fold = input.histogram.fold();
  const int kept = KlSearch(fold, input.levels).best();
  return clip_range(input.range, input.histogram.upper_edge(kept - 1));
}

}  // namespace lq::calibration
