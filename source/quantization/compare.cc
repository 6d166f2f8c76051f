#include "quantization/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include "calibration/sample_runner.h"
#include "calibration/worker_session.h"

namespace lq::quantization {
namespace {

using calibration::Sample;

/// A copy of the model whose outputs are its own outputs followed by the named tensors.
Result<ModelIr> with_outputs(const ModelIr& model, const std::vector<std::string>& names, std::vector<size_t>& places) {
  ModelIr copy = model;
  copy.golden.reset();
  Graph& graph = copy.main();
  std::map<std::string, TensorId> by_name;
  for (size_t id = 0; id < graph.tensors.size(); ++id) by_name.emplace(graph.tensors[id].name, TensorId(id));
  for (const std::string& name : names) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) return internal_error("tensor '" + name + "' to compare does not exist");
    auto output = std::find(graph.outputs.begin(), graph.outputs.end(), found->second);
    if (output == graph.outputs.end()) output = graph.outputs.insert(graph.outputs.end(), found->second);
    places.push_back(size_t(output - graph.outputs.begin()));
  }
  return copy;
}

struct Sums {
  double signal = 0, noise = 0;
};

/// Eight interleaved sums of each, joined in order: the same everywhere, and no addition waits for the one before.
Sums difference(const float* a, const float* b, size_t count) {
  constexpr size_t kLanes = 8;
  double signal[kLanes] = {}, noise[kLanes] = {};
  const auto add = [&](size_t i, size_t lane) {
    const double x = double(a[i]), d = x - double(b[i]);
    signal[lane] += x * x;
    noise[lane] += d * d;
  };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) add(i + j, j);
  }
  for (size_t j = 0; i < count; ++i, ++j) add(i, j);
  return {std::accumulate(signal, signal + kLanes, 0.0), std::accumulate(noise, noise + kLanes, 0.0)};
}

/// What one sample contributes.
struct SampleSums {
  bool used = false;
  std::vector<Sums> pairs;
  Sums outputs;
  std::optional<bool> same_top1;
  // Of the float model:
  bool not_finite = false;
  uint64_t hash = 0xCBF29CE484222325u;  // of the output's values (FNV-1a by element)
  std::optional<ptrdiff_t> top1;        // of an only output that is one row of more than two scores
};

const float* float_output(const Session& session, size_t i, size_t& count) {
  count = size_t(std::max<int64_t>(element_count(session.output(i).shape), 0));
  return static_cast<const float*>(session.output_data(i));
}

void describe_output(const float* values, size_t count, SampleSums& sums) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    sums.hash = (sums.hash ^ bits) * 0x100000001B3u;
    sums.not_finite = sums.not_finite || !std::isfinite(values[i]);
  }
}

SampleSums sums_of(const Session& f, const Session& q, const std::vector<size_t>& f_places,
                   const std::vector<size_t>& q_places, size_t model_outputs) {
  SampleSums sums;
  sums.used = true;
  size_t count = 0, other = 0;
  for (size_t p = 0; p < f_places.size(); ++p) {
    const float* a = float_output(f, f_places[p], count);
    const float* b = float_output(q, q_places[p], other);
    sums.pairs.push_back(difference(a, b, std::min(count, other)));
  }
  for (size_t o = 0; o < model_outputs; ++o) {
    if (f.output(o).dtype != DType::Float32 || q.output(o).dtype != DType::Float32) continue;
    const float* a = float_output(f, o, count);
    const float* b = float_output(q, o, other);
    describe_output(a, count, sums);
    if (model_outputs == 1 && count > 2 && f.output(o).shape == Shape{1, int64_t(count)})
      sums.top1 = std::max_element(a, a + count) - a;
    if (count != other) continue;  // a data-dependent shape
    const Sums d = difference(a, b, count);
    sums.outputs.signal += d.signal;
    sums.outputs.noise += d.noise;
    if (!sums.same_top1 && count > 1)
      sums.same_top1 = std::max_element(a, a + count) - a == std::max_element(b, b + count) - b;
  }
  return sums;
}

