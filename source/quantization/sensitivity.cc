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

/// The float model's outputs on the samples, kept so that each candidate costs its own runs only.
class Reference {
 public:
  static Result<Reference> create(const SensitivityInput& input) {
    Reference reference(input);
    reference.outputs_.resize(input.samples->size());
    LQ_RETURN_IF_ERROR(run_samples(*input.float_model, *input.samples, reference.run_, nullptr,
                                   [&](size_t sample, int, const Session& session) {
                                     if (!reference.is_kept(sample, session)) return;
                                     reference.outputs_[sample] = reference.values(session);
                                   }));
    for (const std::vector<float>& values : reference.outputs_) {
      for (float v : values) reference.power_ += double(v) * double(v);
    }
    return reference;
  }

  /// Σ (model − float)² / Σ float² over all float outputs and samples, joined in sample order.
  Result<double> error_of(ModelIr model) const {
    std::vector<double> errors(outputs_.size(), 0.0);
    LQ_RETURN_IF_ERROR(
        run_samples(std::move(model), *input_.samples, run_, nullptr, [&](size_t sample, int, const Session& session) {
          const std::vector<float>& wanted = outputs_[sample];
          if (wanted.empty()) return;
          const std::vector<float> got = values(session);
          for (size_t i = 0; i < std::min(wanted.size(), got.size()); ++i) {
            const double d = double(got[i]) - double(wanted[i]);
            errors[sample] += d * d;
          }
        }));
    double sum = 0;
    for (double e : errors) sum += e;
    if (power_ == 0) return sum > 0 ? 1.0 : 0.0;
    return sum / power_;
  }

 private:
  explicit Reference(const SensitivityInput& input) : input_(input) { run_.run = input.run; }

  /// Large outputs (segmentation, images) are kept of fewer samples; which ones does not depend on threads.
  static bool is_kept(size_t sample, const Session& session) {
    size_t floats = 0, count = 0;
    for (size_t o = 0; o < session.output_count(); ++o) float_output(session, o, count), floats += count;
    return sample < 2 || double(sample + 1) * double(floats) <= double(kKeptFloats);
  }
  static std::vector<float> values(const Session& session) {
    std::vector<float> all;
    for (size_t o = 0; o < session.output_count(); ++o) {
      if (session.output(o).dtype != DType::Float32) continue;
      size_t count = 0;
      const float* data = float_output(session, o, count);
      all.insert(all.end(), data, data + count);
    }
    return all;
  }

  static constexpr size_t kKeptFloats = size_t(1) << 26;  // 256 MB
  const SensitivityInput& input_;
  MeasureOptions run_;
  std::vector<std::vector<float>> outputs_;  // by sample; empty: skipped or not kept
  double power_ = 0;
};

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

Result<double> measure_sensitivity(const SensitivityInput& input, std::vector<Layer>& layers, bool isolated) {
  const PrecisionPlan plan = plan_precision(input.float_model->main(), *input.wishes);
  LQ_ASSIGN_OR_RETURN(const Reference reference, Reference::create(input));
  const auto error_with = [&](const NodeRequests& wishes) -> Result<double> {
    LQ_ASSIGN_OR_RETURN(ModelIr model, input.build(wishes, BuildStage::kMeasure));
    return reference.error_of(std::move(model));
  };
  LQ_ASSIGN_OR_RETURN(const double whole, error_with(*input.wishes));
  for (size_t i = 0; i < layers.size(); ++i) {
    if (isolated) {
      LQ_ASSIGN_OR_RETURN(layers[i].isolated, error_with(only(input, plan, layers[i].node)));
    }
    LQ_ASSIGN_OR_RETURN(const double rest, error_with(with_float(*input.wishes, {layers[i].node}, "measured")));
    layers[i].gain = whole - rest;
    if (input.progress) input.progress("measuring layers", i + 1, layers.size());
  }
  return whole;
}

}  // namespace lq::quantization
