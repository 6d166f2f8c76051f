// What each calibration sample looks like, and which samples do not belong: the doctor's view of the data.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "calibration/collector.h"
#include "calibration/data_source.h"

namespace lq::calibration {

/// Cells a side of the thumbnail. A blur hardly changes 4 × 4 of them, 8 × 8 tell pictures apart.
inline constexpr int kThumbnail = 8;

/// One sample, all its float inputs together. Image fields are filled from the first input of rank 3 or 4 that has 1
/// or 3 channels and at least 8 × 8 pixels, in the units the model sees (after preprocessing).
struct SampleStats {
  std::string name;
  bool readable = false;
  uint64_t hash = 0;             // of every input's bytes
  uint64_t bad = 0, values = 0;  // NaN and Inf; all float values
  double deviation = 0;          // standard deviation of the finite values of all float inputs
  bool is_image = false;
  double sharpness = 0;          // variance of the Laplacian of the channels' mean
  std::vector<float> thumbnail;  // kThumbnail × kThumbnail × channels means, row, column, channel
};

/// Statistics of one sample as loaded.
SampleStats describe_sample(const Sample& sample, const std::vector<InputSpec>& inputs);

/// Loads every sample once, `options.threads` at a time; memory: one sample a thread and one SampleStats a sample.
/// Unreadable samples have readable = false.
std::vector<SampleStats> describe_samples(const DataSource& source, const CollectorOptions& options);

enum class SampleFault {
  kNotFinite,    // holds NaN or Inf
  kBlank,        // every value the same
  kDuplicate,    // the same bytes as an earlier sample
  kBlurredCopy,  // the picture of another sample without its detail
  kBlurred,      // far less detail than the rest; may be what the model will see: only mentioned
};

struct SampleFinding {
  size_t sample = 0;  // index into the statistics
  SampleFault fault = SampleFault::kBlank;
  std::string of;    // kDuplicate, kBlurredCopy: the other sample
  double value = 0;  // kBlurredCopy, kBlurred: sharpness relative to the other sample, to the median
  /// Unfit for calibration beyond doubt; --drop-outliers leaves these out.
  bool is_outlier() const { return fault != SampleFault::kBlurred; }
};

/// At most one finding a sample, in sample order. Blank samples count only for inputs of more than 16 values, and only
/// where not most samples are blank. A blurred copy has the mean and (by correlation) the 4 × 4 and 8 × 8 thumbnail of
/// another sample, while its Laplacian has far less variance; the less is left of that, the more the thumbnails may
/// differ. Thresholds (in sample_stats.cc) from 512 CIFAR-10, 100 ImageNet and 300 MNIST pictures and motion blur of
/// each over 1/10 to 1/2 of the width in 12 directions: none of the pictures is taken for a copy, and all of 72 blurs
/// each up to a quarter of the width are found.
std::vector<SampleFinding> find_outliers(const std::vector<SampleStats>& samples);

}  // namespace lq::calibration
