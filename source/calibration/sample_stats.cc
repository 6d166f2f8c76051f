#include "calibration/sample_stats.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace lq::calibration {
namespace {

constexpr int64_t kSmallestImage = 8;  // pixels a side
constexpr uint64_t kFewValues = 16;    // inputs this small may be constant for good reason
/// A copy's Laplacian has less than `ratio` of the original's variance, its thumbnails correlate more than `coarse` (4
/// × 4) and `fine` (8 × 8), its channels' means differ by less than `mean` typical standard deviations.
struct CopyRule {
  double ratio, coarse, fine, mean;
};
constexpr CopyRule kCopyRules[] = {{0.8, 0.985, 0.96, 0.12}, {0.6, 0.95, 0.9, 0.12},  {0.4, 0.92, 0.83, 0.12},
                                   {0.25, 0.88, 0.92, 0.2},  {0.2, 0.85, 0.72, 0.12}, {0.12, 0.8, 0.65, 0.12}};
constexpr double kFarBelow = 5;  // robust standard deviations of log sharpness

/// FNV-1a, 64 bits: equal samples are looked for, nobody attacks.
uint64_t hash_bytes(const std::vector<uint8_t>& bytes, uint64_t hash) {
  for (uint8_t b : bytes) hash = (hash ^ b) * 0x100000001B3u;
  return hash;
}

/// Where the pixels of an image input lie.
struct Plane {
  int64_t channels = 0, height = 0, width = 0, channel_step = 0, row_step = 0, pixel_step = 0;
};

std::optional<Plane> plane_of(const HostTensor& t) {
  Shape s = t.shape;
  if (s.size() == 4 && s[0] == 1) s.erase(s.begin());
  if (t.dtype != DType::Float32 || s.size() != 3) return std::nullopt;
  const auto is_channels = [](int64_t c) { return c == 1 || c == 3; };
  Plane p;
  if (is_channels(s[0])) {
    p = {s[0], s[1], s[2], s[1] * s[2], s[2], 1};
  } else if (is_channels(s[2])) {
    p = {s[2], s[0], s[1], 1, s[1] * s[2], s[2]};
  }
  if (p.height < kSmallestImage || p.width < kSmallestImage) return std::nullopt;
  return p;
}

/// Variance of 4·x − left − right − up − down over the inner pixels of the channels' mean.
double laplacian_variance(const float* data, const Plane& p) {
  std::vector<double> gray(size_t(p.height * p.width), 0.0);
  for (int64_t c = 0; c < p.channels; ++c) {
    for (int64_t y = 0; y < p.height; ++y) {
      for (int64_t x = 0; x < p.width; ++x)
        gray[size_t(y * p.width + x)] += double(data[c * p.channel_step + y * p.row_step + x * p.pixel_step]);
    }
  }
  double sum = 0, squares = 0;
  for (int64_t y = 1; y + 1 < p.height; ++y) {
    for (int64_t x = 1; x + 1 < p.width; ++x) {
      const double* g = &gray[size_t(y * p.width + x)];
      const double v = (4 * g[0] - g[-1] - g[1] - g[-p.width] - g[p.width]) / double(p.channels);
      sum += v, squares += v * v;
    }
  }
  const double n = double((p.height - 2) * (p.width - 2));
  return std::max(0.0, squares / n - (sum / n) * (sum / n));
}

std::vector<float> thumbnail_of(const float* data, const Plane& p) {
  std::vector<double> sum(size_t(kThumbnail * kThumbnail * p.channels), 0.0);
  std::vector<int64_t> count(size_t(kThumbnail * kThumbnail), 0);
  for (int64_t y = 0; y < p.height; ++y) {
    for (int64_t x = 0; x < p.width; ++x) {
      const size_t cell = size_t(y * kThumbnail / p.height * kThumbnail + x * kThumbnail / p.width);
      ++count[cell];
      for (int64_t c = 0; c < p.channels; ++c) {
        sum[cell * size_t(p.channels) + size_t(c)] +=
            double(data[c * p.channel_step + y * p.row_step + x * p.pixel_step]);
      }
    }
  }
  std::vector<float> cells;
  for (size_t i = 0; i < sum.size(); ++i) cells.push_back(float(sum[i] / double(count[i / size_t(p.channels)])));
  return cells;
}

/// Means subtracted by channel, then unit length; empty if that leaves nothing.
std::vector<double> normalized(std::vector<double> cells, const std::vector<double>& mean) {
  double power = 0;
  for (size_t i = 0; i < cells.size(); ++i) cells[i] -= mean[i % mean.size()], power += cells[i] * cells[i];
  if (!(power > 0)) return {};
  for (double& v : cells) v /= std::sqrt(power);
  return cells;
}

/// A thumbnail in a form that pairs are compared in quickly.
struct Comparable {
  std::vector<double> mean;          // of each channel
  std::vector<double> coarse, fine;  // normalized; empty for no image or a flat one
};

Comparable comparable(const SampleStats& s) {
  Comparable c;
  if (!s.is_image || s.bad > 0) return c;
  constexpr size_t kSide = kThumbnail, kHalf = kSide / 2;
  const size_t channels = s.thumbnail.size() / (kSide * kSide);
  c.mean.assign(channels, 0.0);
  std::vector<double> coarse(kHalf * kHalf * channels, 0.0);
  for (size_t i = 0; i < s.thumbnail.size(); ++i) {
    const size_t x = i / channels % kSide, y = i / channels / kSide, k = i % channels;
    c.mean[k] += double(s.thumbnail[i]) / double(kSide * kSide);
    coarse[(y / 2 * kHalf + x / 2) * channels + k] += double(s.thumbnail[i]) / 4;
  }
  c.coarse = normalized(std::move(coarse), c.mean);
  c.fine = normalized({s.thumbnail.begin(), s.thumbnail.end()}, c.mean);
  return c;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Finder {
 public:
  explicit Finder(const std::vector<SampleStats>& samples) : samples_(samples), findings_(samples.size()) {
    std::vector<double> deviations;
    for (const SampleStats& s : samples) {
      comparable_.push_back(comparable(s));
      if (s.readable) deviations.push_back(s.deviation);
    }
    typical_deviation_ = std::max(median(std::move(deviations)), 1e-30);
  }

  std::vector<SampleFinding> run() {
    find_bad();
    find_duplicates();
    find_blurred_copies();
    find_blurred();
    std::vector<SampleFinding> found;
    for (std::optional<SampleFinding>& f : findings_) {
      if (f) found.push_back(std::move(*f));
    }
    return found;
  }

 private:
  void note(size_t i, SampleFault fault, const std::string& of = "", double value = 0) {
    if (!findings_[i]) findings_[i] = SampleFinding{i, fault, of, value};
  }

  void find_bad() {
    size_t blank = 0;
    for (const SampleStats& s : samples_) blank += is_blank(s) ? 1 : 0;
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (samples_[i].bad > 0) note(i, SampleFault::kNotFinite);
      if (is_blank(samples_[i]) && 2 * blank <= samples_.size()) note(i, SampleFault::kBlank);
    }
  }
  static bool is_blank(const SampleStats& s) { return s.readable && s.values > kFewValues && s.deviation == 0; }

  void find_duplicates() {
    std::map<uint64_t, size_t> first;
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (!samples_[i].readable || samples_[i].values <= kFewValues) continue;
      const auto [where, is_new] = first.emplace(samples_[i].hash, i);
      if (!is_new) note(i, SampleFault::kDuplicate, samples_[where->second].name);
    }
  }

