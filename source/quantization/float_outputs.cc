#include "quantization/float_outputs.h"

#include <algorithm>
#include <numeric>

#include "quantization/compare.h"

namespace lq::quantization {
namespace {

constexpr size_t kKeptFloats = size_t(1) << 26;  // 256 MB

std::vector<size_t> all_outputs(const Session& session) {
  std::vector<size_t> places(session.output_count());
  std::iota(places.begin(), places.end(), size_t(0));
  return places;
}

std::vector<float> values_of(const Session& session, const std::vector<size_t>& places) {
  std::vector<float> all;
  for (size_t place : places) {
    if (session.output(place).dtype != DType::Float32) continue;
    size_t count = 0;
    const float* data = float_output(session, place, count);
    all.insert(all.end(), data, data + count);
  }
  return all;
}

}  // namespace

Result<FloatOutputs> FloatOutputs::measure(const ModelIr& float_model, const calibration::DataSource& source,
                                           const MeasureOptions& options) {
  FloatOutputs outputs(source.size());
  LQ_RETURN_IF_ERROR(run_samples(
      float_model, source, options, nullptr,
      [&](size_t sample, int, const Session& session) { outputs.keep(sample, session, all_outputs(session)); }));
  return outputs;
}

void FloatOutputs::keep(size_t sample, const Session& session, const std::vector<size_t>& places) {
  size_t floats = 0;
  for (size_t place : places) floats += size_t(std::max<int64_t>(element_count(session.output(place).shape), 0));
  if (sample < 2 || double(sample + 1) * double(floats) <= double(kKeptFloats))
    outputs_[sample] = values_of(session, places);
}

double FloatOutputs::power() const {
  double sum = 0;
  for (const std::vector<float>& values : outputs_) {
    for (float v : values) sum += double(v) * double(v);
  }
  return sum;
}

Result<double> FloatOutputs::error(ModelIr model, const calibration::DataSource& source,
                                   const MeasureOptions& options) const {
  std::vector<double> errors(outputs_.size(), 0.0);
  model.golden.reset();  // its hash may be that of other constants
  LQ_RETURN_IF_ERROR(
      run_samples(std::move(model), source, options, nullptr, [&](size_t sample, int, const Session& session) {
        const std::vector<float>& wanted = outputs_[sample];
        if (wanted.empty()) return;
        const std::vector<float> got = values_of(session, all_outputs(session));
        for (size_t i = 0; i < std::min(wanted.size(), got.size()); ++i) {
          const double d = double(got[i]) - double(wanted[i]);
          errors[sample] += d * d;
        }
      }));
  return std::accumulate(errors.begin(), errors.end(), 0.0);
}

Result<double> FloatOutputs::relative_error(ModelIr model, const calibration::DataSource& source,
                                            const MeasureOptions& options) const {
  LQ_ASSIGN_OR_RETURN(const double sum, error(std::move(model), source, options));
  const double whole = power();
  if (whole == 0) return sum > 0 ? 1.0 : 0.0;
  return sum / whole;
}

Result<std::optional<double>> FloatOutputs::sqnr_db(ModelIr model, const calibration::DataSource& source,
                                                    const MeasureOptions& options) const {
  LQ_ASSIGN_OR_RETURN(const double sum, error(std::move(model), source, options));
  return quantization::sqnr_db(power(), sum);
}

}  // namespace lq::quantization
