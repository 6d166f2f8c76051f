// The plan file (docs/PLAN.md): options, the precision of each operator and the range of each quantized tensor, as JSON
// a person can edit. Written from a finished quantization; read back, it gives the same bytes.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libquant/quantizer.hpp"
#include "quantization/activation_ranges.h"
#include "quantization/channel_balance.h"
#include "quantization/node_requests.h"
#include "quantization/param_groups.h"
#include "quantization/precision.h"

namespace lq::quantization {

/// What a plan says of one tensor: the values its parameters cover, or the parameters themselves, which then decide.
struct PlannedRange {
  std::optional<ValueRange> range;
  std::optional<ValueRange> observed;  // decides between symmetric and asymmetric; absent: `range`
  std::optional<QuantParams> params;
};

struct PlannedNode {
  std::string name, precision, reason;  // precision "int8", "int16" or "float"
  bool pinned = false;
  bool int8_parameters = false;
};

struct PlanFile {
  std::map<std::string, PlannedNode> nodes;  // by the name of the node's first output, which is unique
  std::map<std::pair<std::string, DType>, PlannedRange> tensors;  // by name and type, int8 or int16
  std::vector<ChannelFactors> channels;                           // to be applied before anything else
};

/// Reads `path`; its options replace those in `options` that decide the result (threads and folders stay). Errors name
/// the file and the key or entry.
Result<PlanFile> read_plan(const std::string& path, QuantizeOptions& options);

/// Lays the plan over the nodes' wishes. Errors: an entry for a tensor or node the graph does not have, int8 or
/// int16 for an operator without that form.
Status apply_plan(const Graph& graph, const PlanFile& plan, NodeRequests& requests);

/// Replaces the ranges the plan has. Returns how many groups the plan does not know (they keep what was measured).
size_t apply_plan_ranges(const Graph& graph, const ParamGroups& groups, const PlanFile& plan,
                         const RangeOptions& options, std::vector<GroupRange>& ranges);

/// The plan of a finished quantization. Tensors are written as min, max and observed; parameters are written too where
/// those do not give them.
std::string write_plan(const QuantizeOptions& options, const Graph& graph, const PrecisionPlan& plan,
                       const std::vector<ChannelFactors>& channels, const ParamGroups& groups,
                       const std::vector<GroupRange>& ranges, const RangeOptions& range_options);

}  // namespace lq::quantization
