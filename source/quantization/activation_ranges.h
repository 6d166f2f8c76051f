// Calibration of the parameter groups: which tensors to watch, and from their statistics the parameters of each group.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibration/activation_params.h"
#include "calibration/collector.h"
#include "calibration/methods/method.h"
#include "quantization/output_error.h"
#include "quantization/param_groups.h"

namespace lq::quantization {

struct RangeOptions {
  calibration::MethodChoice method;
  calibration::ActivationMode mode = calibration::ActivationMode::kAuto;
  calibration::Target target = calibration::Target::kAny;
};

struct GroupRange {
  QuantParams params;    // of the group's type
  bool given = false;    // a plan gave the parameters themselves
  ValueRange observed;   // everything seen
  ValueRange threshold;  // what the parameters cover
  std::optional<double> clipped_share;
};

/// Statistics of one calibration.
struct Calibration {
  std::vector<TensorId> taps;
  calibration::Collection ranges;
  std::vector<calibration::Histogram> histograms;  // one a tap; none when the method needs ranges only
  /// Index of the tap, −1 when the tensor was not watched.
  int tap_of(TensorId id) const;
};

/// The calibrated tensor of each group without a fixed range, and the graph's float inputs. Sorted. `all_members`:
/// every tensor of every group, for precisions that are still to change: fewer int8 operators split groups, they need
/// no other tensors.
std::vector<TensorId> tensors_to_watch(const Graph& graph, const ParamGroups& groups, bool all_members = false);

Result<Calibration> calibrate(const ModelIr& model, const ParamGroups& groups, const RangeOptions& options,
                              const calibration::DataSource& source, const calibration::CollectorOptions& collector,
                              bool all_members = false);

/// Parameters of a range; of int16 before fit_int16_ranges() (short_ranges.h).
QuantParams params_of(DType dtype, ValueRange observed, ValueRange threshold, const RangeOptions& options);

/// --method auto.
bool is_auto(const RangeOptions& options);

/// One entry a group. With KL a graph input keeps its observed range: pixels are not the long-tailed activations KL is
/// made for. Results of the model are never clipped, by no method; int16 groups take all values seen. With `auto` the
/// group takes the threshold of mse, kl, minmax, percentile:99.99 or percentile:99.9 with the least `judge` error; mse
/// where that has no say. `judge` is for auto alone.
std::vector<GroupRange> choose_group_ranges(const ParamGroups& groups, const Calibration& calibration,
                                            const RangeOptions& options, const OutputError* judge = nullptr);

}  // namespace lq::quantization
