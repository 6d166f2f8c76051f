// Index arithmetic that shape functions, runtime and reference share, besides the window geometry of op_def.h.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lq {

/// One axis of a Slice: elements start, start + step, … (count of them), all inside the axis.
struct SliceRange {
  int64_t start = 0, step = 1, count = 0;
};
/// ONNX rules: negative start and end count from the end, then both are clamped. `step` must not be 0.
SliceRange slice_range(int64_t dim, int64_t start, int64_t end, int64_t step);

/// Elements of Split's output i of n without explicit sizes: equal parts, the last one smaller (opset 18).
/// kInvalidArgument when nothing is left for the last ones.
Result<std::vector<int64_t>> even_split(int64_t dim, size_t parts);

/// Output extents of Resize for a known input (one entry an axis of x), from scales or, when those are null, from
/// sizes. Both are given for all axes, or for attrs.axes only.
Result<Shape> resize_shape(const schema::ResizeAttrsT& attrs, const Shape& x, const std::vector<float>* scales,
                           const std::vector<int64_t>* sizes);

/// Number of elements of Range.
Result<int64_t> range_count(int64_t start, int64_t limit, int64_t delta);
Result<int64_t> range_count(double start, double limit, double delta);

/// A parsed Einsum equation. One label an axis; letters are their character code, the axes an ellipsis stands for are
/// kEllipsis + (position counted from the right), so that they broadcast like numpy's.
struct EinsumEquation {
  static constexpr int kEllipsis = 256;
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
};
/// `ranks`: of the operands. Without "->" the output is the ellipsis and every letter that occurs once, in ASCII order.
Result<EinsumEquation> parse_einsum(const std::string& equation, const std::vector<size_t>& ranks);

}  // namespace lq
