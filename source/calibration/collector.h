// Runs the float model over a data source and gathers the statistics of its tensors: pass 1 ranges, pass 2 histograms.
// The model is the one that ships later, run by the runtime's own sessions; tapped tensors are made extra graph outputs
// of a copy.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibration/data_source.h"
#include "calibration/histogram.h"
#include "runtime/session.h"

namespace lq::calibration {

/// Float tensors of the main graph that vary with the data: float graph inputs and float node outputs, by id.
std::vector<TensorId> float_tensors(const Graph& graph);

/// The model's inputs as a data source wants them; shapes from `input_shapes` where given (by name), a free first
/// dimension becomes 1. Preprocessing is attached where the model stores it.
std::vector<InputSpec> input_specs(const ModelIr& model, const std::map<std::string, Shape>& input_shapes);

struct Progress {
  int pass = 1;  // 1 or 2
  size_t done = 0, total = 0;
};

struct CollectorOptions {
  int threads = 1;  // samples in parallel, one session each
  std::optional<Isa> isa;
  Logger logger;
  std::function<void(const Progress&)> progress;  // called from worker threads, one at a time
};

/// Pass 1 over one data source, or several merged.
struct RangeCollection {
  std::vector<std::string> names;      // of the tapped tensors
  std::vector<RangeStats> stats;       // one per tap
  /// Each sample's own ranges, one per tap: what a moving average needs. The only statistic that grows with samples.
  std::map<std::string, std::vector<ValueRange>> of_sample;  // by name
  size_t used = 0;                     // samples that counted
  std::vector<SkippedSample> skipped;  // by sample order; unreadable, or of a shape the model refuses
  Status merge(const RangeCollection& other);
  std::vector<ValueRange> samples_of(size_t tap) const;  // in the order of their names
};

/// Pass 2, on the ranges of pass 1 (merged over all parts first).
struct HistogramCollection {
  std::vector<std::string> names;
  std::vector<Histogram> histograms;
  size_t used = 0;
  Status merge(const HistogramCollection& other);
};

/// Memory: for each thread one session with all taps as outputs, one sample, and 32 KB a tap; none of it grows with the
/// number of samples. Results depend neither on the thread count nor on the order of the samples. Samples may differ
/// in shape: a session is resized when the next sample's shape is another one.
class Collector {
 public:
  /// `taps`: float32 tensors of the main graph (inputs, node outputs; constants are refused).
  static Result<std::unique_ptr<Collector>> create(const ModelIr& model, std::vector<TensorId> taps,
                                                   CollectorOptions options);
  ~Collector();

  /// Samples that cannot be read are skipped and reported; none left is an error, with the first reason.
  Result<RangeCollection> collect_ranges(const DataSource& source) const;
  /// Skips what pass 1 skipped. An error if the data has changed since.
  Result<HistogramCollection> collect_histograms(const DataSource& source, const RangeCollection& ranges) const;

 private:
  struct State;
  explicit Collector(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lq::calibration
