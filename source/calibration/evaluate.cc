#include "calibration/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "calibration/sample_runner.h"

namespace lq::calibration {
namespace {

std::map<std::string, size_t> index_of_samples(const DataSource& source) {
  std::map<std::string, size_t> index;
  for (size_t i = 0; i < source.size(); ++i) index[source.name(i)] = i;
  return index;
}

struct Scores { const float* data; size_t count; };

Result<Scores> class_scores(const Session& session) {
  if (session.output_count() == 0) return invalid_argument("the model has no output");
  const Tensor& t = session.output(0);
  if (t.dtype != DType::Float32) return unsupported("output '" + t.name + "' is " + dtype_name(t.dtype) + ", class scores must be float32");
  return Scores{static_cast<const float*>(session.output_data(0)), size_t(element_count(t.shape))};
}

size_t arg_max(Scores s) { return size_t(std::max_element(s.data, s.data + s.count) - s.data); }

/// Rank of class c: how many classes score higher (or equal with a smaller index).
size_t rank_of(Scores s, size_t c) {
  size_t rank = 0;
  for (size_t i = 0; i < s.count; ++i) rank += s.data[i] > s.data[c] || (s.data[i] == s.data[c] && i < c);
  return rank;
}

/// log Σ exp(x), in double.
double log_sum_exp(Scores s) {
  const double top = double(*std::max_element(s.data, s.data + s.count));
  double sum = 0;
  for (size_t i = 0; i < s.count; ++i) sum += std::exp(double(s.data[i]) - top);
  return top + std::log(sum);
}

/// KL(softmax(p) ‖ softmax(q)).
double divergence(Scores p, Scores q) {
  const double zp = log_sum_exp(p), zq = log_sum_exp(q);
  double kl = 0;
  for (size_t i = 0; i < p.count; ++i) {
    const double lp = double(p.data[i]) - zp, lq = double(q.data[i]) - zq;
    kl += std::exp(lp) * (lp - lq);
  }
  return kl;
}

/// First failure of any worker.
class FirstError {
 public:
  void set(Status status) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (status_.ok()) status_ = std::move(status);
  }
  Status take() { return status_; }

 private:
  std::mutex mutex_;
  Status status_;
};

/// The reference's session of one worker, shaped like the sample that just ran.
Result<Session*> reference_session(std::unique_ptr<Session>& slot, std::shared_ptr<const Model> model, const Session& like,
                                   const CollectorOptions& options) {
  if (slot == nullptr) {
    SessionOptions o;
    o.isa = options.isa;
    o.logger = options.logger;
    for (size_t i = 0; i < like.input_count(); ++i) o.input_shapes[like.input(i).name] = like.input(i).shape;
    LQ_ASSIGN_OR_RETURN(slot, Session::create(model, o));
    return slot.get();
  }
  std::map<std::string, Shape> changed;
  for (size_t i = 0; i < like.input_count(); ++i) {
    if (slot->input(i).shape != like.input(i).shape) changed[like.input(i).name] = like.input(i).shape;
  }
  if (!changed.empty()) LQ_RETURN_IF_ERROR(slot->resize(changed));
  return slot.get();
}

Status run_reference(Session& reference, const Sample& sample) {
  if (reference.input_count() != sample.inputs.size()) return invalid_argument("the two models have different inputs");
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const size_t bytes = size_t(element_count(reference.input(i).shape)) * dtype_size(reference.input(i).dtype);
    if (sample.inputs[i].data.size() != bytes) return invalid_argument("the two models have different inputs");
    std::memcpy(reference.input_data(i), sample.inputs[i].data.data(), bytes);
  }
  return reference.run();
}