  void find_blurred_copies() {
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (comparable_[i].coarse.empty() || findings_[i]) continue;
      double best = 0;
      size_t original = samples_.size();
      for (size_t j = 0; j < samples_.size(); ++j) {
        const double match = i == j ? 0 : match_of(i, j);
        if (match > best) best = match, original = j;
      }
      if (original < samples_.size())
        note(i, SampleFault::kBlurredCopy, samples_[original].name,
             samples_[i].sharpness / samples_[original].sharpness);
    }
  }

  /// How well i matches as a blurred copy of j; 0 if it is none.
  double match_of(size_t i, size_t j) const {
    const Comparable &a = comparable_[i], &b = comparable_[j];
    if (b.coarse.size() != a.coarse.size() || !(samples_[j].sharpness > 0)) return 0;
    const double ratio = samples_[i].sharpness / samples_[j].sharpness;
    if (ratio >= kCopyRules[0].ratio) return 0;
    double distance = 0;
    for (size_t c = 0; c < a.mean.size(); ++c)
      distance = std::max(distance, std::abs(a.mean[c] - b.mean[c]) / typical_deviation_);
    const double coarse = dot(a.coarse, b.coarse), fine = dot(a.fine, b.fine);
    for (const CopyRule& rule : kCopyRules) {
      if (ratio < rule.ratio && coarse > rule.coarse && fine > rule.fine && distance < rule.mean) return coarse + fine;
    }
    return 0;
  }

  /// Log sharpness against its median, in units of the median distance (scaled to a standard deviation).
  void find_blurred() {
    std::vector<double> logs;
    for (const SampleStats& s : samples_) {
      if (s.is_image && s.bad == 0 && s.sharpness > 0) logs.push_back(std::log(s.sharpness));
    }
    if (logs.size() < 16) return;
    const double middle = median(logs);
    std::vector<double> distances;
    for (double v : logs) distances.push_back(std::abs(v - middle));
    const double spread = 1.4826 * median(std::move(distances));
    for (size_t i = 0; i < samples_.size(); ++i) {
      const SampleStats& s = samples_[i];
      if (!s.is_image || s.bad > 0 || !(s.sharpness > 0)) continue;
      if (std::log(s.sharpness) < middle - kFarBelow * spread)
        note(i, SampleFault::kBlurred, "", s.sharpness / std::exp(middle));
    }
  }

  const std::vector<SampleStats>& samples_;
  std::vector<Comparable> comparable_;
  std::vector<std::optional<SampleFinding>> findings_;
  double typical_deviation_ = 0;
};

}  // namespace

