#include "calibration/worker_session.h"

#include <cstring>

namespace lq::calibration {

Status WorkerSession::prepare(const Shapes& shapes) {
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

Status WorkerSession::run(const std::vector<HostTensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const HostTensor& t = inputs[i];
    if (session_->input(i).dtype != t.dtype || session_->input(i).shape != t.shape)
      return internal_error("input '" + session_->input(i).name + "' was planned with another type or shape");
    std::memcpy(session_->input_data(i), t.data.data(), t.data.size());
  }
  return session_->run();
}

WorkerSession::Shapes shapes_of(const DataSource& source, const Sample& sample) {
  WorkerSession::Shapes shapes;
  for (size_t i = 0; i < sample.inputs.size(); ++i) shapes[source.inputs()[i].name] = sample.inputs[i].shape;
  return shapes;
}

}  // namespace lq::calibration
