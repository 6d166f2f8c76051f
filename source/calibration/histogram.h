// Statistics of one tensor over all samples: pass 1 (range) and pass 2 (histogram). Every member is an integer, a
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

/// Pass 1.
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

/// Pass 2. Bin b of a side counts |x| in [b, b + 1) · limit / 2048, the last one up to and including limit.
class Histogram {
 public:
  Histogram() : Histogram(ValueRange{}) {}
  /// `range` is that of pass 1, merged over all parts; limit = max(|min|, |max|).
  explicit Histogram(ValueRange range);
  void add(const float* values, size_t count);
  /// Fails if the other one has another range.
  Status merge(const Histogram& other);

  ValueRange range() const { return range_; }
  float limit() const { return limit_; }
  const std::vector<uint64_t>& positive() const { return positive_; }
  const std::vector<uint64_t>& negative() const { return negative_; }
  uint64_t tiny() const { return tiny_; }        // |x| <= 1e-6
  uint64_t outside() const { return outside_; }  // beyond the range, or not finite
  uint64_t total() const;                        // in the bins
  /// The |x| view: positive + negative, bin by bin.
  std::vector<uint64_t> fold() const;
  /// Upper edge of bin b (0-based) on either side; edge(2047) == limit exactly.
  double upper_edge(int bin) const { return double(limit_) * (bin + 1) / kBins; }

 private:
  ValueRange range_;
  float limit_ = 0;
  double bins_per_unit_ = 0;
  std::vector<uint64_t> positive_, negative_;
  uint64_t tiny_ = 0, outside_ = 0;
};

}  // namespace lq::calibration
