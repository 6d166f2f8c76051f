// Second moments of what a product's weights multiply: how much each rounding error of a weight, and each pair of them,
// counts in the product's result.
#pragma once
#include <map>
#include <vector>

#include "graph/graph.h"
#include "quantization/precision.h"
#include "quantization/tapped_run.h"

namespace lq::quantization {

/// Inputs of a product, as its weights see them: some columns of im2col, all groups of one position after the other.
/// Order inside a column: that of one output channel's weights (input channel of the group, kernel row, kernel column).
struct ProductColumns {
  size_t groups = 0, size = 0;                // of the convolution; length of one group's column
  std::vector<std::vector<float>> of_sample;  // by sample: columns of groups · size values
  std::vector<const float*> rows() const;     // in sample order
};

/// Covariance of the inputs that the weights of one output channel see together, over positions and samples; one matrix
/// a group, [size, size] each, row-major, symmetric. Means are taken out, since bias correction removes what a mean
/// error does.
struct WeightMoments {
  size_t size = 0, rows = 0;                    // of a column; columns seen
  std::vector<std::vector<double>> covariance;  // by group
};

/// For each int8 Conv (2-D), Gemm and MatMul of the plan whose weights are constants, by node; others, and those that
/// saw too few positions, have none. The float model runs on every sample; each contributes at most 32 evenly spaced
/// output positions, fewer where columns are long: kMostColumnFloats in all.
Result<std::map<int, ProductColumns>> collect_columns(const ModelIr& model, const PrecisionPlan& plan,
                                                      const calibration::DataSource& source,
                                                      const MeasureOptions& options);

/// Made when needed, since these are the largest matrices of all. Each entry is a sum in the order of the rows: it does
/// not depend on the thread count.
Result<WeightMoments> moments_of(const ProductColumns& columns, int threads);

}  // namespace lq::quantization
