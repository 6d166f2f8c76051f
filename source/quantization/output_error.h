// --method auto: how much a tensor's quantization changes the results of the products that read it.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "numerics/quant_params.h"
#include "quantization/param_groups.h"
#include "quantization/precision.h"
#include "quantization/weight_moments.h"

namespace lq::quantization {

class OutputError {
 public:
  /// All must outlive this. `columns` are those of `graph`'s nodes.
  OutputError(const Graph& graph, const PrecisionPlan& plan, const std::map<int, ProductColumns>& columns)
      : graph_(graph), plan_(plan), columns_(columns) {}

  /// Σ over the products that read a member of the group: Σ (w·(x̂ − x))² / Σ (w·x)² over their columns x, with float
  /// weights w and x̂ what `params` make of x. Nothing if no product reads the group, if another operator that computes
  /// does too (a sum's error is that of the tensor), or if a product saw too few columns to judge by.
  std::optional<double> of(const ParamGroup& group, const QuantParams& params) const;

 private:
  double relative_error(int node, const ProductColumns& columns, const QuantParams& params) const;

  const Graph& graph_;
  const PrecisionPlan& plan_;
  const std::map<int, ProductColumns>& columns_;
};

}  // namespace lq::quantization
