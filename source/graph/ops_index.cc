// Operators that pick or add elements along axes: Split, Slice, Gather, Pad.
#include <algorithm>

#include "graph/geometry.h"
#include "graph/ops_common.h"

namespace lq {

SliceRange slice_range(int64_t dim, int64_t start, int64_t end, int64_t step) {
  // A negative index counts from the end; INT64_MIN ("before the beginning") must not wrap when dim is added.
  auto from_end = [dim](int64_t v) { return v < 0 ? std::max(v, -dim - 1) + dim : v; };
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
  SliceRange r;
  r.start = std::clamp(from_end(start), step > 0 ? int64_t(0) : std::min<int64_t>(0, high), std::max(high, low));
  const int64_t stop = std::clamp(from_end(end), low, std::max(high, low));
  r.step = step;
  const int64_t distance = step > 0 ? stop - r.start : r.start - stop;
  if (distance > 0 && dim > 0) {
    // −INT64_MIN does not exist: any step longer than the axis takes one element.
    const uint64_t stride = step > 0 ? uint64_t(step) : uint64_t(0) - uint64_t(step);
    r.count = 1 + int64_t((uint64_t(distance) - 1) / stride);
  }
  return r;
}

Result<std::vector<int64_t>> even_split(int64_t dim, size_t parts) {
  const int64_t n = int64_t(parts), each = (dim + n - 1) / n;
  std::vector<int64_t> sizes(parts, each);
  sizes.back() = dim - each * (n - 1);
  if (sizes.back() < 0)
    return invalid_argument("an axis of " + std::to_string(dim) + " cannot be split into " + std::to_string(parts));
  return sizes;
}

namespace {

Status infer_split(InferContext& c) {
  const size_t parts = c.node().outputs.size();
  if (!c.ranked(0)) {
    for (size_t i = 0; i < parts; ++i) c.set_unranked(i, c.dtype(0));
    return {};
  }
  Shape out = c.shape(0);
  LQ_ASSIGN_OR_RETURN(const int axis, normalize_axis(attrs_as<schema::AxisAttrsT>(c.node()).axis, out.size()));
  const int64_t dim = out[size_t(axis)];
  std::vector<int64_t> sizes(parts, kUnknownDim);
  if (c.has_input(1)) {
    if (!is_index_dtype(c.dtype(1))) return invalid_argument("sizes must be integers");
    if (const auto given = c.ints(1)) {
      if (given->size() != parts)
        return invalid_argument(std::to_string(given->size()) + " sizes for " + std::to_string(parts) + " outputs");
      int64_t total = 0;
      for (int64_t s : *given) {
        if (s < 0) return invalid_argument("size " + std::to_string(s) + " is negative");
        LQ_ASSIGN_OR_RETURN(total, add_dims(total, s));
      }
      LQ_RETURN_IF_ERROR(same_dim(total, dim, "sum of the sizes and the axis"));
      sizes = *given;
    }
  } else if (dim >= 0) {
    LQ_ASSIGN_OR_RETURN(sizes, even_split(dim, parts));
  }
  for (size_t i = 0; i < parts; ++i) {
    out[size_t(axis)] = sizes[i];
    c.set_output(i, c.dtype(0), out);
  }
  return {};
}

/// Axes of Slice: the input, or 0, 1, … as many as `count`. Normalized; a repeated one is refused.
Result<std::vector<int>> slice_axes(const std::vector<int64_t>* given, size_t count, size_t rank) {
  if (given && given->size() != count) return invalid_argument("starts, ends, axes and steps differ in length");
  std::vector<int> axes;
  for (size_t i = 0; i < count; ++i) {
    LQ_ASSIGN_OR_RETURN(const int axis, normalize_axis(given ? (*given)[i] : int64_t(i), rank));
    if (std::find(axes.begin(), axes.end(), axis) != axes.end())
      return invalid_argument("axis " + std::to_string(axis) + " is given twice");
    axes.push_back(axis);
  }
  return axes;
}

Status infer_slice(InferContext& c) {
  for (size_t i = 1; i < c.input_count(); ++i) {
    if (c.has_input(i) && !is_index_dtype(c.dtype(i)))
      return invalid_argument("starts, ends, axes and steps must be integers");
  }
  if (!c.ranked(0)) {
    c.set_unranked(0, c.dtype(0));
    return {};
  }
  Shape out = c.shape(0);
  const auto starts = c.ints(1), ends = c.ints(2);
  std::optional<std::vector<int64_t>> axes_given, steps;
  if (c.has_input(3)) axes_given = c.ints(3);
  if (c.has_input(4)) steps = c.ints(4);
  // Without the axes any dim may change; with them only theirs.
  if ((c.has_input(3) && !axes_given) || (!starts && !axes_given)) {
    c.set_output(0, c.dtype(0), Shape(out.size(), kUnknownDim));
    return {};
  }
  const size_t count = starts ? starts->size() : axes_given->size();
  LQ_ASSIGN_OR_RETURN(const std::vector<int> axes, slice_axes(axes_given ? &*axes_given : nullptr, count, out.size()));
  const bool known = starts && ends && (!c.has_input(4) || steps);
  if (known && (ends->size() != count || (steps && steps->size() != count))) {
    return invalid_argument("starts, ends, axes and steps differ in length");
  }
  for (size_t i = 0; i < count; ++i) {
    int64_t& dim = out[size_t(axes[i])];
    if (!known || dim < 0) {
      dim = kUnknownDim;
      continue;
    }
    const int64_t step = steps ? (*steps)[i] : 1;
    if (step == 0) return invalid_argument("step 0");
    dim = slice_range(dim, (*starts)[i], (*ends)[i], step).count;
  }
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_gather(InferContext& c) {
  if (!is_index_dtype(c.dtype(1))) return invalid_argument("indices must be integers");
  if (!c.ranked(0) || !c.ranked(1)) {
    c.set_unranked(0, c.dtype(0));
    return {};
  }
  const Shape& x = c.shape(0);
  LQ_ASSIGN_OR_RETURN(const int axis, normalize_axis(attrs_as<schema::AxisAttrsT>(c.node()).axis, x.size()));
  const int64_t dim = x[size_t(axis)];
  if (const auto indices = c.ints(1); indices && dim >= 0) {
    for (int64_t i : *indices) {
      if (i < -dim || i >= dim)
        return invalid_argument("index " + std::to_string(i) + " is out of range for an axis of " +
                                std::to_string(dim));
    }
  }
  Shape out(x.begin(), x.begin() + axis);
  out.insert(out.end(), c.shape(1).begin(), c.shape(1).end());
  out.insert(out.end(), x.begin() + axis + 1, x.end());
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

Status check_pad(const Node& node) {
  const auto mode = attrs_as<schema::PadAttrsT>(node).mode;
  if (mode > schema::PadMode::MAX) return invalid_argument("unknown mode " + std::to_string(int(mode)));
  return {};
}

/// One axis after padding; negative pads crop.
Result<int64_t> padded_dim(int64_t dim, int64_t begin, int64_t end, schema::PadMode mode) {
  constexpr int64_t kMax = InferContext::kMaxDim;
  if (begin > kMax || end > kMax || begin < -kMax || end < -kMax) return invalid_argument("a pad is out of range");
  if (dim < 0) return kUnknownDim;
  const int64_t out = dim + begin + end;
  if (out < 0)
    return invalid_argument("pads " + std::to_string(begin) + ", " + std::to_string(end) +
                            " crop more than the axis of " + std::to_string(dim));
  if (mode == schema::PadMode::Reflect && std::max(begin, end) > 0 && std::max(begin, end) >= dim) {
    return invalid_argument("reflect needs pads smaller than the axis of " + std::to_string(dim));
  }
  // What is copied must exist after cropping the other side.
  const int64_t left = dim + std::min<int64_t>(begin, 0) + std::min<int64_t>(end, 0);
  if (mode != schema::PadMode::Constant && (begin > 0 || end > 0) && left <= 0)
    return invalid_argument("nothing to pad from on an empty axis");
  return out;
}

Status infer_pad(InferContext& c) {
  if (!is_index_dtype(c.dtype(1)) || (c.has_input(3) && !is_index_dtype(c.dtype(3))))
    return invalid_argument("pads and axes must be integers");
  if (c.has_input(2)) {
    LQ_RETURN_IF_ERROR(same_dtype(c, 0, 2));
    LQ_RETURN_IF_ERROR(expect_single(c, 2));
  }
  if (!c.ranked(0)) {
    c.set_unranked(0, c.dtype(0));
    return {};
  }
  Shape out = c.shape(0);
  const auto pads = c.ints(1);
  std::optional<std::vector<int64_t>> axes_given;
  if (c.has_input(3)) axes_given = c.ints(3);
  if (!pads || (c.has_input(3) && !axes_given)) {
    c.set_output(0, c.dtype(0), Shape(out.size(), kUnknownDim));
    return {};
  }
  const size_t count = axes_given ? axes_given->size() : out.size();
  if (pads->size() != 2 * count) {
    return invalid_argument("pads has " + std::to_string(pads->size()) + " entries, expected " +
                            std::to_string(2 * count));
  }
  LQ_ASSIGN_OR_RETURN(const std::vector<int> axes, slice_axes(axes_given ? &*axes_given : nullptr, count, out.size()));
  const auto mode = attrs_as<schema::PadAttrsT>(c.node()).mode;
  for (size_t i = 0; i < count; ++i) {
    int64_t& dim = out[size_t(axes[i])];
    LQ_ASSIGN_OR_RETURN(dim, padded_dim(dim, (*pads)[i], (*pads)[count + i], mode));
  }
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

constexpr auto kPass = QuantRule::kPassThrough;
constexpr auto kSame = LayoutRule::kSame;
constexpr OpDef kOps[] = {
    {Op::Split, 1, 2, 1, 255, planning({1}), kPass, kSame, schema::Attrs::AxisAttrs, infer_split, nullptr},
    {Op::Slice, 3, 5, 1, 1, planning({1, 2, 3, 4}), kPass, kSame, schema::Attrs::NONE, infer_slice, nullptr},
    {Op::Gather, 2, 2, 1, 1, 0, kPass, kSame, schema::Attrs::AxisAttrs, infer_gather, nullptr},
    {Op::Pad, 2, 4, 1, 1, planning({1, 3}), kPass, kSame, schema::Attrs::PadAttrs, infer_pad, check_pad},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> index_ops() { return kBuiltOps; }

}  // namespace lq
