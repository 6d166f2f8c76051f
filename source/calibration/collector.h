// Runs the float model over a data source once and gathers the statistics of its tensors.
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
  int pass = 1;
  size_t done = 0, total = 0;
};

struct CollectorOptions {
  int threads = 1;  // samples in parallel, one session each
  std::optional<Isa> isa;
  Logger logger;
  std::function<void(const Progress&)> progress;  // called from worker threads, one at a time
};

/// Of one data source, or several merged.
struct Collection {
  std::vector<std::string> names;            // of the tapped tensors
  std::vector<RangeStats> stats;             // one per tap
  std::vector<GrowingHistogram> histograms;  // one per tap; empty if not asked for
  /// Each sample's own ranges, one per tap: what a moving average needs. The only statistic that grows with samples.
  std::map<std::string, std::vector<ValueRange>> of_sample;  // by name
  size_t used = 0;                                           // samples that counted
  std::vector<SkippedSample> skipped;  // by sample order; unreadable, or of a shape the model refuses
  Status merge(const Collection& other);
  std::vector<ValueRange> samples_of(size_t tap) const;  // in the order of their names
  Histogram histogram(size_t tap) const { return histograms[tap].over(stats[tap].range()); }
};

/// Memory: for each thread one session with all taps as outputs, one sample, and 64 KB a tap; none of it grows with the
/// number of samples. Results depend neither on the thread count nor on the order of the samples. Samples may differ
/// in shape: a session is resized when the next sample's shape is another one.
class Collector {
 public:
  /// `taps`: float32 tensors of the main graph (inputs, node outputs; constants are refused).
  static Result<std::unique_ptr<Collector>> create(const ModelIr& model, std::vector<TensorId> taps,
                                                   CollectorOptions options);
  ~Collector();

  /// Samples that cannot be read are skipped and reported; none left is an error, with the first reason.
  Result<Collection> collect(const DataSource& source, bool with_histograms) const;

 private:
  struct State;
  explicit Collector(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lq::calibration
