// The session of one worker that runs samples: made with the first, resized when shapes change.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "calibration/collector.h"
#include "calibration/data_source.h"
#include "runtime/session.h"

namespace lq::calibration {

class WorkerSession {
 public:
  using Shapes = std::map<std::string, Shape>;  // by input
  /// `options` must outlive it.
  WorkerSession(std::shared_ptr<const Model> model, const CollectorOptions& options)
      : model_(std::move(model)), options_(options) {}

  /// An error: the model refuses the shapes. The next call may bring others.
  Status prepare(const Shapes& shapes);
  /// `inputs` in the order of the model's, of the shapes prepared.
  Status run(const std::vector<HostTensor>& inputs);
  /// Of the last run; none before the first prepare().
  const Session* session() const { return session_.get(); }

 private:
  std::shared_ptr<const Model> model_;
  const CollectorOptions& options_;
  std::unique_ptr<Session> session_;
  Shapes shapes_;
};

WorkerSession::Shapes shapes_of(const DataSource& source, const Sample& sample);

}  // namespace lq::calibration
