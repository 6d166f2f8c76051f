// Resize: output extents from scales or sizes.
#include <cmath>

#include "graph/geometry.h"
#include "graph/ops_common.h"

namespace lq {
namespace {

using schema::ResizeAttrsT;

Status check_resize(const Node& node) {
  const auto& a = attrs_as<ResizeAttrsT>(node);
  if (a.mode > schema::ResizeMode::MAX || a.coordinate_mode > schema::CoordinateMode::MAX ||
      a.nearest_mode > schema::NearestMode::MAX || a.aspect_policy > schema::AspectPolicy::MAX) {
    return invalid_argument("unknown mode, coordinate_mode, nearest_mode or aspect_policy");
  }
  if (a.cubic_coeff_a - a.cubic_coeff_a != 0) return invalid_argument("cubic_coeff_a is not finite");
  for (float r : a.roi) {
    if (r - r != 0) return invalid_argument("roi is not finite");
  }
  return {};
}

/// Length factor of the crop along entry i of roi (starts first, then ends); 1 unless the mode crops.
float crop_factor(const ResizeAttrsT& a, size_t i, size_t count) {
  if (a.coordinate_mode != schema::CoordinateMode::TfCropAndResize || a.roi.size() != 2 * count) return 1.0f;
  return a.roi[count + i] - a.roi[i];
}

/// ONNX keep_aspect_ratio: the smallest (not_larger) or largest (not_smaller) ratio for all, extents rounded half up.
void keep_aspect(const ResizeAttrsT& a, const Shape& x, const std::vector<int>& axes, const std::vector<int64_t>& sizes,
                 Shape& out) {
  float scale = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const float ratio = float(sizes[i]) / float(x[size_t(axes[i])]);
    const bool better = a.aspect_policy == schema::AspectPolicy::NotLarger ? ratio < scale : ratio > scale;
    if (i == 0 || better) scale = ratio;
  }
  for (int axis : axes) {
    const double extent = std::floor(double(scale * float(x[size_t(axis)])) + 0.5);
    const bool representable = extent >= 0 && extent <= double(InferContext::kMaxDim);  // an empty x gives inf or NaN
    out[size_t(axis)] = representable ? int64_t(extent) : InferContext::kMaxDim + 1;    // refused as too large
  }
}

Result<std::vector<int>> resized_axes(const ResizeAttrsT& a, size_t rank) {
  std::vector<int> axes;
  if (a.axes.empty()) {
    for (size_t i = 0; i < rank; ++i) axes.push_back(int(i));
    return axes;
  }
  std::vector<bool> seen(rank);
  for (int32_t v : a.axes) {
    LQ_ASSIGN_OR_RETURN(const int axis, normalize_axis(v, rank));
    if (seen[size_t(axis)]) return invalid_argument("axis " + std::to_string(v) + " is given twice");
    seen[size_t(axis)] = true;
    axes.push_back(axis);
  }
  return axes;
}

}  // namespace

Result<Shape> resize_shape(const ResizeAttrsT& attrs, const Shape& x, const std::vector<float>* scales,
                           const std::vector<int64_t>* sizes) {
  LQ_ASSIGN_OR_RETURN(const std::vector<int> axes, resized_axes(attrs, x.size()));
  const size_t given = scales ? scales->size() : sizes->size();
  if (given != axes.size()) {
    return invalid_argument((scales ? "scales has " : "sizes has ") + std::to_string(given) + " entries, expected " +
                            std::to_string(axes.size()));
  }
  if (!attrs.roi.empty() && attrs.roi.size() != 2 * axes.size()) {
    return invalid_argument("roi has " + std::to_string(attrs.roi.size()) + " entries, expected " +
                            std::to_string(2 * axes.size()));
  }
  Shape out = x;
  bool known = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t& dim = out[size_t(axes[i])];
    known &= dim >= 0;
    if (scales) {
      const float s = (*scales)[i];
      if (!(s > 0) || s - s != 0) return invalid_argument("scale " + std::to_string(s) + " is not positive and finite");
      if (dim < 0) {
        if (s == 1.0f && crop_factor(attrs, i, axes.size()) == 1.0f) continue;
        dim = kUnknownDim;
        continue;
      }
      // ONNX: floor(extent · crop · scale), in float as its implementations have it.
      const double extent = std::floor(double(float(dim) * crop_factor(attrs, i, axes.size()) * s));
      if (!(extent >= 0) || extent > double(InferContext::kMaxDim))
        return invalid_argument("scale " + std::to_string(s) + " gives no legal extent");
      dim = int64_t(extent);
    } else {
      const int64_t size = (*sizes)[i];
      if (size < 0 || size > InferContext::kMaxDim)
        return invalid_argument("size " + std::to_string(size) + " is out of range");
      dim = size;
    }
  }
  if (sizes && attrs.aspect_policy != schema::AspectPolicy::Stretch) {
    for (int axis : axes) {
      if (!known) out[size_t(axis)] = kUnknownDim;
      if (x[size_t(axis)] == 0) return invalid_argument("input " + shape_string(x) + " is empty");
    }
    if (known) keep_aspect(attrs, x, axes, *sizes, out);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 0 && out[i] > 0)
      return invalid_argument("an empty axis cannot be resized to " + std::to_string(out[i]));
  }
  return out;
}

namespace {

Status infer_resize(InferContext& c) {
  const bool by_scales = c.has_input(1), by_sizes = c.has_input(2);
  if (by_scales == by_sizes) return invalid_argument("needs exactly one of scales and sizes");
  if (by_scales) LQ_RETURN_IF_ERROR(expect_dtype(c, 1, DType::Float32));
  if (by_sizes && !is_index_dtype(c.dtype(2))) return invalid_argument("sizes must be integers");
  if (!c.ranked(0)) {
    c.set_unranked(0, c.dtype(0));
    return {};
  }
  std::optional<std::vector<float>> scales;
  std::optional<std::vector<int64_t>> sizes;
  if (by_scales) scales = c.floats(1);
  if (by_sizes) sizes = c.ints(2);
  if (!scales && !sizes) {
    Shape out(c.shape(0).size(), kUnknownDim);
    const auto& axes = attrs_as<ResizeAttrsT>(c.node()).axes;
    if (!axes.empty()) {
      out = c.shape(0);
      for (int32_t v : axes) {
        LQ_ASSIGN_OR_RETURN(const int axis, normalize_axis(v, out.size()));
        out[size_t(axis)] = kUnknownDim;
      }
    }
    c.set_output(0, c.dtype(0), std::move(out));
    return {};
  }
  LQ_ASSIGN_OR_RETURN(Shape out, resize_shape(attrs_as<ResizeAttrsT>(c.node()), c.shape(0), scales ? &*scales : nullptr,
                                              sizes ? &*sizes : nullptr));
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

constexpr OpDef kOps[] = {
    {Op::Resize, 1, 3, 1, 1, planning({1, 2}), QuantRule::kResize, LayoutRule::kSame, schema::Attrs::ResizeAttrs,
     infer_resize, check_resize},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> resize_ops() { return kBuiltOps; }

}  // namespace lq
