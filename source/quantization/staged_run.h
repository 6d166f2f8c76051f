// Runs a model over samples piece by piece, so that what follows can be run after a constant has been changed without
// running again what came before it.
#pragma once
#include <vector>

#include "quantization/tapped_run.h"

namespace lq::quantization {

class StagedRun {
 public:
  /// Visits the float output (output 0 of the session) of a stop, once a sample; from worker threads.
  using Visit = std::function<void(size_t sample, const Session& session)>;

  /// `stops`: nodes of the main graph, ascending. The model must outlive this; between two calls of advance() values of
  /// its constants may change, nothing else. `most_bytes` bounds the values kept between pieces, see advance().
  StagedRun(const ModelIr& model, std::vector<int> stops, const MeasureOptions& options, size_t most_bytes);

  /// Loads the samples of `source` whose `wanted` is not 0.
  Status load(const calibration::DataSource& source, const std::vector<uint8_t>& wanted);

  /// Runs all samples from the last stop (the first: from the inputs) up to and including the next, visits its output
  /// 0 – a product's has its float form there – and keeps for each sample what later stops need of everything before
  /// it. Where that is more than most_bytes, the last samples are given up; kFewestSamples stay.
  Status advance(const Visit& visit);

  static constexpr size_t kFewestSamples = 8;

 private:
  struct Kept {
    size_t sample = 0;                            // index in the source
    std::vector<calibration::HostTensor> values;  // of live_
  };

  std::vector<TensorId> live_before(int node) const;
  ModelIr piece(const std::vector<TensorId>& outputs, std::vector<size_t>& inputs) const;
  Status run_piece(ModelIr piece, const std::vector<size_t>& inputs, const Visit& visit,
                   std::vector<std::vector<calibration::HostTensor>>& results);
  void give_up_samples();

  const ModelIr& model_;
  const std::vector<int> stops_;
  const MeasureOptions& options_;
  const size_t most_bytes_;
  const std::vector<int> producers_;
  std::vector<bool> leads_to_stop_;  // by node
  size_t next_ = 0;                  // index into stops_
  const std::vector<TensorId> inputs_;
  std::vector<TensorId> live_;  // ascending
  std::vector<Kept> kept_;
};

}  // namespace lq::quantization