Status add_sample(Session& reference, const Session& session, Comparison& c) {
  if (reference.output_count() != session.output_count()) return invalid_argument("the two models have different outputs");
  for (size_t o = 0; o < session.output_count(); ++o) {
    const Tensor &a = session.output(o), &b = reference.output(o);
    if (a.shape != b.shape || a.dtype != b.dtype) return invalid_argument("output '" + a.name + "' differs in shape or type between the models");
    if (a.dtype != DType::Float32) continue;
    const float *pa = static_cast<const float*>(session.output_data(o)), *pb = static_cast<const float*>(reference.output_data(o));
    for (int64_t i = 0; i < element_count(a.shape); ++i) {
      const double x = double(pa[i]), y = double(pb[i]);
      c.reference_power += y * y;
      c.model_power += x * x;
      c.product += x * y;
      c.error_power += (x - y) * (x - y);
    }
  }
  if (session.output(0).dtype == DType::Float32) {
    LQ_ASSIGN_OR_RETURN(const Scores got, class_scores(session));
    LQ_ASSIGN_OR_RETURN(const Scores want, class_scores(reference));
    if (got.count == 0) return invalid_argument("output '" + session.output(0).name + "' is empty");
    c.agree = arg_max(got) == arg_max(want) ? 1 : 0;
    c.kl = divergence(want, got);
  }
  c.used = 1;
  return {};
}

}  // namespace

Result<Evaluation> evaluate(std::shared_ptr<const Model> model, const DataSource& source, const std::map<std::string, int64_t>& labels,
                            int64_t label_offset, const CollectorOptions& options) {
  std::mutex mutex;
  FirstError error;
  Evaluation result;
  SampleRunner runner(std::move(model), source, options, 1);
  LQ_RETURN_IF_ERROR(runner.run([&](int, const Session& session, const Sample& sample) {
    const auto label = labels.find(sample.name);
    if (label == labels.end()) return;
    Result<Scores> scores = class_scores(session);
    if (!scores.ok()) return error.set(scores.status());
    const int64_t c = label->second + label_offset;
    if (c < 0 || size_t(c) >= scores->count) {
      return error.set(invalid_argument(sample.name + ": label " + std::to_string(label->second) + " plus offset is no class of an output of " +
                                        std::to_string(scores->count) + "; check --label-offset"));
    }
    const size_t rank = rank_of(*scores, size_t(c));
    std::lock_guard<std::mutex> lock(mutex);
    ++result.labelled;
    result.top1 += rank == 0;
    if (rank == 0) result.right.insert(sample.name);
    result.top5 += rank < 5;
  }));
  LQ_RETURN_IF_ERROR(error.take());
  result.used = runner.used();
  result.skipped = runner.skipped();
  return result;
}

double Comparison::sqnr_db() const { return 10 * std::log10(reference_power / error_power); }
double Comparison::cosine() const {
  const double norm = std::sqrt(model_power) * std::sqrt(reference_power);
  return norm == 0 ? 1 : product / norm;
}

Result<Comparison> compare(std::shared_ptr<const Model> model, std::shared_ptr<const Model> reference, const DataSource& source,
                           const CollectorOptions& options) {
  const std::map<std::string, size_t> index = index_of_samples(source);
  std::vector<Comparison> per_sample(source.size());
  FirstError error;
  SampleRunner runner(std::move(model), source, options, 1);
  std::vector<std::unique_ptr<Session>> references(size_t(runner.threads()));
  LQ_RETURN_IF_ERROR(runner.run([&](int worker, const Session& session, const Sample& sample) {
    Result<Session*> other = reference_session(references[size_t(worker)], reference, session, options);
    if (!other.ok()) return error.set(other.status());
    Status status = run_reference(**other, sample);
    if (status.ok()) status = add_sample(**other, session, per_sample[index.at(sample.name)]);
    if (!status.ok()) error.set(status);
  }));
  LQ_RETURN_IF_ERROR(error.take());
  Comparison total;
  for (const Comparison& c : per_sample) {
    total.used += c.used;
    total.agree += c.agree;
    total.reference_power += c.reference_power;
    total.error_power += c.error_power;
    total.model_power += c.model_power;
    total.product += c.product;
    total.kl += c.kl;
  }
  total.skipped = runner.skipped();
  return total;
}

}  // namespace lq::calibration
