#include "calibration/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace lq::calibration {
namespace {

/// Eight independent lanes so that the compiler can use vector minimum and maximum; their joining order does not
/// matter.
constexpr size_t kLanes = 8;

struct MinMax {
  float lo[kLanes], hi[kLanes];
  uint32_t bad[kLanes];  // NaN and Inf; a call sees less than 2³² values
};

/// NaN and Inf are left out of the range: the comparison is false for both.
void update(MinMax& m, const float* x, size_t lanes) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (size_t j = 0; j < lanes; ++j) {
    const bool ok = std::fabs(x[j]) <= std::numeric_limits<float>::max();
    const float low = ok ? x[j] : kInfinity, high = ok ? x[j] : -kInfinity;
    m.bad[j] += ok ? 0u : 1u;
    m.lo[j] = low < m.lo[j] ? low : m.lo[j];
    m.hi[j] = high > m.hi[j] ? high : m.hi[j];
  }
}

}  // namespace

void RangeStats::add(const float* values, size_t count, const std::string& sample_name) {
  constexpr size_t kMost = std::numeric_limits<uint32_t>::max();
  for (; count > kMost; values += kMost, count -= kMost) add(values, kMost, sample_name);
  MinMax m{};
  std::fill(m.lo, m.lo + kLanes, min);
  std::fill(m.hi, m.hi + kLanes, max);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) update(m, values + i, kLanes);
  update(m, values + i, count - i);
  min = *std::min_element(m.lo, m.lo + kLanes);
  max = *std::max_element(m.hi, m.hi + kLanes);
  const uint64_t bad = std::accumulate(m.bad, m.bad + kLanes, uint64_t(0));
  finite += count - bad;
  if (bad == 0) return;
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

double Histogram::reach(int bin) const {
  const double edge = upper_edge(bin);
  return fine_width_ > 0 ? std::min(std::ceil(edge / fine_width_) * fine_width_, double(limit_)) : edge;
}

namespace {

// Slots of a growing histogram: both sides' bins, then two kinds that have eight slots each, since equal values in a
// row would wait for one another's count.
constexpr size_t kSide = GrowingHistogram::kFineBins, kSpread = 8, kTinySlot = 2 * kSide,
                 kBadSlot = kTinySlot + kSpread, kSlots = kBadSlot + kSpread;

uint32_t mask_of(bool condition) { return condition ? ~0u : 0u; }

/// Smallest e with |x| < 2^e. Not <=: a power of two held in the last bin would join another bin than the one it falls
/// into once the range is larger.
int exponent_of(float magnitude) {
  int e;
  std::frexp(magnitude, &e);  // in [0.5, 1)
  return e;
}

template <typename Count>
void join_bins(std::vector<Count>& counts, int doublings) {
  for (size_t begin : {size_t(0), kSide}) {
    for (size_t b = 0; b < kSide; ++b) {
      const Count c = std::exchange(counts[begin + b], 0);
      counts[begin + (b >> std::min(doublings, 31))] += c;
    }
  }
}

}  // namespace

void GrowingHistogram::grow(int exponent) {
  if (exponent <= exponent_) return;
  if (!recent_.empty()) join_bins(recent_, exponent - exponent_);
  if (!counts_.empty()) join_bins(counts_, exponent - exponent_);
  exponent_ = exponent;
}

void GrowingHistogram::flush() {
  if (counts_.empty()) counts_.resize(kSlots);
  for (size_t i = 0; i < kSlots; ++i) counts_[i] += std::exchange(recent_[i], 0);
  recent_count_ = 0;
}

