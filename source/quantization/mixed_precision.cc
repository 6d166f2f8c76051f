#include "quantization/mixed_precision.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "calibration/evaluate.h"
#include "calibration/labels.h"

namespace lq::quantization {
namespace {

constexpr const char* kReason = "given back to float (--max-drop)";
constexpr size_t kMaxReturns = 8;  // layers tried in int8 again at the end

struct Drop {
  double value = 0;
  double standard_error = 0;  // of top-1 drops with labels; else 0
};

/// Measures the drop of a candidate against the float model.
class Judge {
 public:
  static Result<Judge> create(const SensitivityInput& input, const ValidationData& validation) {
    Judge judge(input, validation);
    LQ_ASSIGN_OR_RETURN(judge.reference_, Model::create(*input.float_model));
    if (validation.labels.empty()) {
      judge.scores_ = gives_class_scores(input.float_model->main());
      return judge;
    }
    LQ_ASSIGN_OR_RETURN(judge.float_right_, judge.evaluate(judge.reference_));
    return judge;
  }

  const char* metric() const {
    return !validation_.labels.empty() ? "top-1 drop in points"
           : scores_                   ? "top-1 disagreement with float in points"
                                       : "rms error of the outputs in percent";
  }
  /// What one sample more or less changes the drop by; 0 for errors, which are no counts.
  double one_sample() const {
    const bool counts = !validation_.labels.empty() || scores_;
    return counts && validation_.samples.size() > 0 ? 100.0 / double(validation_.samples.size()) : 0;
  }

  Result<Drop> drop(const ModelIr& candidate) const {
    LQ_ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, Model::create(candidate));
    if (!validation_.labels.empty()) {
      LQ_ASSIGN_OR_RETURN(const calibration::Evaluation got, evaluate(model));
      return paired_drop(float_right_, got);
    }
    LQ_ASSIGN_OR_RETURN(const calibration::Comparison c,
                        calibration::compare(model, reference_, validation_.samples, input_.run));
    if (c.used == 0) return nothing_usable(c.skipped);
    if (scores_) return Drop{100 * (1 - c.agreement())};
    if (c.reference_power == 0) return Drop{c.error_power == 0 ? 0.0 : 100.0};
    return Drop{100 * std::sqrt(c.error_power / c.reference_power)};
  }

 private:
  Judge(const SensitivityInput& input, const ValidationData& validation) : input_(input), validation_(validation) {}

  Status nothing_usable(const std::vector<calibration::SkippedSample>& skipped) const {
    return invalid_argument(validation_.samples.folder() + ": no usable sample" +
                            (skipped.empty() ? "" : "; the first: " + skipped[0].reason));
  }

  Result<calibration::Evaluation> evaluate(const std::shared_ptr<const Model>& model) const {
    LQ_ASSIGN_OR_RETURN(calibration::Evaluation e, calibration::evaluate(model, validation_.samples, validation_.labels,
                                                                         validation_.label_offset, input_.run));
    if (e.labelled == 0) return nothing_usable(e.skipped);
    return e;
  }

  /// The drop is (b − c)/n for b samples that turned wrong and c that turned right; other samples of that kind would
  /// scatter about it by √(b + c)/n (the standard error of McNemar's paired test).
  static Drop paired_drop(const calibration::Evaluation& before, const calibration::Evaluation& after) {
    size_t lost = 0, won = 0;
    for (const std::string& name : before.right) lost += after.right.count(name) == 0;
    for (const std::string& name : after.right) won += before.right.count(name) == 0;
    const double point = 100.0 / double(before.labelled);
    return {point * (double(lost) - double(won)), point * std::sqrt(double(lost + won))};
  }

  const SensitivityInput& input_;
  const ValidationData& validation_;
  std::shared_ptr<const Model> reference_;
  bool scores_ = false;
  calibration::Evaluation float_right_;
};

class Search {
 public:
  Search(const SensitivityInput& input, const Judge& judge, double max_drop)
      : input_(input), judge_(judge), max_drop_(max_drop) {}

  Result<bool> holds(const std::vector<size_t>& nodes, BuildStage stage = BuildStage::kTrial) {
    LQ_ASSIGN_OR_RETURN(const ModelIr model, input_.build(with_float(*input_.wishes, nodes, kReason), stage));
    LQ_ASSIGN_OR_RETURN(const Drop drop, judge_.drop(model));
    if (input_.progress) input_.progress("validating", tried_ + 1, tried_ + 1);
    ++tried_;
    last_drop = drop.value, last_error = drop.standard_error;
    return drop.value + drop.standard_error <= max_drop_ + 1e-9;
  }

  /// A shortest prefix that holds: doubling steps, then bisection between the last that failed and the first that held.
  Result<std::vector<size_t>> shortest_prefix(const std::vector<size_t>& ranked) {
    size_t failed = 0, held = 1;
    for (;; held *= 2) {
      held = std::min(held, ranked.size());
      LQ_ASSIGN_OR_RETURN(const bool ok, holds(prefix(ranked, held)));
      if (ok || held == ranked.size()) break;
      failed = held;
    }
    while (held - failed > 1) {
      const size_t middle = failed + (held - failed) / 2;
      LQ_ASSIGN_OR_RETURN(const bool ok, holds(prefix(ranked, middle)));
      (ok ? held : failed) = middle;
    }
    return prefix(ranked, held);
  }

