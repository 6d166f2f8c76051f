#include "calibration/sample_runner.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "calibration/worker_session.h"

namespace lq::calibration {

struct SampleRunner::Shared {
  std::atomic<size_t> next{0}, used{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;  // progress, failure
  size_t done = 0, failed_sample = SIZE_MAX;
  Status failure;
};

SampleRunner::SampleRunner(std::shared_ptr<const Model> model, const DataSource& source,
                           const CollectorOptions& options, int pass)
    : model_(std::move(model)),
      source_(source),
      options_(options),
      pass_(pass),
      threads_(int(std::clamp<size_t>(size_t(std::max(options.threads, 1)), 1, std::max<size_t>(source.size(), 1)))) {}

void SampleRunner::work(int worker, Shared& shared, const Visit& visit) {
  WorkerSession session(model_, options_);
  for (size_t i = shared.next++; i < source_.size() && !shared.failed; i = shared.next++) {
    auto sample = source_.load(i);
    Status status = sample.ok() ? session.prepare(shapes_of(source_, *sample)) : sample.status();
    if (!status.ok()) {
      reasons_[i] = status.message();
      if (sample.ok()) reasons_[i] = source_.name(i) + ": " + reasons_[i];
    } else {
      status = session.run(sample->inputs);
      if (status.ok()) {
        visit(worker, *session.session(), *sample);
        ++shared.used;
      }
    }
    const std::lock_guard<std::mutex> lock(shared.mutex);
    if (reasons_[i].empty() && !status.ok() && i < shared.failed_sample) {
      shared.failed_sample = i, shared.failure = status.with_context("running sample " + source_.name(i));
      shared.failed = true;
    }
    ++shared.done;
    if (options_.progress) options_.progress({pass_, shared.done, source_.size()});
  }
}

Status SampleRunner::run(const Visit& visit) {
  reasons_.assign(source_.size(), "");
  Shared shared;
  std::vector<std::thread> workers;
  for (int w = 1; w < threads_; ++w) workers.emplace_back([&, w] { work(w, shared, visit); });
  work(0, shared, visit);
  for (std::thread& t : workers) t.join();
  used_ = shared.used;
  return shared.failure;
}

std::vector<SkippedSample> SampleRunner::skipped() const {
  std::vector<SkippedSample> out;
  for (size_t i = 0; i < reasons_.size(); ++i) {
    if (!reasons_[i].empty()) out.push_back({source_.name(i), reasons_[i]});
  }
  return out;
}

}  // namespace lq::calibration
