// Runs parts of a model over samples: what bias correction, threshold choice and weight rounding measure with.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "calibration/collector.h"

namespace lq::quantization {

/// What the measuring stages share.
struct MeasureOptions {
  calibration::CollectorOptions run;                                           // threads, ISA, logger
  std::function<void(const char* stage, size_t done, size_t total)> progress;  // one call at a time
};

/// A copy whose outputs are the named tensors alone, in that order; operators that lead to none of them are gone. A
/// repeated name gives one output; `places[i]` is the output that holds names[i].
Result<ModelIr> only_outputs(const ModelIr& model, const std::vector<std::string>& names, std::vector<size_t>& places);

/// `sample` is the index in the source: what a sample contributes goes to a place of its own, so that sums joined in
/// sample order are the same for any number of threads. Called from worker threads.
using SampleVisit = std::function<void(size_t sample, int worker, const Session& session)>;

/// Runs the whole model on each sample; samples that calibration skipped are skipped again. `used`: samples that ran.
Status run_samples(ModelIr model, const calibration::DataSource& source, const MeasureOptions& options,
                   const std::function<void(size_t done, size_t total)>& progress, const SampleVisit& visit,
                   size_t* used = nullptr);

/// Multiply-adds of products in one run on the first readable sample, in billions; at least 0.001.
Result<double> giga_macs(const ModelIr& model, const calibration::DataSource& source);

/// How many samples a stage may take.
struct SampleBudget {
  double gmacs = 0;   // billion multiply-adds that one run of each should come to
  size_t one_of = 4;  // but at least one of so many of the calibration's
  size_t fewest = 8;  // and so many in all
  size_t most = 64;   // never more
};
/// `gmacs`: of one run. Never more than there are.
size_t affordable_samples(const SampleBudget& budget, double gmacs, size_t available);

/// Values of float output `i` of a session.
const float* float_output(const Session& session, size_t i, size_t& count);

}  // namespace lq::quantization
