#include "calibration/collector.h"

#include <algorithm>
#include <cstring>

#include "calibration/sample_runner.h"

namespace lq::calibration {

struct Collector::State {
  std::vector<std::string> names;
  std::vector<TapPlace> places;  // where each tap's values are after a run
  std::shared_ptr<const Model> model;
  CollectorOptions options;
};

namespace {

/// A copy whose outputs also hold the taps. A tap that is a graph input is read from the sample itself: an input's
/// memory may be reused during the run, and an output that is an input is a corner some graphs already have.
Result<ModelIr> add_taps(const ModelIr& model, const std::vector<TensorId>& taps, std::vector<TapPlace>& places) {
  ModelIr copy = model;
  Graph& graph = copy.main();
  for (TensorId id : taps) {
    if (id < 0 || size_t(id) >= graph.tensors.size())
      return invalid_argument("tapped tensor " + std::to_string(id) + " does not exist");
    const Tensor& tensor = graph.tensor(id);
    if (tensor.is_constant() || tensor.dtype != DType::Float32)
      return invalid_argument("tensor '" + tensor.name + "' cannot be tapped: it is " +
                              (tensor.is_constant() ? "a constant" : "not float32"));
    const auto input = std::find(graph.inputs.begin(), graph.inputs.end(), id);
    if (input != graph.inputs.end()) {
      places.push_back({true, size_t(input - graph.inputs.begin())});
      continue;
    }
    auto output = std::find(graph.outputs.begin(), graph.outputs.end(), id);
    if (output == graph.outputs.end()) {
      graph.outputs.push_back(id);
      output = graph.outputs.end() - 1;
    }
    places.push_back({false, size_t(output - graph.outputs.begin())});
  }
  copy.golden.reset();  // its hash is that of the original outputs
  return copy;
}

const float* tap_values(const TapPlace& place, const Session& session, const Sample& sample, size_t& count) {
  if (place.is_input) {
    count = sample.inputs[place.index].data.size() / sizeof(float);
    return sample.inputs[place.index].as<float>();
  }
  count = size_t(std::max<int64_t>(element_count(session.output(place.index).shape), 0));
  return static_cast<const float*>(session.output_data(place.index));
}

}  // namespace

std::vector<TensorId> float_tensors(const Graph& graph) {
  std::vector<TensorId> ids = graph.inputs;
  for (const Node& node : graph.nodes) ids.insert(ids.end(), node.outputs.begin(), node.outputs.end());
  std::erase_if(ids, [&](TensorId id) {
    return id < 0 || graph.tensor(id).dtype != DType::Float32 || graph.tensor(id).is_constant();
  });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<InputSpec> input_specs(const ModelIr& model, const std::map<std::string, Shape>& input_shapes) {
  std::vector<InputSpec> specs;
  for (TensorId id : model.main().inputs) {
    const Tensor& tensor = model.main().tensor(id);
    InputSpec spec{tensor.name, tensor.dtype, tensor.shape, std::nullopt};
    if (const auto given = input_shapes.find(tensor.name); given != input_shapes.end()) spec.shape = given->second;
    if (!spec.shape.empty() && spec.shape[0] == kUnknownDim) spec.shape[0] = 1;
    for (const auto& info : model.inputs) {
      if (info.name == tensor.name && info.preprocessing) spec.preprocessing = *info.preprocessing;
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

Status Collection::merge(const Collection& other) {
  if (names != other.names || histograms.size() != other.histograms.size())
    return invalid_argument("partial collections of different tensors cannot be merged");
  for (size_t t = 0; t < stats.size(); ++t) stats[t].merge(other.stats[t]);
  for (size_t t = 0; t < histograms.size(); ++t) histograms[t].merge(other.histograms[t]);
  of_sample.insert(other.of_sample.begin(), other.of_sample.end());
  used += other.used;
  skipped.insert(skipped.end(), other.skipped.begin(), other.skipped.end());
  return {};
}

std::vector<ValueRange> Collection::samples_of(size_t tap) const {
  std::vector<ValueRange> ranges;
  for (const auto& [name, of_taps] : of_sample) ranges.push_back(of_taps[tap]);
  return ranges;
}

Collector::Collector(std::unique_ptr<State> state) : state_(std::move(state)) {}
Collector::~Collector() = default;

Result<std::unique_ptr<Collector>> Collector::create(const ModelIr& model, std::vector<TensorId> taps,
                                                     CollectorOptions options) {
  auto state = std::make_unique<State>();
  for (TensorId id : taps) {
    if (id >= 0 && size_t(id) < model.main().tensors.size()) state->names.push_back(model.main().tensor(id).name);
  }
  LQ_ASSIGN_OR_RETURN(ModelIr tapped, add_taps(model, taps, state->places));
  LQ_ASSIGN_OR_RETURN(std::shared_ptr<Model> shared, Model::create(std::move(tapped)));
  state->model = std::move(shared);
  state->options = std::move(options);
  return std::unique_ptr<Collector>(new Collector(std::move(state)));
}

Result<Collection> Collector::collect(const DataSource& source, bool with_histograms) const {
  const size_t taps = state_->places.size();
  SampleRunner runner(state_->model, source, state_->options, 1);
  Collection empty;
  empty.names = state_->names;
  empty.stats.resize(taps);
  empty.histograms.resize(with_histograms ? taps : 0);
  std::vector<Collection> partial(size_t(runner.threads()), empty);
  LQ_RETURN_IF_ERROR(runner.run([&](int worker, const Session& session, const Sample& sample) {
    Collection& mine = partial[size_t(worker)];
    for (size_t t = 0; t < taps; ++t) {
      size_t count = 0;
      const float* values = tap_values(state_->places[t], session, sample, count);
      RangeStats own;
      own.add(values, count, sample.name);
      mine.stats[t].merge(own);
      mine.of_sample[sample.name].push_back(own.range());
      if (with_histograms) mine.histograms[t].add(values, count, own.range());
    }
  }));
  Collection result = std::move(partial[0]);
  for (size_t w = 1; w < partial.size(); ++w) LQ_RETURN_IF_ERROR(result.merge(partial[w]));
  result.used = runner.used(), result.skipped = runner.skipped();
  if (result.used == 0) {
    return invalid_argument(source.folder() + ": no usable sample; the first of " +
                            std::to_string(result.skipped.size()) + ": " + result.skipped.front().reason);
  }
  return result;
}

}  // namespace lq::calibration
