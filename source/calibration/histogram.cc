#include "calibration/histogram.h"

#include <algorithm>
#include <cmath>

namespace lq::calibration {
namespace {

/// Eight independent lanes so that the compiler can use vector minimum and maximum; their joining order does not
/// matter.
constexpr size_t kLanes = 8;

struct MinMax {
  float lo[kLanes], hi[kLanes];
};

/// NaN and Inf are left out: the comparison is false for both.
void update(MinMax& m, const float* x, size_t lanes, uint64_t& finite) {
  for (size_t j = 0; j < lanes; ++j) {
    const bool ok = std::fabs(x[j]) <= std::numeric_limits<float>::max();
    finite += ok;
    m.lo[j] = ok && x[j] < m.lo[j] ? x[j] : m.lo[j];
    m.hi[j] = ok && x[j] > m.hi[j] ? x[j] : m.hi[j];
  }
}

}  // namespace

void RangeStats::add(const float* values, size_t count, const std::string& sample_name) {
  MinMax m;
  std::fill(m.lo, m.lo + kLanes, min);
  std::fill(m.hi, m.hi + kLanes, max);
  uint64_t good = 0;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) update(m, values + i, kLanes, good);
  update(m, values + i, count - i, good);
  min = *std::min_element(m.lo, m.lo + kLanes);
  max = *std::max_element(m.hi, m.hi + kLanes);
  finite += good;
  if (good == count) return;
  for (i = 0; i < count; ++i) {  // rare: tell NaN from Inf
    nan += std::isnan(values[i]);
    inf += std::isinf(values[i]);
  }
  if (first_bad_sample.empty() || sample_name < first_bad_sample) first_bad_sample = sample_name;
}

void RangeStats::merge(const RangeStats& other) {
  min = std::min(min, other.min), max = std::max(max, other.max);
  finite += other.finite, nan += other.nan, inf += other.inf;
  if (first_bad_sample.empty() || (!other.first_bad_sample.empty() && other.first_bad_sample < first_bad_sample))
    first_bad_sample = other.first_bad_sample;
}

ValueRange RangeStats::range() const {
  if (finite == 0) return {0, 0};
  return {min + 0.0f, max + 0.0f};  // which zero came first must not show
}

Histogram::Histogram(ValueRange range) : range_(range), positive_(kBins), negative_(kBins) {
  limit_ = std::max(std::fabs(range.min), std::fabs(range.max));
  if (limit_ > kTinyMagnitude) bins_per_unit_ = kBins / double(limit_);
}

void Histogram::add(const float* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const float magnitude = std::fabs(values[i]);
    if (magnitude <= kTinyMagnitude) {
      ++tiny_;
    } else if (magnitude <= limit_) {
      const int bin = std::min(int(double(magnitude) * bins_per_unit_), kBins - 1);
      ++(values[i] < 0 ? negative_ : positive_)[size_t(bin)];
    } else {
      ++outside_;  // NaN comes here too
    }
  }
}

Status Histogram::merge(const Histogram& other) {
  if (range_.min != other.range_.min || range_.max != other.range_.max)
    return invalid_argument("histograms over different ranges cannot be merged; merge the ranges of pass 1 first");
  for (size_t b = 0; b < size_t(kBins); ++b) positive_[b] += other.positive_[b], negative_[b] += other.negative_[b];
  tiny_ += other.tiny_, outside_ += other.outside_;
  return {};
}

uint64_t Histogram::total() const {
  uint64_t sum = 0;
  for (size_t b = 0; b < size_t(kBins); ++b) sum += positive_[b] + negative_[b];
  return sum;
}

std::vector<uint64_t> Histogram::fold() const {
  std::vector<uint64_t> bins(kBins);
  for (size_t b = 0; b < size_t(kBins); ++b) bins[b] = positive_[b] + negative_[b];
  return bins;
}

}  // namespace lq::calibration
