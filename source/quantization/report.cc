#include "quantization/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "graph/op_def.h"

namespace lq::quantization {
namespace {

constexpr double kClippedWarning = 0.01;  // share of values
constexpr double kLowSqnr = 10;           // dB: the error has a third of the signal's amplitude
constexpr size_t kFewSamples = 16;

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", v);
  return text;
}
std::string percent(double share) { return number(100 * share) + " %"; }

std::string label(const Graph& graph, size_t n) { return node_label(graph, graph.nodes[n]); }

void warn(QuantizeReport& report, std::string message, std::string advice, std::string kind = "model",
          std::string subject = "") {
  report.warnings.push_back({std::move(message), std::move(advice), std::move(kind), std::move(subject)});
}

bool has_preprocessing(const ModelIr& model, const std::string& name) {
  return std::any_of(model.inputs.begin(), model.inputs.end(), [&](const auto& info) {
    return info.name == name && info.preprocessing &&
           (!info.preprocessing->mean.empty() || !info.preprocessing->std.empty());
  });
}

/// Pixels nobody normalized, values normalized twice, blank data.
void warn_about_input(const ModelIr& model, const Tensor& tensor, const calibration::RangeStats& stats,
                      QuantizeReport& report) {
  const ValueRange range = stats.range();
  const std::string what =
      "input '" + tensor.name + "' holds values from " + number(double(range.min)) + " to " + number(double(range.max));
  const bool is_image = tensor.ranked && tensor.shape.size() == 4;
  const float largest = std::max(std::abs(range.min), std::abs(range.max));
  if (tensor.ranked && tensor.shape.size() > 2 && range.min == range.max) {
    warn(report, what + ": every sample is blank", "check the calibration folder", "input", tensor.name);
  } else if (is_image && range.min >= 0 && largest > 64 && !has_preprocessing(model, tensor.name)) {
    warn(report, what + ": raw pixels",
         "fine for a model trained on raw pixels; otherwise give --preprocess or --mean and --std", "input",
         tensor.name);
  } else if (is_image && largest < 0.05f) {
    warn(report, what + ": small for an image, as if it had been scaled twice",
         "check --mean and --std, which are in pixel units 0…255", "input", tensor.name);
  }
}

void warn_about_clipping(const ReportInput& input, QuantizeReport& report) {
  for (size_t g = 0; g < input.ranges.size(); ++g) {
    const double share = input.ranges[g].clipped_share.value_or(0);
    if (share <= kClippedWarning) continue;
    const std::string& name = input.graph.tensor(input.groups.groups()[g].calibrated).name;
    warn(report, percent(share) + " of the values of '" + name + "' lie outside its threshold",
         "try --method percentile or --method minmax", "clipping", name);
  }
}

/// Graph inputs that the value `id` is computed from.
std::vector<TensorId> inputs_behind(const Graph& graph, TensorId id) {
  const std::vector<int> producers = producers_of(graph);
  std::vector<bool> seen(graph.tensors.size(), false);
  std::vector<TensorId> waiting = {id};
  while (!waiting.empty()) {
    const TensorId t = waiting.back();
    waiting.pop_back();
    if (t == kNoTensor || seen[size_t(t)]) continue;
    seen[size_t(t)] = true;
    if (producers[size_t(t)] < 0) continue;
    const std::vector<TensorId>& more = graph.nodes[size_t(producers[size_t(t)])].inputs;
    waiting.insert(waiting.end(), more.begin(), more.end());
  }
  std::vector<TensorId> inputs = graph.inputs;
  std::erase_if(inputs, [&](TensorId input) { return !seen[size_t(input)]; });
  return inputs;
}

/// "--fix-input sr=16000" if one integer decides and the samples give its value.
std::string branch_advice(const ModelIr& model) {
  for (const Node& node : model.main().nodes) {
    if (node.op != Op::If) continue;
    const std::vector<TensorId> inputs = inputs_behind(model.main(), node.inputs[0]);
    if (inputs.size() != 1) continue;
    const Tensor& t = model.main().tensor(inputs[0]);
    if (element_count(t.shape) != 1) continue;
    const bool known = t.range && t.range->min == t.range->max;
    return "input '" + t.name + "' chooses the branch: make it a constant with --fix-input " + t.name + "=" +
           (known ? std::to_string(int64_t(t.range->min)) : "VALUE");
  }
  return "make the input that chooses the branch a constant with --fix-input NAME=VALUE";
}

void add_histogram(const calibration::Histogram& histogram, QuantizeReport::Tensor& row) {
  constexpr int kFold = calibration::kBins / kReportBins;
  row.limit = double(histogram.limit());
  row.tiny = histogram.tiny();
  row.histogram.assign(2 * kReportBins, 0);
  for (int b = 0; b < calibration::kBins; ++b) {
    row.histogram[size_t(kReportBins + b / kFold)] += histogram.positive()[size_t(b)];
    row.histogram[size_t(kReportBins - 1 - b / kFold)] += histogram.negative()[size_t(b)];
  }
}

}  // namespace

