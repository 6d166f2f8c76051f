// Second moments of what a product's weights multiply: how much each rounding error of a weight, and each pair of them,
// counts in the product's result.
#pragma once
#include <map>
#include <vector>

#include "graph/graph.h"
#include "quantization/precision.h"
#include "quantization/tapped_run.h"

namespace lq::quantization {

/// Covariance of the inputs that the weights of one output channel see together (a column of im2col), over positions
/// and samples; one matrix a group of the convolution, [size, size] each, row-major, symmetric. Order of the columns:
/// that of one output channel's weights (input channel of the group, kernel row, kernel column). Means are taken out,
/// since bias correction removes what a mean error does.
struct WeightMoments {
  size_t size = 0, rows = 0;                    // of a column; columns seen
  std::vector<std::vector<double>> covariance;  // by group; empty: too few positions seen
};

/// For each int8 Conv (2-D), Gemm and MatMul of the plan whose weights are constants; others have none. The float model
/// runs on every sample; each contributes at most `positions` evenly spaced output positions. Sums are joined in sample
/// order in blocks of a fixed size, so they do not depend on the thread count.
Result<std::map<int, WeightMoments>> collect_moments(const ModelIr& model, const PrecisionPlan& plan,
                                                     const calibration::DataSource& source,
                                                     const MeasureOptions& options);

}  // namespace lq::quantization
