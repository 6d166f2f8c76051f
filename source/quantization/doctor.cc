#include "quantization/doctor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "passes/product_weights.h"

namespace lq::quantization {
namespace {

constexpr double kWideSpread = 1000;       // largest over smallest channel of one weight
constexpr double kNarrowMargin = 0.5;      // of int32: a few times the usual activations would reach the end
constexpr size_t kEnoughForOneClass = 16;  // samples that can hardly all be of one class

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", v);
  return text;
}

QuantizeReport::Warning sample_warning(const calibration::SampleFinding& finding, const std::string& name) {
  using calibration::SampleFault;
  QuantizeReport::Warning w;
  w.subject = name;
  w.is_sample = true;
  const std::string what = "sample '" + name + "' ";
  switch (finding.fault) {
    case SampleFault::kNotFinite:
      w.kind = "not-finite", w.message = what + "holds NaN or infinite values";
      break;
    case SampleFault::kBlank:
      w.kind = "blank", w.message = what + "is blank: all its values are equal";
      break;
    case SampleFault::kDuplicate:
      w.kind = "duplicate", w.message = what + "is the same as '" + finding.of + "'";
      break;
    case SampleFault::kBlurredCopy:
      w.kind = "blurred-copy";
      w.message = what + "looks like a blurred copy of '" + finding.of + "' (variance of the Laplacian " +
                  number(finding.value) + " of its)";
      break;
    case SampleFault::kBlurred:
      w.kind = "blurred";
      w.message = what + "is blurred or flat beside the others (variance of the Laplacian " + number(finding.value) +
                  " of the median)";
      break;
  }
  return w;
}

const Tensor* quantized_source(const Graph& graph, const std::vector<int>& producers, TensorId id) {
  if (id == kNoTensor || producers[size_t(id)] < 0) return nullptr;
  const Node& dq = graph.nodes[size_t(producers[size_t(id)])];
  if (dq.op != Op::DequantizeLinear) return nullptr;
  const Tensor& t = graph.tensor(dq.inputs[0]);
  return t.quant ? &t : nullptr;
}

/// How much of int32 the worst channel's accumulator may use: (max|q_x − zp|·Σ|q_w| + |bias|) / (2^31 − 1). 0 for nodes
/// that are no int8 products with per-channel weights.
double accumulator_share(const Graph& graph, const std::vector<int>& producers, const Node& node) {
  if (rule_of(node) != QuantRule::kProduct) return 0;
  const Tensor *x = quantized_source(graph, producers, node.input(0)),
               *w = quantized_source(graph, producers, node.input(1)),
               *b = quantized_source(graph, producers, node.input(2));
  if (x == nullptr || w == nullptr || !w->is_constant() || w->dtype != DType::Int8) return 0;
  const size_t channels = w->quant->scale.size();
  const size_t axis = size_t(w->quant->axis);
  // ConvTranspose lists channels group by group, so that its axis has fewer entries than scales; it is left to the
  // bound that was checked when its bias was made.
  if (channels < 2 || axis >= w->shape.size() || w->shape[axis] != int64_t(channels)) return 0;
  std::vector<double> sum(channels, 0.0);
  int64_t inner = 1;
  for (size_t d = axis + 1; d < w->shape.size(); ++d) inner *= w->shape[d];
  for (int64_t i = 0; i < element_count(w->shape); ++i)
    sum[size_t(i / inner % int64_t(channels))] += std::abs(double(w->data.as<int8_t>()[i]));
  const int zero_point = zero_point_at(*x->quant, 0);
  const double peak = double(std::max(x->quant->qmax - zero_point, zero_point - x->quant->qmin));
  double worst = 0;
  for (size_t c = 0; c < sum.size(); ++c) {
    const bool has_bias = b != nullptr && c < size_t(element_count(b->shape));
    const double bias = has_bias ? std::abs(double(b->data.as<int32_t>()[c])) : 0.0;
    worst = std::max(worst, (peak * sum[c] + bias) / 2147483647.0);
  }
  return worst;
}

void note_weight_ranges(const Graph& graph, const Node& node, QuantizeReport::Node& row) {
  std::string reason;
  const auto view = passes::product_weights(graph, node, &reason);
  if (!view) return;
  const auto values = constant_floats(graph, view->weight);
  if (!values) return;
  const std::vector<int32_t> channel = view->channel_of_element(graph.tensor(view->weight).shape);
  row.weight_min.assign(size_t(view->channels), 0.0f), row.weight_max = row.weight_min;
  for (size_t i = 0; i < values->size(); ++i) {
    const size_t c = size_t(channel[i]);
    row.weight_min[c] = std::min(row.weight_min[c], (*values)[i]);
    row.weight_max[c] = std::max(row.weight_max[c], (*values)[i]);
  }
}

/// Largest over smallest channel, dead ones aside.
double channel_spread(const QuantizeReport::Node& row) {
  double low = INFINITY, high = 0;
  for (size_t c = 0; c < row.weight_min.size(); ++c) {
    const double size = std::max(double(row.weight_max[c]), -double(row.weight_min[c]));
    if (size > 0) low = std::min(low, size), high = std::max(high, size);
  }
  return high > 0 ? high / low : 1;
}

}  // namespace