void warn_about_branches(const ModelIr& model, QuantizeReport& report) {
  size_t products = 0;
  for (size_t g = 1; g < model.graphs.size(); ++g) {
    for (const Node& node : model.graphs[g].nodes) {
      const OpDef* def = find_op(node.op);
      if (def != nullptr && def->quant == QuantRule::kProduct) ++products;
    }
  }
  if (products == 0) return;
  warn(report,
       std::to_string(products) +
           " convolutions and matrix products inside branches of If stay float: branches are not quantized",
       branch_advice(model));
}

void describe_nodes(const ReportInput& input, QuantizeReport& report) {
  for (size_t n = 0; n < input.graph.nodes.size(); ++n) {
    const Node& node = input.graph.nodes[n];
    const NodePlan& plan = input.plan[n];
    QuantizeReport::Node row;
    row.name = node.name;
    row.op = op_name(node.op);
    row.output = node.output(0) == kNoTensor ? "" : input.graph.tensor(node.outputs[0]).name;
    row.reason = plan.reason;
    if (plan.int8_parameters) row.reason += "; its constants are stored as int8";
    row.precision = precision_name(plan.precision);
    const int group = input.ranges.empty() ? -1 : input.groups.of(node.output(0));
    if (group >= 0) {
      const GroupRange& range = input.ranges[size_t(group)];
      row.range_min = double(range.threshold.min), row.range_max = double(range.threshold.max);
      row.clipped_share = range.clipped_share;
    }
    if (plan.precision != Precision::kNotFloat) {
      const bool quantized = is_integer(plan.precision);
      ++(plan.precision == Precision::kInt16 ? report.int16_nodes : quantized ? report.int8_nodes : report.float_nodes);
      auto& counts = report.by_op[row.op];
      ++(quantized ? counts.first : counts.second);
    }
    report.nodes.push_back(std::move(row));
  }
}

void describe_tensors(const ReportInput& input, const Calibration& calibration, QuantizeReport& report) {
  for (size_t g = 0; g < input.ranges.size(); ++g) {
    const ParamGroup& group = input.groups.groups()[g];
    const GroupRange& range = input.ranges[g];
    QuantizeReport::Tensor row;
    row.names.push_back(input.graph.tensor(group.calibrated).name);
    for (TensorId id : group.members) {
      if (id != group.calibrated) row.names.push_back(input.graph.tensor(id).name);
    }
    row.observed_min = double(range.observed.min), row.observed_max = double(range.observed.max);
    row.min = double(range.threshold.min), row.max = double(range.threshold.max);
    row.type = dtype_name(group.dtype);
    row.scale = double(scale_at(range.params, 0)), row.zero_point = zero_point_at(range.params, 0);
    row.qmin = range.params.qmin, row.qmax = range.params.qmax;
    row.clipped_share = range.clipped_share;
    const int tap = calibration.tap_of(group.calibrated);
    if (tap >= 0 && !calibration.histograms.empty()) add_histogram(calibration.histograms[size_t(tap)], row);
    report.tensors.push_back(std::move(row));
  }
}

