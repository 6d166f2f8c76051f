#include "calibration/sample_runner.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

namespace lq::calibration {
namespace {

using ShapeMap = std::map<std::string, Shape>;

ShapeMap shapes_of(const DataSource& source, const Sample& sample) {
  ShapeMap shapes;
  for (size_t i = 0; i < sample.inputs.size(); ++i) shapes[source.inputs()[i].name] = sample.inputs[i].shape;
  return shapes;
}

/// One worker's session, made with the first sample and resized when shapes change.
class WorkerSession {
 public:
  WorkerSession(std::shared_ptr<const Model> model, const CollectorOptions& options)
      : model_(std::move(model)), options_(options) {}

  Status prepare(const ShapeMap& shapes) {
    if (session_ && shapes == shapes_) return {};
    if (session_) {
      const Status status = session_->resize(shapes);
      if (!status.ok()) session_.reset();  // a half-resized session is not used again
      LQ_RETURN_IF_ERROR(status);
    } else {
      SessionOptions o;
      o.threads = 1, o.isa = options_.isa, o.input_shapes = shapes, o.logger = options_.logger;
      LQ_ASSIGN_OR_RETURN(session_, Session::create(model_, o));
    }
    shapes_ = shapes;
    return {};
  }

  Status run(const Sample& sample) {
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      const HostTensor& t = sample.inputs[i];
      if (session_->input(i).dtype != t.dtype || session_->input(i).shape != t.shape)
        return internal_error("input '" + session_->input(i).name + "' was planned with another type or shape");
      std::memcpy(session_->input_data(i), t.data.data(), t.data.size());
    }
    return session_->run();
  }

  const Session& session() const { return *session_; }

 private:
  std::shared_ptr<const Model> model_;
  const CollectorOptions& options_;
  std::unique_ptr<Session> session_;
  ShapeMap shapes_;
};

}  // namespace

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
      status = session.run(*sample);
      if (status.ok()) {
        visit(worker, session.session(), *sample);
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
