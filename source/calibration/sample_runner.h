// Runs a model over all samples of a source in parallel: one session per thread. What a sample contributes must not
// depend on which worker sees it.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "calibration/collector.h"

namespace lq::calibration {

/// Where a tapped tensor's values are after a run: input or output `index` of the session.
struct TapPlace {
  bool is_input = false;
  size_t index = 0;
};

class SampleRunner {
 public:
  using Visit = std::function<void(int worker, const Session& session, const Sample& sample)>;
  SampleRunner(std::shared_ptr<const Model> model, const DataSource& source, const CollectorOptions& options, int pass);
  /// Calls `visit` after each successful run, from worker threads. A sample that cannot be loaded or whose shape the
  /// model refuses is skipped; a failing run ends everything with that error.
  Status run(const Visit& visit);
  int threads() const { return threads_; }
  size_t used() const { return used_; }
  std::vector<SkippedSample> skipped() const;  // in sample order

 private:
  struct Shared;
  void work(int worker, Shared& shared, const Visit& visit);

  std::shared_ptr<const Model> model_;
  const DataSource& source_;
  const CollectorOptions& options_;
  int pass_, threads_;
  size_t used_ = 0;
  std::vector<std::string> reasons_;  // by sample; empty: used
};

}  // namespace lq::calibration
