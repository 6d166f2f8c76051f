// Statistics of one tensor over all samples: its range and how its values are spread. Every member is an integer, a
// minimum or a maximum: adding samples in any order, in any number of parts, gives the same bits.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"

namespace lq::calibration {

inline constexpr int kBins = 2048;              // a side
inline constexpr float kTinyMagnitude = 1e-6f;  // |x| up to here stays out of the histogram (not out of the range)

struct RangeStats {
  float min = std::numeric_limits<float>::infinity(),
        max = -std::numeric_limits<float>::infinity();  // of finite values
  uint64_t finite = 0, nan = 0, inf = 0;
  std::string first_bad_sample;  // smallest name of a sample with NaN or Inf; "" if none
  void add(const float* values, size_t count, const std::string& sample_name);
  void merge(const RangeStats& other);
  /// [min, max] with -0 as 0; [0, 0] when no finite value was seen.
  ValueRange range() const;
};

/// Bin b of a side counts |x| in [b, b + 1) · limit / 2048, the last one up to and including limit; limit =
/// max(|min|, |max|).
class Histogram {
 public:
  Histogram() = default;  // of [0, 0]: empty
  ValueRange range() const { return range_; }
  float limit() const { return limit_; }
  const std::vector<uint64_t>& positive() const { return positive_; }
  const std::vector<uint64_t>& negative() const { return negative_; }
  uint64_t tiny() const { return tiny_; }  // |x| <= 1e-6
  uint64_t total() const;                  // in the bins
  /// The |x| view: positive + negative, bin by bin.
  std::vector<uint64_t> fold() const;
  /// Upper edge of bin b (0-based) on either side; edge(2047) == limit exactly.
  double upper_edge(int bin) const { return double(limit_) * (bin + 1) / kBins; }
  /// What no value counted in bins 0…bin exceeds. Values that lay in a fine bin across the edge are shared between its
  /// two sides in proportion: those counted below it reach up to that fine bin's end.
  double reach(int bin) const;

 private:
  friend class GrowingHistogram;
  ValueRange range_;
  float limit_ = 0;
  double fine_width_ = 0;  // of the bins that were counted in; 0: nothing was
  std::vector<uint64_t> positive_ = std::vector<uint64_t>(kBins), negative_ = positive_;
  uint64_t tiny_ = 0;
};

/// A histogram whose range need not be known before: bins are 2ᵏ wide, and where a value lies beyond the last one,
/// pairs of bins join and the range doubles. A bin is ⌊|x| / 2ᵏ⌋, and ⌊⌊v⌋ / 2⌋ = ⌊v / 2⌋, so the counts do not tell
/// when it grew.
class GrowingHistogram {
 public:
  static constexpr int kFineBins = 4 * kBins;  // a side: at least two to a bin of any Histogram made of it

  /// `range`: of these values, those that are not finite left out (they are not counted).
  void add(const float* values, size_t count, ValueRange range);
  void merge(const GrowingHistogram& other);
  /// In bins over `range`, which is that of all values. A fine bin across an edge is shared in proportion.
  Histogram over(ValueRange range) const;

 private:
  void grow(int exponent);
  void flush();
  std::vector<uint64_t> side(bool negative) const;

  int exponent_ = kSmallest;             // the range is 2^exponent
  static constexpr int kSmallest = -19;  // 2⁻¹⁹ is the first above kTinyMagnitude
  std::vector<uint32_t> recent_;         // positive, negative, tiny, not finite; empty: nothing was added
  uint64_t recent_count_ = 0;            // less than 2³², so that no count of recent_ overflows
  std::vector<uint64_t> counts_;         // what recent_ could not hold; empty if that never happened
};

}  // namespace lq::calibration
