#include "quantization/float_share.h"

#include <algorithm>
#include <cmath>

namespace lq::quantization {
namespace {

constexpr double kLeastGainDb = 0.5;
constexpr double kLeastShareOfError = 0.01;  // of one layer: below it is chance

double decibel(double relative_error) { return -10 * std::log10(std::max(relative_error, 1e-20)); }

/// Constant values an operator reads: what float stores in four bytes for one.
double constants_of(const Graph& graph, const Node& node) {
  double count = 0;
  for (TensorId t : node.inputs) {
    if (t != kNoTensor && graph.tensor(t).is_constant()) count += double(element_count(graph.tensor(t).shape));
  }
  return count;
}

}  // namespace

Result<std::optional<FloatShare>> find_float_share(const SensitivityInput& input, double share) {
  LQ_ASSIGN_OR_RETURN(const std::vector<Layer> all, find_layers(input));
  const Graph& graph = input.float_model->main();
  const auto weights_of = [&](const Layer& layer) { return constants_of(graph, graph.nodes[layer.node]); };
  double macs = 0, weights = 0;
  for (const Layer& layer : all) macs += layer.macs, weights += weights_of(layer);
  std::vector<Layer> layers;
  for (const Layer& layer : all) {
    if (layer.macs > 0 && layer.macs <= share * macs && weights_of(layer) <= share * weights) layers.push_back(layer);
  }
  if (layers.empty()) return std::optional<FloatShare>();
  LQ_ASSIGN_OR_RETURN(const FloatOutputs reference, float_outputs(input));
  LQ_ASSIGN_OR_RETURN(const double whole, output_error(input, reference, *input.wishes));
  FloatShare result;
  result.before_db = decibel(whole);
  result.samples = input.samples->size();
  if (result.before_db >= kHeldDb) return std::optional<FloatShare>();
  LQ_RETURN_IF_ERROR(measure_sensitivity(input, reference, whole, layers, false));
  std::stable_sort(layers.begin(), layers.end(),
                   [](const Layer& a, const Layer& b) { return a.gain * b.macs > b.gain * a.macs; });
  double spent = 0, stored = 0;
  for (const Layer& layer : layers) {
    if (layer.gain < kLeastShareOfError * whole || spent + layer.macs > share * macs) continue;
    if (stored + weights_of(layer) > share * weights) continue;
    spent += layer.macs, stored += weights_of(layer);
    result.nodes.push_back(layer.node);
  }
  if (result.nodes.empty()) return std::optional<FloatShare>();
  std::sort(result.nodes.begin(), result.nodes.end());
  result.mac_share = spent / macs;
  const NodeRequests wishes = with_float(*input.wishes, result.nodes, "measured");
  LQ_ASSIGN_OR_RETURN(const double rest, output_error(input, reference, wishes));
  result.after_db = decibel(rest);
  if (result.after_db < result.before_db + kLeastGainDb) return std::optional<FloatShare>();
  return std::optional<FloatShare>(std::move(result));
}

}  // namespace lq::quantization
