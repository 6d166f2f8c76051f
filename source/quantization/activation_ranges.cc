#include "quantization/activation_ranges.h"

#include <algorithm>

#include "quantization/short_ranges.h"

namespace lq::quantization {
namespace {

bool needs_histograms(const calibration::MethodChoice& method) {
  return method.row->threshold != calibration::minmax_threshold;
}

ValueRange with_zero(ValueRange range) { return {std::min(range.min, 0.0f), std::max(range.max, 0.0f)}; }

ValueRange with_value(ValueRange range, const std::optional<float>& value) {
  if (!value) return range;
  return {std::min(range.min, *value), std::max(range.max, *value)};
}

/// KL compares shapes of distributions and knows nothing of magnitudes: on sparse tensors with few large values, which
/// decide the result, it clips them away. It may clip only where that lowers the expected squared error.
bool clipping_costs_more(const calibration::Histogram& histogram, ValueRange threshold, int levels) {
  const double clipped = std::max(-double(threshold.min), double(threshold.max));
  return calibration::expected_squared_error(histogram, clipped, levels) >
         calibration::expected_squared_error(histogram, double(histogram.limit()), levels);
}

void choose_params(const ParamGroup& group, const RangeOptions& options, GroupRange& result) {
  result.observed = with_value(result.observed, group.must_hold);
  result.threshold = with_value(result.threshold, group.must_hold);
  result.params = params_of(group.dtype, result.observed, result.threshold, options);
}

/// int16 has steps enough for every value seen: nothing is clipped, whatever the method.
GroupRange whole_range(const ParamGroup& group, const Calibration& calibration) {
  GroupRange result;
  result.observed = calibration.ranges.stats[size_t(calibration.tap_of(group.calibrated))].range();
  result.threshold = with_zero(result.observed);
  result.clipped_share = 0;
  return result;
}

GroupRange measured_range(const ParamGroup& group, const Calibration& calibration, const RangeOptions& options) {
  const size_t tap = size_t(calibration.tap_of(group.calibrated));
  GroupRange result;
  result.observed = calibration.ranges.stats[tap].range();
  result.threshold = with_zero(result.observed);
  const bool is_kl = options.method.row->threshold == calibration::kl_threshold;
  if (!calibration.histograms.empty() && !group.is_result && !(group.is_graph_input && is_kl)) {
    const calibration::Histogram& histogram = calibration.histograms[tap];
    const int levels = calibration::levels_for(result.observed, options.mode, options.target);
    const std::vector<ValueRange> samples = calibration.ranges.samples_of(tap);
    result.threshold = calibration::compute_threshold(options.method, histogram, levels, &samples);
    if (is_kl && clipping_costs_more(histogram, result.threshold, levels))
      result.threshold = with_zero(result.observed);
    result.clipped_share = calibration::clipped_share(histogram, result.threshold);
  } else {
    result.clipped_share = 0;
  }
  return result;
}

/// The range whose quantization changes the results of the products that read the tensor least.
GroupRange best_range(const ParamGroup& group, const Calibration& calibration, const RangeOptions& options,
                      const OutputError& judge) {
  static constexpr const char* kCandidates[] = {"mse", "kl", "minmax", "percentile:99.99", "percentile:99.9"};
  std::optional<GroupRange> best;
  double least = 0;
  for (const char* name : kCandidates) {
    RangeOptions candidate = options;
    candidate.method = *calibration::parse_method(name);
    GroupRange range = measured_range(group, calibration, candidate);
    choose_params(group, options, range);
    const std::optional<double> error = judge.of(group, range.params);
    if (!error) return range;
    if (!best || *error < least) best = std::move(range), least = *error;
  }
  return *best;
}

}  // namespace

bool is_auto(const RangeOptions& options) { return std::string(options.method.row->name) == "auto"; }

QuantParams params_of(DType dtype, ValueRange observed, ValueRange threshold, const RangeOptions& options) {
  if (dtype != DType::Int16) return calibration::choose_params(observed, threshold, options.mode, options.target);
  return symmetric_int16_params(std::max(-threshold.min, threshold.max), kLargestInt16);
}

int Calibration::tap_of(TensorId id) const {
  const auto where = std::lower_bound(taps.begin(), taps.end(), id);
  return where != taps.end() && *where == id ? int(where - taps.begin()) : -1;
}

std::vector<TensorId> tensors_to_watch(const Graph& graph, const ParamGroups& groups, bool all_members) {
  std::vector<TensorId> ids;
  for (const ParamGroup& group : groups.groups()) {
    if (all_members) ids.insert(ids.end(), group.members.begin(), group.members.end());
    if (!group.fixed) ids.push_back(group.calibrated);
  }
  for (TensorId id : graph.inputs) {
    if (graph.tensor(id).dtype == DType::Float32) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Result<Calibration> calibrate(const ModelIr& model, const ParamGroups& groups, const RangeOptions& options,
                              const calibration::DataSource& source,
                              const calibration::CollectorOptions& collector_options, bool all_members) {
  Calibration result;
  result.taps = tensors_to_watch(model.main(), groups, all_members);
  LQ_ASSIGN_OR_RETURN(const auto collector, calibration::Collector::create(model, result.taps, collector_options));
  LQ_ASSIGN_OR_RETURN(result.ranges, collector->collect(source, needs_histograms(options.method)));
  for (size_t t = 0; t < result.ranges.histograms.size(); ++t) result.histograms.push_back(result.ranges.histogram(t));
  result.ranges.histograms = {};  // these are finer and larger
  return result;
}

std::vector<GroupRange> choose_group_ranges(const ParamGroups& groups, const Calibration& calibration,
                                            const RangeOptions& options, const OutputError* judge) {
  std::vector<GroupRange> ranges;
  for (const ParamGroup& group : groups.groups()) {
    GroupRange result;
    if (group.fixed) {
      result.observed = result.threshold = *group.fixed;
    } else if (group.dtype == DType::Int16) {
      result = whole_range(group, calibration);
    } else if (judge != nullptr && is_auto(options)) {
      result = best_range(group, calibration, options, *judge);
    } else {
      result = measured_range(group, calibration, options);
    }
    choose_params(group, options, result);
    ranges.push_back(std::move(result));
  }
  return ranges;
}

}  // namespace lq::quantization
