#include "quantization/first_sample.h"

#include <algorithm>

#include "runtime/golden.h"
#include "runtime/session.h"

namespace lq {
namespace quantization {
namespace {

constexpr uint64_t kGoldenSeed = 1;
constexpr double kExactInFloat = 1 << 24;  // a range holds floats

std::optional<ValueRange> integer_range(const calibration::HostTensor& tensor) {
  if (tensor.dtype == DType::Float32 || tensor.data.empty()) return std::nullopt;
  const Result<calibration::HostTensor> values = calibration::convert_tensor(tensor, DType::Float32);
  if (!values.ok()) return std::nullopt;
  const float* v = values->as<float>();
  const auto [low, high] = std::minmax_element(v, v + values->data.size() / sizeof(float));
  if (double(*low) < -kExactInFloat || double(*high) > kExactInFloat) return std::nullopt;
  return ValueRange{*low, *high};
}

}  // namespace

Status note_first_sample(ModelIr& model, const calibration::DataSource& source,
                         const std::vector<calibration::SkippedSample>& skipped, QuantizeReport& report) {
  for (size_t i = 0; i < source.size(); ++i) {
    const std::string& name = source.name(i);
    if (std::any_of(skipped.begin(), skipped.end(), [&](const auto& s) { return s.name == name; })) continue;
    LQ_ASSIGN_OR_RETURN(const calibration::Sample sample, source.load(i));
    for (size_t k = 0; k < sample.inputs.size(); ++k) {
      Tensor& input = model.main().tensor(model.main().inputs[k]);
      report.sample_shapes[input.name] = sample.inputs[k].shape;
      if (const auto range = integer_range(sample.inputs[k])) input.range = range;
    }
    return {};
  }
  return {};
}

}  // namespace quantization

Status add_golden(ModelIr& model, const QuantizeOptions& options, QuantizeReport& report) {
  LQ_ASSIGN_OR_RETURN(const std::shared_ptr<Model> shared, Model::create(model));
  SessionOptions session_options;
  session_options.threads = options.threads;
  session_options.input_shapes = report.sample_shapes;
  for (const auto& [name, shape] : options.input_shapes) session_options.input_shapes[name] = shape;
  const Result<std::unique_ptr<Session>> session = Session::create(shared, session_options);
  // A missing operator, memory or a fault of our own is no matter of the inputs.
  if (!session.ok() && session.status().code() != StatusCode::kInvalidArgument) return session.status();
  const auto golden = session.ok() ? make_golden(**session, quantization::kGoldenSeed) : session.status();
  if (golden.ok()) {
    model.golden = *golden;
    return {};
  }
  const StatusCode code = golden.status().code();
  if (code != StatusCode::kInvalidArgument && code != StatusCode::kUnsupported) return golden.status();
  model.golden.reset();
  report.warnings.push_back(
      {"the file carries no golden self-test: on generated inputs " + golden.status().message(),
       "give free dimensions with --input-shape; make an input that chooses a branch constant with --fix-input"});
  return {};
}

}  // namespace lq
