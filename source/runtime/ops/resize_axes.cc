#include "runtime/ops/resize_axes.h"

namespace lq {
namespace {

using schema::AspectPolicy;
using schema::CoordinateMode;

/// Scales of the axes the node names, in their order: the given ones, or sizes / in, made one for all by an aspect
/// policy.
Result<std::vector<Fraction>> given_scales(const OpPrepare& p, const std::vector<size_t>& axes) {
  const Shape& in = p.input(0).shape;
  std::vector<Fraction> scales;
  if (p.has_input(1)) {
    const std::optional<std::vector<float>> values = constant_floats(p.graph, p.node.inputs[1]);
    if (!values || values->size() != axes.size()) return unsupported("Resize needs constant scales, one an axis");
    for (float v : *values) {
      const std::optional<Fraction> f = simplest_fraction(v);
      if (!f || f->num < 1) return invalid_argument("Resize scale " + std::to_string(v) + " is out of range");
      scales.push_back(*f);
    }
    return scales;
  }
  const std::optional<std::vector<int64_t>> sizes =
      p.has_input(2) ? constant_ints(p.graph, p.node.inputs[2]) : std::nullopt;
  if (!sizes || sizes->size() != axes.size()) return unsupported("Resize needs constant scales or sizes, one an axis");
  for (size_t i = 0; i < axes.size(); ++i) {
    if ((*sizes)[i] < 1 || in[axes[i]] < 1) return invalid_argument("Resize to or from an empty axis");
    scales.push_back({(*sizes)[i], in[axes[i]]});
  }
  const AspectPolicy policy = attrs_as<schema::ResizeAttrsT>(p.node).aspect_policy;
  if (policy != AspectPolicy::Stretch) {
    Fraction best = scales[0];
    for (const Fraction& f : scales) {
      const bool smaller = f.num * best.den < best.num * f.den;
      const bool larger = f.num * best.den > best.num * f.den;
      if (policy == AspectPolicy::NotLarger ? smaller : larger) best = f;
    }
    scales.assign(axes.size(), best);
  }
  return scales;
}

}  // namespace

bool is_identity(const ResampleAxis& axis) {
  const bool cropped =
      axis.mode == CoordinateMode::TfCropAndResize && (axis.roi_start.num != 0 || axis.roi_end.num != axis.roi_end.den);
  return !cropped && axis.in == axis.out && axis.scale.num == axis.scale.den;
}

ResampleKernel resize_kernel(const schema::ResizeAttrsT& attrs) {
  ResampleKernel kernel;
  kernel.cubic = attrs.mode == schema::ResizeMode::Cubic;
  kernel.cubic_a = double(attrs.cubic_coeff_a);
  kernel.exclude_outside = attrs.exclude_outside;
  kernel.antialias = attrs.antialias;
  return kernel;
}

Result<std::vector<ResampleAxis>> resize_axes(const OpPrepare& p) {
  const schema::ResizeAttrsT& attrs = attrs_as<schema::ResizeAttrsT>(p.node);
  const Shape& in = p.input(0).shape;
  const Shape& out = p.output(0).shape;
  const size_t rank = in.size();
  std::vector<size_t> axes;
  for (int32_t a : attrs.axes) {
    LQ_ASSIGN_OR_RETURN(const int axis, normalize_axis(a, rank));
    axes.push_back(size_t(axis));
  }
  for (size_t i = 0; attrs.axes.empty() && i < rank; ++i) axes.push_back(i);
  if (out.size() != rank || axes.empty())
    return invalid_argument("Resize of shape " + shape_string(in) + " to " + shape_string(out));
  LQ_ASSIGN_OR_RETURN(const std::vector<Fraction> scales, given_scales(p, axes));

  std::vector<ResampleAxis> result(rank);
  for (size_t i = 0; i < rank; ++i) {
    result[i].in = in[i];
    result[i].out = out[i];
    result[i].scale = {1, 1};
  }
  const bool crop = attrs.coordinate_mode == CoordinateMode::TfCropAndResize;
  if (crop && attrs.roi.size() != 2 * axes.size()) {
    return invalid_argument("tf_crop_and_resize needs a region of interest of two values an axis");
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResampleAxis& axis = result[axes[i]];
    axis.scale = scales[i];
    axis.mode = attrs.coordinate_mode;
    if (!crop) continue;
    const std::optional<Fraction> start = simplest_fraction(attrs.roi[i]),
                                  end = simplest_fraction(attrs.roi[axes.size() + i]);
    if (!start || !end) return invalid_argument("a region of interest of Resize is out of range");
    axis.roi_start = *start;
    axis.roi_end = *end;
  }
  return result;
}

}  // namespace lq
