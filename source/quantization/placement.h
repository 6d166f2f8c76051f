// Writes the decisions into the graph: explicit QuantizeLinear and DequantizeLinear, int8 weights, int32 bias.
#pragma once
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quantization/adaround.h"
#include "quantization/param_groups.h"
#include "quantization/precision.h"
#include "quantization/weights.h"

namespace lq::quantization {

/// What the report wants to know of each float node.
struct NodeNotes {
  int64_t raised_channels = 0;  // living channels whose weight scale was raised (bias.h)
  int64_t zero_channels = 0;    // output channels whose int8 weights are all zero
  std::string float_name,
      int8_name;               // its result in the graph as it was, and the float tensor that holds it now; empty: none
  bool float_output = false;   // a product that writes float
  std::string product_output;  // an int8 product: its result before any activation, the same name in both graphs
  size_t channel_from_right = 1;  // where that result's channels lie, counted from the right
  ValueRange passed{-std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::infinity()};  // of that result by the activation fused to it
};

struct PlacementInput {
  const PrecisionPlan* plan = nullptr;
  const ParamGroups* groups = nullptr;
  std::vector<QuantParams> params;                // one a group
  std::vector<std::optional<ValueRange>> ranges;  // one a group: what calibration saw (or the fixed range)
  WeightGranularity weights = WeightGranularity::kPerChannel;
  WeightScale weight_scale = WeightScale::kMax;
  const std::map<int, ProductColumns>* columns = nullptr;  // by node; given: AdaRound instead of nearest rounding
  int threads = 1;
};

/// Rewrites `graph`, whose tensor names must be unique. Meaning of the result: docs/NUMERICS.md. Shapes of new tensors
/// are those of the values they carry. `notes`: one entry a node of the graph as it was.
Status place_quantization(Graph& graph, const PlacementInput& input, std::vector<NodeNotes>& notes);

}  // namespace lq::quantization
