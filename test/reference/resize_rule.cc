#include "reference/resize_rule.h"

#include "numerics/resample.h"

namespace lq::reference {
namespace {

/// Taps of one axis: for each output position the input indices and their weights; outside: extrapolated.
struct Axis {
  struct Position {
    std::vector<std::pair<int64_t, int64_t>> taps;  // (input index, Q11 weight)
    bool outside = false;
  };
  std::vector<Position> positions;
  double unit = 1;
};

/// Scale of each axis of x as an exact fraction; 1 for those the node does not name.
Result<std::vector<Fraction>> axis_scales(const Graph& graph, const Node& node, const Shape& in, const std::vector<size_t>& axes) {
  const auto& attrs = attrs_as<schema::ResizeAttrsT>(node);
  std::vector<Fraction> scales(in.size());
  for (Fraction& f : scales) f = {1, 1};
  const auto given = constant_floats(graph, node.input(1));
  const auto sizes = given ? std::nullopt : constant_ints(graph, node.input(2));
  if (!given && !sizes) return unsupported("Resize without constant scales or sizes");
  std::optional<Fraction> one_for_all;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (given) {
      const auto f = simplest_fraction((*given)[i]);
      if (!f) return unsupported("Resize scale out of range");
      scales[axes[i]] = *f;
      continue;
    }
    const Fraction f{(*sizes)[i], in[axes[i]]};
    scales[axes[i]] = f;
    if (attrs.aspect_policy == schema::AspectPolicy::Stretch) continue;
    const bool less = one_for_all && f.num * one_for_all->den < one_for_all->num * f.den;
    if (!one_for_all || less == (attrs.aspect_policy == schema::AspectPolicy::NotLarger)) one_for_all = f;
  }
  if (one_for_all) {
    for (size_t a : axes) scales[a] = *one_for_all;
  }
  return scales;
}

Result<Axis> sampled_axis(const schema::ResizeAttrsT& attrs, const ResampleAxis& axis) {
  Axis result;
  const bool whole = axis.mode != schema::CoordinateMode::TfCropAndResize || (axis.roi_start.num == 0 && axis.roi_end.num == axis.roi_end.den);
  if (whole && axis.in == axis.out && axis.scale.num == axis.scale.den) {
    for (int64_t i = 0; i < axis.in; ++i) result.positions.push_back({{{i, 1}}, false});
    return result;
  }
  ResampleKernel kernel;
  kernel.cubic = attrs.mode == schema::ResizeMode::Cubic;
  kernel.cubic_a = double(attrs.cubic_coeff_a);
  kernel.exclude_outside = attrs.exclude_outside;
  kernel.antialias = attrs.antialias;
  LQ_ASSIGN_OR_RETURN(const ResampleTaps t, resample_taps(axis, kernel));
  for (int64_t i = 0; i < axis.out; ++i) {
    Axis::Position p;
    for (int k = 0; k < t.taps; ++k) {
      p.taps.emplace_back(t.index[size_t(i * t.taps + k)], t.weight[size_t(i * t.taps + k)]);
    }
    p.outside = !t.outside.empty() && t.outside[size_t(i)] != 0;
    result.positions.push_back(std::move(p));
  }
  result.unit = 2048;
  return result;
}

}  // namespace

Result<ResizeSums> resize_sums(const Graph& graph, const Node& node, const Tensor& x, const Shape& out, int32_t zero_point) {
  const auto& attrs = attrs_as<schema::ResizeAttrsT>(node);
  const Shape in = x.shape;
  const size_t rank = in.size();
  std::vector<size_t> axes;
  for (int a : attrs.axes) axes.push_back(size_t(a < 0 ? a + int(rank) : a));
  for (size_t a = 0; attrs.axes.empty() && a < rank; ++a) axes.push_back(a);
  LQ_ASSIGN_OR_RETURN(const std::vector<Fraction> scales, axis_scales(graph, node, in, axes));

  ResizeSums result;
  std::vector<Axis> sampled(rank);
  for (size_t a = 0; a < rank; ++a) {
    ResampleAxis axis;
    axis.in = in[a], axis.out = out[a], axis.scale = scales[a];
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != a) continue;
      axis.mode = attrs.coordinate_mode;
      if (axis.mode != schema::CoordinateMode::TfCropAndResize) continue;
      axis.roi_start = simplest_fraction(attrs.roi[i]).value();
      axis.roi_end = simplest_fraction(attrs.roi[axes.size() + i]).value();
    }
    LQ_ASSIGN_OR_RETURN(sampled[a], sampled_axis(attrs, axis));
    result.unit *= sampled[a].unit;
  }

  const int8_t* q = x.data.as<int8_t>();
  for (int64_t flat = 0; flat < element_count(out); ++flat) {
    // Every combination of one tap an axis: (input offset, product of weights).
    std::vector<std::pair<int64_t, int64_t>> terms{{0, 1}};
    int64_t rest = flat, stride = 1;
    bool outside = false;
    for (size_t a = rank; a-- > 0;) {
      const Axis::Position& position = sampled[a].positions[size_t(rest % out[a])];
      std::vector<std::pair<int64_t, int64_t>> more;
      for (auto [offset, weight] : terms)
        for (auto [index, w] : position.taps) more.emplace_back(offset + index * stride, weight * w);
      terms = std::move(more);
      outside |= position.outside;
      rest /= out[a];
      stride *= in[a];
    }
    int64_t sum = 0;
    for (auto [offset, weight] : terms) sum += weight * (q[offset] - zero_point);
    result.sums.push_back(outside ? std::nullopt : std::optional<int64_t>(sum));
  }
  return result;
}

}  // namespace lq::reference
