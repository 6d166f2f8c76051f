#include "quantization/short_ranges.h"

#include <algorithm>
#include <cmath>

#include "passes/product_weights.h"

namespace lq::quantization {
namespace {

/// Half a unit for the rounding of the bias, and what double sums of large terms may be off.
constexpr double kLargestAccumulator = 2147483647.0 - 2;

/// What one unit of q adds to the fullest accumulator of product `node` at most: Σ|q_w| + |b|/(T·s_w), where T is
/// the largest real value of the input.
double accumulator_per_unit(const Graph& graph, const Node& node, double largest, WeightGranularity granularity,
                            WeightScale how) {
  std::string reason;
  const auto view = passes::product_weights(graph, node, &reason);
  if (!view) return 0;
  const std::vector<float> values = *constant_floats(graph, view->weight);
  const std::vector<int32_t> channel = view->channel_of_element(graph.tensor(view->weight).shape);
  const std::vector<float> scale = weight_scales(values, channel, size_t(view->channels), granularity, how);
  const std::vector<int8_t> q = round_weights(values, channel, scale);
  std::vector<double> sum(size_t(view->channels), 0.0);
  for (size_t i = 0; i < q.size(); ++i) sum[size_t(channel[i])] += std::abs(double(q[i]));
  if (view->bias != kNoTensor) {
    const std::vector<double> bias = passes::bias_values(graph, node, *view);
    for (size_t c = 0; c < sum.size(); ++c) sum[c] += std::abs(bias[c]) / (largest * double(scale[c]));
  }
  return sum.empty() ? 0 : *std::max_element(sum.begin(), sum.end());
}

}  // namespace

float largest_magnitude(const std::vector<float>& values) {
  float largest = 0;
  for (float v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

QuantParams symmetric_int16_params(float largest, int32_t qmax) {
  const float scale = float(double(largest) / double(qmax));
  QuantParams params = per_tensor_params(DType::Int16, is_valid_scale(scale) ? scale : 1.0f, 0);
  params.qmin = -qmax, params.qmax = qmax;
  return params;
}

void fit_int16_ranges(const Graph& graph, const PrecisionPlan& plan, const ParamGroups& groups,
                      WeightGranularity granularity, WeightScale how, std::vector<GroupRange>& ranges) {
  std::vector<int32_t> qmax(ranges.size(), kLargestInt16);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (plan[n].precision != Precision::kInt16 || !is_weight_product(graph, node)) continue;
    const int g = groups.of(node.inputs[0], DType::Int16);
    const GroupRange& range = ranges[size_t(g)];
    const double largest = double(std::max(-range.threshold.min, range.threshold.max));
    if (!(largest > 0)) continue;
    const double unit = accumulator_per_unit(graph, node, largest, granularity, how);
    const double fits = std::floor(kLargestAccumulator / std::max(unit, 1.0));
    qmax[size_t(g)] = std::max(1, int32_t(std::min(double(qmax[size_t(g)]), fits)));
  }
  for (size_t g = 0; g < ranges.size(); ++g) {
    if (groups.groups()[g].dtype != DType::Int16 || ranges[g].given) continue;
    const ValueRange& t = ranges[g].threshold;
    ranges[g].params = symmetric_int16_params(std::max(-t.min, t.max), qmax[g]);
  }
}

}  // namespace lq::quantization