void warn_about_samples(const std::vector<calibration::SampleStats>& stats,
                        const std::vector<calibration::SampleFinding>& findings, bool drop, QuantizeReport& report) {
  for (const calibration::SampleFinding& finding : findings) {
    QuantizeReport::Warning w = sample_warning(finding, stats[finding.sample].name);
    w.taken = drop && finding.is_outlier();
    w.advice = w.taken                ? "left out"
               : finding.is_outlier() ? "remove it, or leave such samples out with --drop-outliers"
                                      : "kept; remove it if the model will not see such pictures";
    report.warnings.push_back(std::move(w));
  }
}

void examine_weights(const ReportInput& input, const Graph& quantized, bool per_tensor, QuantizeReport& report) {
  size_t wide = 0, worst_node = 0;
  double worst = 0;
  for (size_t n = 0; n < report.nodes.size(); ++n) {
    const Node& node = input.graph.nodes[n];
    if (!is_integer(input.plan[n].precision) || !is_weight_product(input.graph, node)) continue;
    QuantizeReport::Node& row = report.nodes[n];
    note_weight_ranges(input.graph, node, row);
    const double spread = channel_spread(row);
    wide += spread >= kWideSpread ? 1 : 0;
    if (spread > worst) worst = spread, worst_node = n;
  }
  if (wide > 0) {
    // One line for all: trained networks have some such products, and scales of their own are the cure.
    report.warnings.push_back(
        {std::to_string(wide) +
             " products have channels whose weights differ in size by a factor of 1000 or more, the worst " +
             node_label(input.graph, input.graph.nodes[worst_node]) + " by " + number(worst),
         per_tensor ? "take --weights per-channel, with which small channels keep their resolution"
                    : "kept apart by per-channel scales",
         "weight-spread", input.graph.nodes[worst_node].name, false, !per_tensor});
  }
  const std::vector<int> producers = producers_of(quantized);
  for (const Node& node : quantized.nodes) {
    const double share = accumulator_share(quantized, producers, node);
    if (share <= kNarrowMargin) continue;
    report.warnings.push_back(
        {node_label(quantized, node) + ": its sums may use " + number(100 * share) + " % of int32",
         "safe: the bound is checked and cannot be passed; a bias that large beside its weights hints at a faulty "
         "model",
         "int32-margin", node.name});
  }
}

void warn_about_validation(QuantizeReport& report) {
  if (!report.mixed_precision || report.mixed_precision->one_sample <= report.mixed_precision->max_drop) return;
  const QuantizeReport::MixedPrecision& m = *report.mixed_precision;
  report.warnings.push_back({"one of the " + std::to_string(m.samples) + " validation samples is " +
                                 number(m.one_sample) + " points, more than --max-drop " + number(m.max_drop),
                             "on other samples the drop will differ by a few of them; validate on more", "validation",
                             ""});
}

void warn_about_outputs(const Comparison& comparison, QuantizeReport& report) {
  const auto add = [&](const std::string& message, const std::string& advice) {
    report.warnings.push_back({message, advice, "degenerate-output", ""});
  };
  const size_t n = comparison.samples;
  if (comparison.not_finite > 0)
    add("the float model's outputs hold NaN or infinite values on " + std::to_string(comparison.not_finite) + " of " +
            std::to_string(n) + " samples",
        "check the preprocessing options and the model");
  if (n > 1 && comparison.same_outputs)
    add("the float model gives the same output for every sample", "check the preprocessing options and the samples");
  else if (n >= kEnoughForOneClass && comparison.float_classes == 1)
    add("the float model gives the same class for all " + std::to_string(n) + " samples compared",
        "check --mean, --std, --color and --layout: the model seems not to see what it was trained on");
}

}  // namespace lq::quantization