void warn_about_data(const ModelIr& model, const Calibration& calibration, const ReportInput& input,
                     QuantizeReport& report) {
  if (calibration.ranges.used < kFewSamples) {
    warn(report, "only " + std::to_string(calibration.ranges.used) + " calibration samples",
         "use some hundred typical ones");
  }
  for (size_t t = 0; t < calibration.taps.size(); ++t) {
    const calibration::RangeStats& stats = calibration.ranges.stats[t];
    const Tensor& tensor = input.graph.tensor(calibration.taps[t]);
    if (stats.nan + stats.inf > 0) {
      warn(report,
           "'" + tensor.name + "' holds " + std::to_string(stats.nan) + " NaN and " + std::to_string(stats.inf) +
               " infinite values, first in sample " + stats.first_bad_sample,
           "they were left out; check the sample and the model", "not-finite", tensor.name);
    }
  }
  for (TensorId id : input.graph.inputs) {
    const int tap = calibration.tap_of(id);
    if (tap >= 0) warn_about_input(model, input.graph.tensor(id), calibration.ranges.stats[size_t(tap)], report);
  }
  warn_about_clipping(input, report);
}

void warn_about_weights(const ReportInput& input, const std::vector<NodeNotes>& notes, QuantizeReport& report) {
  for (size_t n = 0; n < notes.size(); ++n) {
    report.nodes[n].float_output = notes[n].float_output;
    if (notes[n].zero_channels > 0) {
      warn(report,
           label(input.graph, n) + ": " + std::to_string(notes[n].zero_channels) +
               " dead output channels (weights zero, or nothing beside their bias)",
           "they cost time and give a constant; prune them before export", "dead-channels", input.graph.nodes[n].name);
    }
    if (notes[n].raised_channels > 0) {
      warn(report,
           label(input.graph, n) + ": " + std::to_string(notes[n].raised_channels) +
               " channels have coarser weights than usual, since their bias or sum would leave int32",
           "if accuracy suffers keep the node in float with --skip", "coarse-weights", input.graph.nodes[n].name);
    }
  }
}

void warn_about_float_share(const FloatShare& share, QuantizeReport& report) {
  char text[200];
  std::snprintf(text, sizeof(text),
                "operators back in float: %zu, %.2f %% of the multiply-adds; outputs %.1f dB from float instead of "
                "%.1f dB (%zu samples)",
                share.nodes.size(), 100 * share.mac_share, share.after_db, share.before_db, share.samples);
  QuantizeReport::Warning warning{text, "--float-share 0 keeps them in int8, --max-drop gives back more"};
  warning.kind = "float-share";
  warning.taken = true;
  report.warnings.push_back(std::move(warning));
}

void add_comparison(const Comparison& comparison, const std::vector<size_t>& node_of_pair, QuantizeReport& report) {
  report.samples_compared = comparison.samples;
  report.output_sqnr_db = comparison.output_sqnr_db;
  report.top1_agreement = comparison.top1_agreement;
  report.int8_mac_share = comparison.int8_mac_share;
  size_t low = 0, worst = 0;
  for (size_t p = 0; p < node_of_pair.size(); ++p) {
    QuantizeReport::Node& row = report.nodes[node_of_pair[p]];
    row.sqnr_db = comparison.sqnr_db[p];
    if (!row.sqnr_db || *row.sqnr_db >= kLowSqnr) continue;
    if (low++ == 0 || *row.sqnr_db < *report.nodes[worst].sqnr_db) worst = node_of_pair[p];
  }
  if (low == 0) return;
  const QuantizeReport::Node& row = report.nodes[worst];
  warn(report,
       std::to_string(low) + " operators are below " + number(kLowSqnr) + " dB against float, the worst " + row.op +
           " '" + row.name + "' with " + number(*row.sqnr_db) + " dB",
       "compare accuracy with lq-eval; keep the first of them in float with --skip, or give --max-drop", "low-sqnr",
       row.name);
}

}  // namespace lq::quantization
