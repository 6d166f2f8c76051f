#include "quantization/tapped_run.h"

#include <algorithm>
#include <map>

#include "calibration/sample_runner.h"
#include "graph/branches.h"

namespace lq::quantization {

Result<ModelIr> only_outputs(const ModelIr& model, const std::vector<std::string>& names, std::vector<size_t>& places) {
  ModelIr copy = model;  // shares the constants
  copy.golden.reset();
  Graph& graph = copy.main();
  std::map<std::string, TensorId> by_name;
  for (size_t id = 0; id < graph.tensors.size(); ++id) by_name.emplace(graph.tensors[id].name, TensorId(id));
  graph.outputs.clear();
  places.clear();
  for (const std::string& name : names) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) return internal_error("tensor '" + name + "' to measure does not exist");
    auto output = std::find(graph.outputs.begin(), graph.outputs.end(), found->second);
    if (output == graph.outputs.end()) output = graph.outputs.insert(graph.outputs.end(), found->second);
    places.push_back(size_t(output - graph.outputs.begin()));
  }
  remove_dead(graph);
  drop_unused_graphs(copy);  // branches of an If that fed none of them
  return copy;
}

Status run_samples(ModelIr model, const calibration::DataSource& source, const MeasureOptions& options,
                   const std::function<void(size_t done, size_t total)>& progress, const SampleVisit& visit,
                   size_t* used) {
  LQ_ASSIGN_OR_RETURN(std::shared_ptr<const Model> shared, Model::create(std::move(model)));
  calibration::CollectorOptions run = options.run;
  run.progress = [&](const calibration::Progress& p) {
    if (progress) progress(p.done, p.total);
  };
  std::map<std::string, size_t> index_of_sample;
  for (size_t i = 0; i < source.size(); ++i) index_of_sample[source.name(i)] = i;
  calibration::SampleRunner runner(std::move(shared), source, run, 0);
  LQ_RETURN_IF_ERROR(runner.run([&](int worker, const Session& session, const calibration::Sample& sample) {
    visit(index_of_sample.at(sample.name), worker, session);
  }));
  if (used != nullptr) *used = runner.used();
  return {};
}

Result<double> giga_macs(const ModelIr& model, const calibration::DataSource& source) {
  LQ_ASSIGN_OR_RETURN(std::shared_ptr<const Model> shared, Model::create(model));
  std::string reason;
  for (size_t i = 0; i < source.size(); ++i) {
    const auto sample = source.load(i);
    if (!sample.ok()) {
      if (reason.empty()) reason = sample.status().message();
      continue;
    }
    SessionOptions options;
    for (size_t k = 0; k < sample->inputs.size(); ++k)
      options.input_shapes[source.inputs()[k].name] = sample->inputs[k].shape;
    const auto session = Session::create(shared, options);
    if (!session.ok()) {  // a shape the model refuses: calibration skips this sample, too
      if (reason.empty()) reason = source.name(i) + ": " + session.status().message();
      continue;
    }
    double macs = 0;
    for (const Step& step : (*session)->steps()) macs += double(step.macs);
    return std::max(macs * 1e-9, 0.001);
  }
  return invalid_argument(source.folder() + ": no usable sample; the first of " + std::to_string(source.size()) + ": " +
                          reason);
}

size_t affordable_samples(const SampleBudget& budget, double gmacs, size_t available) {
  const auto affordable = size_t(std::min(budget.gmacs / gmacs, double(budget.most)));
  const size_t wanted = std::max({affordable, available / budget.one_of, budget.fewest});
  return std::min({wanted, budget.most, available});
}

const float* float_output(const Session& session, size_t i, size_t& count) {
  count = size_t(std::max<int64_t>(element_count(session.output(i).shape), 0));
  return static_cast<const float*>(session.output_data(i));
}

}  // namespace lq::quantization