SampleStats describe_sample(const Sample& sample, const std::vector<InputSpec>& inputs) {
  SampleStats s;
  s.name = sample.name;
  s.readable = true;
  s.hash = 0xCBF29CE484222325u;
  double sum = 0, squares = 0, low = std::numeric_limits<double>::infinity(), high = -low;
  for (size_t k = 0; k < sample.inputs.size(); ++k) {
    const HostTensor& t = sample.inputs[k];
    s.hash = hash_bytes(t.data, s.hash);
    if (t.dtype != DType::Float32) continue;
    const size_t count = t.data.size() / sizeof(float);
    s.values += count;
    for (size_t i = 0; i < count; ++i) {
      const double v = double(t.as<float>()[i]);
      if (!std::isfinite(v)) {
        ++s.bad;
        continue;
      }
      sum += v, squares += v * v;
      low = std::min(low, v), high = std::max(high, v);
    }
    const std::optional<Plane> plane = s.is_image ? std::nullopt : plane_of(t);
    if (!plane) continue;
    s.is_image = true;
    s.sharpness = laplacian_variance(t.as<float>(), *plane);
    s.thumbnail = thumbnail_of(t.as<float>(), *plane);
  }
  const double n = double(s.values - s.bad);
  if (low < high) s.deviation = std::sqrt(std::max(0.0, squares / n - (sum / n) * (sum / n)));
  return s;
}

std::vector<SampleStats> describe_samples(const DataSource& source, const CollectorOptions& options) {
  std::vector<SampleStats> stats(source.size());
  std::atomic<size_t> next{0};
  std::mutex mutex;
  size_t done = 0;
  const auto work = [&] {
    for (size_t i = next++; i < source.size(); i = next++) {
      stats[i].name = source.name(i);
      if (const auto sample = source.load(i); sample.ok()) stats[i] = describe_sample(*sample, source.inputs());
      const std::lock_guard<std::mutex> lock(mutex);
      ++done;
      if (options.progress) options.progress({0, done, source.size()});
    }
  };
  std::vector<std::thread> workers;
  for (int w = 1; w < options.threads && size_t(w) < source.size(); ++w) workers.emplace_back(work);
  work();
  for (std::thread& t : workers) t.join();
  return stats;
}

std::vector<SampleFinding> find_outliers(const std::vector<SampleStats>& samples) { return Finder(samples).run(); }

}  // namespace lq::calibration
