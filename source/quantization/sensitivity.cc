#include "quantization/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "quantization/tapped_run.h"
#include "runtime/op.h"

namespace lq::quantization {
namespace {

/// A float conversion reads and writes each element once; a multiply-add of an int8 kernel is far cheaper than that.
constexpr double kMacsPerElement = 8;

/// One run of the float model on the first readable sample, for its plan: multiply-adds and sizes by node.
Result<std::unique_ptr<Session>> plan_of(const ModelIr& model, const calibration::DataSource& samples) {
  ModelIr copy = model;
  for (size_t n = 0; n < copy.main().nodes.size(); ++n) copy.main().nodes[n].name = std::to_string(n);
  LQ_ASSIGN_OR_RETURN(const std::shared_ptr<Model> shared, Model::create(std::move(copy)));
  Status first = invalid_argument(samples.folder() + ": no sample");
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto sample = samples.load(i);
    if (!sample.ok()) {
      if (i == 0) first = sample.status();
      continue;
    }
    SessionOptions options;
    for (size_t k = 0; k < sample->inputs.size(); ++k)
      options.input_shapes[samples.inputs()[k].name] = sample->inputs[k].shape;
    return Session::create(shared, options);
  }
  return first;
}

double elements(const Graph& graph, TensorId id) {
  return id == kNoTensor ? 0.0 : double(std::max<int64_t>(element_count(graph.tensor(id).shape), 0));
}

/// This layer alone in int8: it and its activation are asked for, every other candidate is float.
NodeRequests only(const SensitivityInput& input, const PrecisionPlan& plan, size_t node) {
  NodeRequests wishes = *input.wishes;
  for (size_t n = 0; n < wishes.size(); ++n) {
    const bool mine = n == node || int(n) == plan[node].fused_activation;
    if (plan[n].precision == Precision::kInt8) wishes[n] = {mine ? Wish::kInt8 : Wish::kFloat, ""};
  }
  return wishes;
}

}  // namespace

double Layer::score() const { return 0.5 * (isolated + std::max(0.0, gain)); }

bool gives_class_scores(const Graph& graph) {
  if (graph.outputs.size() != 1) return false;
  const Tensor& scores = graph.tensor(graph.outputs[0]);
  return scores.ranked && scores.shape.size() == 2 && scores.shape[1] > 1;
}

NodeRequests with_float(const NodeRequests& wishes, const std::vector<size_t>& nodes, const std::string& reason) {
  NodeRequests result = wishes;
  for (size_t n : nodes) result[n] = {Wish::kFloat, reason};
  return result;
}

Result<std::vector<Layer>> find_layers(const SensitivityInput& input) {
  const Graph& graph = input.float_model->main();
  const PrecisionPlan plan = plan_precision(graph, *input.wishes);
  LQ_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, plan_of(*input.float_model, *input.samples));
  std::map<std::string, const Step*> step_of;
  for (const Step& step : session->steps()) step_of.emplace(step.node_name, &step);
  std::vector<Layer> layers;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const bool moves = rule_of(graph.nodes[n]) == QuantRule::kPassThrough;
    const bool asked = (*input.wishes)[n].wish != Wish::kNone;
    if (plan[n].precision != Precision::kInt8 || plan[n].fused_into >= 0 || moves || asked) continue;
    Layer layer;
    layer.node = n;
    if (const auto found = step_of.find(std::to_string(n)); found != step_of.end()) {
      const Step& step = *found->second;
      layer.macs = double(step.macs);
      for (size_t i : data_inputs(graph, graph.nodes[n])) {
        if (i < step.inputs.size()) layer.cost += kMacsPerElement * elements(session->fused_graph(), step.inputs[i]);
      }
      for (TensorId id : step.outputs) layer.cost += kMacsPerElement * elements(session->fused_graph(), id);
    }
    layer.cost += layer.macs + 1;  // never 0: it divides
    layers.push_back(layer);
  }
  return layers;
}

Result<double> output_error(const SensitivityInput& input, const FloatOutputs& reference, const NodeRequests& wishes) {
  LQ_ASSIGN_OR_RETURN(ModelIr model, input.build(wishes, BuildStage::kMeasure));
  MeasureOptions measure;
  measure.run = input.run;
  return reference.relative_error(std::move(model), *input.samples, measure);
}

Result<FloatOutputs> float_outputs(const SensitivityInput& input) {
  MeasureOptions measure;
  measure.run = input.run;
  return FloatOutputs::measure(*input.float_model, *input.samples, measure);
}

Status measure_sensitivity(const SensitivityInput& input, const FloatOutputs& reference, double whole,
                           std::vector<Layer>& layers, bool isolated) {
  const PrecisionPlan plan = plan_precision(input.float_model->main(), *input.wishes);
  for (size_t i = 0; i < layers.size(); ++i) {
    if (isolated) {
      LQ_ASSIGN_OR_RETURN(layers[i].isolated, output_error(input, reference, only(input, plan, layers[i].node)));
    }
    LQ_ASSIGN_OR_RETURN(const double rest,
                        output_error(input, reference, with_float(*input.wishes, {layers[i].node}, "measured")));
    layers[i].gain = whole - rest;
    if (input.progress) input.progress("measuring layers", i + 1, layers.size());
  }
  return {};
}

}  // namespace lq::quantization