  /// Drops layers from the set again, the most expensive first, where the target allows.
  Status thin_out(std::vector<size_t>& nodes, const std::vector<Layer>& layers) {
    std::map<size_t, double> cost;
    for (const Layer& layer : layers) cost[layer.node] = layer.cost;
    std::vector<size_t> order = nodes;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return cost[a] > cost[b]; });
    order.resize(std::min(order.size(), kMaxReturns));
    for (size_t node : order) {
      if (nodes.size() == 1) break;
      std::vector<size_t> fewer = nodes;
      std::erase(fewer, node);
      LQ_ASSIGN_OR_RETURN(const bool ok, holds(fewer));
      if (ok) nodes = std::move(fewer);
    }
    return {};
  }

  /// As it will be written the model may be a little off the trial: more of the ranking goes back until it holds, twice
  /// as many layers each time.
  Status settle(std::vector<size_t>& nodes, const std::vector<size_t>& ranked) {
    for (;;) {
      LQ_ASSIGN_OR_RETURN(const bool ok, holds(nodes, BuildStage::kFinal));
      if (ok || nodes.size() == ranked.size()) return {};
      const std::set<size_t> known(nodes.begin(), nodes.end());
      const size_t wanted = std::min(2 * nodes.size(), ranked.size());
      for (size_t node : ranked) {
        if (nodes.size() < wanted && known.count(node) == 0) nodes.push_back(node);
      }
    }
  }

  double last_drop = 0, last_error = 0;

 private:
  static std::vector<size_t> prefix(const std::vector<size_t>& ranked, size_t count) {
    return {ranked.begin(), ranked.begin() + std::ptrdiff_t(count)};
  }

  const SensitivityInput& input_;
  const Judge& judge_;
  const double max_drop_;
  size_t tried_ = 0;
};

std::vector<size_t> rank(const std::vector<Layer>& layers) {
  std::vector<const Layer*> order;
  for (const Layer& layer : layers) order.push_back(&layer);
  std::stable_sort(order.begin(), order.end(),
                   [](const Layer* a, const Layer* b) { return a->score() * b->cost > b->score() * a->cost; });
  std::vector<size_t> nodes;
  for (const Layer* layer : order) nodes.push_back(layer->node);
  return nodes;
}

void describe(const Graph& graph, const std::vector<Layer>& layers, const std::vector<size_t>& nodes,
              QuantizeReport::MixedPrecision& report) {
  const std::set<size_t> kept(nodes.begin(), nodes.end());
  double macs = 0, in_float = 0;
  for (const Layer& layer : layers) {
    macs += layer.macs;
    QuantizeReport::MixedPrecision::Layer row;
    row.node = node_label(graph, graph.nodes[layer.node]);
    row.isolated_error = layer.isolated, row.gain = layer.gain, row.macs = layer.macs;
    row.kept_float = kept.count(layer.node) != 0;
    if (row.kept_float) in_float += layer.macs;
    report.layers.push_back(std::move(row));
  }
  report.float_mac_share = macs > 0 ? in_float / macs : 0;
}

}  // namespace

Result<ValidationData> open_validation(const QuantizeOptions& options, std::vector<calibration::InputSpec> inputs) {
  Result<calibration::Labels> found = calibration::read_labels(options.validation_dir, options.labels_file);
  if (!found.ok()) {
    if (!options.labels_file.empty() || found.status().code() != StatusCode::kNotFound) return found.status();
    LQ_ASSIGN_OR_RETURN(calibration::DataSource samples,
                        calibration::DataSource::open(options.validation_dir, std::move(inputs)));
    return ValidationData{std::move(samples), {}, 0};
  }
  if (inputs.size() != 1)
    return invalid_argument(options.validation_dir + ": labels need a model with one input, this one has " +
                            std::to_string(inputs.size()));
  std::vector<std::string> files;
  std::map<std::string, int64_t> labels;
  for (const calibration::LabeledFile& f : found->files) files.push_back(f.file), labels[f.file] = f.label;
  LQ_ASSIGN_OR_RETURN(calibration::DataSource samples,
                      calibration::DataSource::open_files(options.validation_dir, files, std::move(inputs[0])));
  return ValidationData{std::move(samples), std::move(labels), options.label_offset};
}

Result<NodeRequests> search_mixed_precision(const SensitivityInput& input, const ValidationData& validation,
                                            double max_drop, QuantizeReport::MixedPrecision& report) {
  LQ_ASSIGN_OR_RETURN(const Judge judge, Judge::create(input, validation));
  Search search(input, judge, max_drop);
  report.metric = judge.metric();
  report.max_drop = max_drop;
  report.samples = validation.samples.size();
  report.one_sample = judge.one_sample();
  LQ_ASSIGN_OR_RETURN(const bool fine, search.holds({}, BuildStage::kFinal));
  report.drop_before = report.drop_after = search.last_drop;
  report.standard_error = search.last_error;
  if (fine) return *input.wishes;
  LQ_ASSIGN_OR_RETURN(std::vector<Layer> layers, find_layers(input));
  if (layers.empty()) return *input.wishes;  // what is int8 was asked for
  LQ_ASSIGN_OR_RETURN(const FloatOutputs reference, float_outputs(input));
  LQ_ASSIGN_OR_RETURN(const double whole, output_error(input, reference, *input.wishes));
  LQ_RETURN_IF_ERROR(measure_sensitivity(input, reference, whole, layers));
  const std::vector<size_t> ranked = rank(layers);
  LQ_ASSIGN_OR_RETURN(std::vector<size_t> nodes, search.shortest_prefix(ranked));
  LQ_RETURN_IF_ERROR(search.thin_out(nodes, layers));
  LQ_RETURN_IF_ERROR(search.settle(nodes, ranked));
  report.drop_after = search.last_drop, report.standard_error = search.last_error;
  describe(input.float_model->main(), layers, nodes, report);
  return with_float(*input.wishes, nodes, kReason);
}

}  // namespace lq::quantization