Comparison join(const std::vector<SampleSums>& samples, size_t pairs) {
  Comparison result;
  std::vector<Sums> totals(pairs);
  Sums outputs;
  size_t same = 0, with_top1 = 0;
  std::set<uint64_t> hashes;
  std::set<ptrdiff_t> classes;
  for (const SampleSums& sample : samples) {
    if (!sample.used) continue;
    ++result.samples;
    result.not_finite += sample.not_finite ? 1 : 0;
    hashes.insert(sample.hash);
    if (sample.top1) classes.insert(*sample.top1);
    for (size_t p = 0; p < pairs; ++p)
      totals[p].signal += sample.pairs[p].signal, totals[p].noise += sample.pairs[p].noise;
    outputs.signal += sample.outputs.signal, outputs.noise += sample.outputs.noise;
    with_top1 += sample.same_top1 ? 1 : 0;
    same += sample.same_top1.value_or(false) ? 1 : 0;
  }
  for (const Sums& s : totals) result.sqnr_db.push_back(sqnr_db(s.signal, s.noise));
  result.same_outputs = hashes.size() == 1;
  result.float_classes = classes.size();
  result.output_sqnr_db = sqnr_db(outputs.signal, outputs.noise);
  if (with_top1 > 0) result.top1_agreement = double(same) / double(with_top1);
  return result;
}

}  // namespace

std::optional<double> sqnr_db(double signal, double noise) {
  if (signal == 0 && noise == 0) return std::nullopt;
  if (noise == 0) return 200;
  if (signal == 0) return -200;
  return std::clamp(10 * std::log10(signal / noise), -200.0, 200.0);
}

Result<Comparison> compare_models(const ModelIr& float_model, const ModelIr& int8_model,
                                  const std::vector<ComparedTensor>& pairs, const calibration::DataSource& source,
                                  const calibration::CollectorOptions& options) {
  std::vector<std::string> float_names, int8_names;
  for (const ComparedTensor& pair : pairs) float_names.push_back(pair.float_name), int8_names.push_back(pair.int8_name);
  std::vector<size_t> f_places, q_places;
  LQ_ASSIGN_OR_RETURN(ModelIr f, with_outputs(float_model, float_names, f_places));
  LQ_ASSIGN_OR_RETURN(ModelIr q, with_outputs(int8_model, int8_names, q_places));
  LQ_ASSIGN_OR_RETURN(std::shared_ptr<Model> f_model, Model::create(std::move(f)));
  LQ_ASSIGN_OR_RETURN(std::shared_ptr<Model> q_model, Model::create(std::move(q)));

  std::map<std::string, size_t> index_of_sample;
  for (size_t i = 0; i < source.size(); ++i) index_of_sample[source.name(i)] = i;
  std::vector<SampleSums> samples(source.size());
  calibration::SampleRunner runner(f_model, source, options, 2);
  std::vector<calibration::WorkerSession> sides;  // the quantized model follows the float session's samples
  for (int w = 0; w < runner.threads(); ++w) sides.emplace_back(q_model, options);
  std::mutex mutex;
  Status failure;
  LQ_RETURN_IF_ERROR(runner.run([&](int worker, const Session& session, const Sample& sample) {
    calibration::WorkerSession& side = sides[size_t(worker)];
    Status status = side.prepare(calibration::shapes_of(source, sample));
    if (status.ok()) status = side.run(sample.inputs);
    if (status.ok()) {
      samples[index_of_sample[sample.name]] =
          sums_of(session, *side.session(), f_places, q_places, float_model.main().outputs.size());
      return;
    }
    const std::lock_guard<std::mutex> lock(mutex);
    if (failure.ok()) failure = status.with_context("running the quantized model on " + sample.name);
  }));
  LQ_RETURN_IF_ERROR(failure);
  Comparison result = join(samples, pairs.size());
  for (const calibration::WorkerSession& side : sides) {
    if (side.session()) result.int8_mac_share = side.session()->int8_mac_share();
  }
  return result;
}

}  // namespace lq::quantization
