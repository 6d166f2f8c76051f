// Linear and cubic Resize of int8 values by docs/NUMERICS.md, "Resize": one flat sum over the taps of all axes.
#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lq::reference {

struct ResizeSums {
  // One an output element: Σ Π weight · (q − zp), exact; nothing where the position lies outside a cropped region and
  // gets the extrapolation value.
  std::vector<std::optional<int64_t>> sums;
  double unit = 1;  // what the weights of one output add up to: 2048 for each resized axis
};

Result<ResizeSums> resize_sums(const Graph& graph, const Node& node, const Tensor& x, const Shape& out, int32_t zero_point);

}  // namespace lq::reference