void GrowingHistogram::add(const float* values, size_t count, ValueRange range) {
  const float largest = std::max(std::fabs(range.min), std::fabs(range.max));
  if (largest > kTinyMagnitude) grow(exponent_of(largest));
  if (recent_.empty()) recent_.resize(kSlots);
  constexpr size_t kMost = std::numeric_limits<uint32_t>::max();
  for (; count > kMost; values += kMost, count -= kMost) add(values, kMost, range);
  if (recent_count_ + count > kMost) flush();
  recent_count_ += count;
  // A power of two: the product is exact, and a subnormal one is below 1 as it should be.
  const float bins_per_unit = std::ldexp(float(kSide), -exponent_);
  // Masks, no branches: compilers make vectors of it, and no processor can guess the signs of values.
  const auto slot_of = [&](float x, size_t lane) {
    const float magnitude = std::fabs(x);
    const uint32_t finite = mask_of(magnitude <= largest), tiny = mask_of(magnitude <= kTinyMagnitude);
    const float kept = std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) & finite);
    const uint32_t side = mask_of(x < 0) & uint32_t(kSide), bin = uint32_t(int(kept * bins_per_unit)) + side;
    const uint32_t counted = (bin & ~tiny) | (uint32_t(kTinySlot + lane) & tiny);
    return (counted & finite) | (uint32_t(kBadSlot + lane) & ~finite);
  };
  constexpr size_t kChunk = 8 * kSpread;
  uint32_t slots[kChunk];
  for (; count > 0; values += std::min(count, kChunk), count -= std::min(count, kChunk)) {
    if (count >= kChunk) {
      for (size_t j = 0; j < kChunk; ++j) slots[j] = slot_of(values[j], j % kSpread);
    } else {
      for (size_t j = 0; j < count; ++j) slots[j] = slot_of(values[j], j % kSpread);
    }
    for (size_t j = 0; j < std::min(count, kChunk); ++j) ++recent_[slots[j]];
  }
}

void GrowingHistogram::merge(const GrowingHistogram& other) {
  if (other.recent_.empty()) return;
  if (recent_.empty()) recent_.resize(kSlots);
  GrowingHistogram theirs = other;
  theirs.grow(exponent_);
  grow(theirs.exponent_);
  theirs.flush(), flush();
  for (size_t i = 0; i < kSlots; ++i) counts_[i] += theirs.counts_[i];
}

std::vector<uint64_t> GrowingHistogram::side(bool negative) const {
  std::vector<uint64_t> bins(kSide);
  const size_t begin = negative ? kSide : 0;
  for (size_t b = 0; b < kSide; ++b) {
    if (!recent_.empty()) bins[b] += recent_[begin + b];
    if (!counts_.empty()) bins[b] += counts_[begin + b];
  }
  return bins;
}

Histogram GrowingHistogram::over(ValueRange range) const {
  Histogram h;
  h.range_ = range;
  h.limit_ = std::max(std::fabs(range.min), std::fabs(range.max));
  for (size_t i = kTinySlot; i < kTinySlot + kSpread; ++i)
    h.tiny_ += (recent_.empty() ? 0 : recent_[i]) + (counts_.empty() ? 0 : counts_[i]);
  if (!(h.limit_ > kTinyMagnitude)) return h;
  const double width = std::ldexp(1.0, exponent_) / kFineBins, bins_per_unit = kBins / double(h.limit_);
  h.fine_width_ = width;
  for (const bool negative : {false, true}) {
    const std::vector<uint64_t> fine = side(negative);
    std::vector<uint64_t>& bins = negative ? h.negative_ : h.positive_;
    for (size_t f = 0; f < kSide; ++f) {
      if (fine[f] == 0) continue;
      const double low = double(f) * width * bins_per_unit, high = double(f + 1) * width * bins_per_unit;
      const double first = std::min(std::floor(low), double(kBins - 1)), edge = first + 1;
      const bool crosses = edge < high && edge < kBins;
      const auto below = crosses ? uint64_t(double(fine[f]) * (edge - low) / (high - low)) : fine[f];
      bins[size_t(first)] += below;
      if (crosses) bins[size_t(edge)] += fine[f] - below;
    }
  }
  return h;
}

}  // namespace lq::calibration
