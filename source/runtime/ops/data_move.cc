// Concat, Split, Slice, Transpose, Expand, Tile, DepthToSpace, SpaceToDepth: strided copies over static shapes.
#include "runtime/ops/blocked.h"
#include "runtime/ops/channel_move.h"
#include "runtime/ops/data_copy.h"

namespace lq {
namespace {

Status require_linear(const OpPrepare& p) {
  for (TensorId id : p.node.inputs) {
    if (id != kNoTensor && p.graph.tensor(id).blocked_axis != -1)
      return internal_error("blocked input of a linear operator");
  }
  for (TensorId id : p.node.outputs) {
    if (id != kNoTensor && p.graph.tensor(id).blocked_axis != -1)
      return internal_error("blocked output of a linear operator");
  }
  return {};
}

// A reshape of x to `split`, a permutation of its axes, a reshape to y: one copy.
Status copy_permuted(OpPrepare& p, const Shape& split, const std::vector<size_t>& perm, const char* name) {
  LQ_RETURN_IF_ERROR(require_linear(p));
  const std::vector<int64_t> own = row_major_strides(split);
  Shape dims(perm.size());
  std::vector<int64_t> from(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    dims[i] = split[perm[i]];
    from[i] = own[perm[i]];
  }
  CopyParams& params = p.make_params<CopyParams>();
  LQ_RETURN_IF_ERROR(add_copy(params, {}, dims, row_major_strides(dims), from));
  return finish_copy(p, params, name);
}

/// Channels start, start + step, …, one for each of y.
std::vector<ChannelRef> channel_row(int32_t input, int64_t start, int64_t step, int64_t count) {
  std::vector<ChannelRef> row;
  for (int64_t i = 0; i < count; ++i) row.push_back({input, int32_t(start + i * step)});
  return row;
}

Status concat_channels(OpPrepare& p) {
  ChannelMap map(1);
  for (size_t i = 0; i < p.node.inputs.size(); ++i) {
    if (!p.has_input(i)) return invalid_argument("an input of Concat is absent");
    if (p.input(i).shape.size() != p.output(0).shape.size()) return invalid_argument("inputs of Concat differ in rank");
    const std::vector<ChannelRef> row = channel_row(int32_t(i), 0, 1, p.input(i).shape[1]);
    map[0].insert(map[0].end(), row.begin(), row.end());
  }
  return prepare_channel_move(p, std::move(map));
}

/// Extents along the axis, by output. Without given sizes: equal pieces, the last one smaller when it does not divide.
Result<std::vector<int64_t>> split_sizes(const OpPrepare& p, size_t axis) {
  const int64_t whole = p.input(0).shape[axis], count = int64_t(p.node.outputs.size());
  const std::optional<std::vector<int64_t>> given = constant_ints(p.graph, p.node.input(1));
  if (given && int64_t(given->size()) != count) return invalid_argument("Split has one size for each output");
  std::vector<int64_t> sizes;
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t size = given ? (*given)[size_t(i)] : std::min((whole + count - 1) / count, whole - at);
    if (size < 0 || size > whole - at) return invalid_argument("Split's sizes exceed the axis");
    sizes.push_back(size);
    at += size;
  }
  return sizes;
}

/// What Slice reads along one axis: `first`, first + step, …
struct SliceAxis {
  int64_t first = 0, step = 1;
};

/// By axis of the input.
Result<std::vector<SliceAxis>> slice_axes(const OpPrepare& p) {
  const Shape &x = p.input(0).shape, &y = p.output(0).shape;
  const auto starts = constant_ints(p.graph, p.node.input(1)), ends = constant_ints(p.graph, p.node.input(2));
  const auto axes = constant_ints(p.graph, p.node.input(3)), steps = constant_ints(p.graph, p.node.input(4));
  if (!starts || !ends) return invalid_argument("starts and ends of Slice must be known when the session is planned");
  const size_t count = starts->size(), rank = x.size();
  if (ends->size() != count || (axes && axes->size() != count) || (steps && steps->size() != count) || count > rank) {
    return invalid_argument("starts, ends, axes and steps of Slice differ in length");
  }
  std::vector<SliceAxis> result(rank);
  for (size_t i = 0; i < count; ++i) {
    const int64_t named = axes ? (*axes)[i] : int64_t(i);
    if (named < -int64_t(rank) || named >= int64_t(rank)) return invalid_argument("axis of Slice out of range");
    const size_t axis = front_axis(named, rank);
    // A step beyond the axis takes one element whatever its size; bounded, no product of it can overflow.
    const int64_t size = x[axis], step = steps ? std::clamp<int64_t>((*steps)[i], -size - 1, size + 1) : 1;
    if (step == 0) return invalid_argument("a step of Slice is 0");
    int64_t start = (*starts)[i] < 0 ? (*starts)[i] + size : (*starts)[i];
    start =
        step > 0 ? std::clamp<int64_t>(start, 0, size) : std::clamp<int64_t>(start, 0, std::max<int64_t>(size - 1, 0));
    const int64_t n = y[axis];
    if (n > size) return internal_error("Slice's output is larger than its input");
    const int64_t last = n > 1 ? start + (n - 1) * step : start;
    if (n > 0 && (start >= size || last < 0 || last >= size))
      return internal_error("Slice's output shape is inconsistent");
    result[axis] = {n > 0 ? start : 0, n > 1 ? step : 1};
  }
  return result;
}

}  // namespace

Status prepare_concat(OpPrepare& p) {
  const Tensor& y = p.output(0);
  const size_t axis = front_axis(attrs_as<schema::AxisAttrsT>(p.node).axis, y.shape.size());
  if (is_blocked(y) && axis == 1) return concat_channels(p);
  CopyParams& params = p.make_params<CopyParams>();
  const Shape whole = storage_shape(y);
  const std::vector<int64_t> to = row_major_strides(whole);
  int64_t at = 0;
  for (size_t i = 0; i < p.node.inputs.size(); ++i) {
    if (!p.has_input(i)) return invalid_argument("an input of Concat is absent");
    const Tensor& x = p.input(i);
    if (x.shape.size() != y.shape.size()) return invalid_argument("inputs of Concat differ in rank");
    if (x.blocked_axis != y.blocked_axis) return internal_error("Concat of unlike layouts");
    const Shape shape = storage_shape(x);
    CopyPart part;
    part.input = i;
    part.to_base = at * to[axis];
    at += shape[axis];
    LQ_RETURN_IF_ERROR(add_copy(params, part, shape, to, row_major_strides(shape)));
  }
  if (at != whole[axis]) return internal_error("Concat's output does not hold its inputs");
  return finish_copy(p, params, "concat");
}

Status prepare_split(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const size_t axis = front_axis(attrs_as<schema::AxisAttrsT>(p.node).axis, x.shape.size());
  LQ_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, split_sizes(p, axis));
  const bool channels = is_blocked(x) && axis == 1;
  const std::vector<int64_t> from = row_major_strides(storage_shape(x));
  CopyParams copy;
  ChannelMap map(sizes.size());
  int64_t at = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (p.has_output(i)) {
      const Tensor& y = p.output(i);
      if (y.blocked_axis != x.blocked_axis) return internal_error("Split to another layout");
      if (y.shape.size() != x.shape.size() || y.shape[axis] != sizes[i])
        return internal_error("Split's output shape is inconsistent");
      CopyPart part;
      part.output = i;
      part.from_base = at * from[axis];
      const Shape stored = storage_shape(y);
      if (channels) {
        map[i] = channel_row(0, at, 1, sizes[i]);
      } else {
        LQ_RETURN_IF_ERROR(add_copy(copy, part, stored, row_major_strides(stored), from));
      }
    }
    at += sizes[i];
  }
  if (channels) return prepare_channel_move(p, std::move(map));
  CopyParams& params = p.make_params<CopyParams>();
  params = std::move(copy);
  return finish_copy(p, params, "split");
}

Status prepare_slice(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  if (x.blocked_axis != y.blocked_axis) return internal_error("Slice to another layout");
  LQ_ASSIGN_OR_RETURN(const std::vector<SliceAxis> axes, slice_axes(p));
  if (is_blocked(x) && (x.shape[1] != y.shape[1] || axes[1].step != 1)) {
    for (size_t d = 0; d < axes.size(); ++d) {
      if (d != 1 && (x.shape[d] != y.shape[d] || axes[d].step != 1))
        return internal_error("Slice of channels and pixels in blocked layout");
    }
    return prepare_channel_move(p, {channel_row(0, axes[1].first, axes[1].step, y.shape[1])});
  }
  const Shape stored = storage_shape(y);
  std::vector<int64_t> from = row_major_strides(storage_shape(x));
  CopyPart part;
  for (size_t d = 0; d < axes.size(); ++d) {
    part.from_base += axes[d].first * from[d];
    from[d] *= axes[d].step;
  }
  CopyParams& params = p.make_params<CopyParams>();
  LQ_RETURN_IF_ERROR(add_copy(params, part, stored, row_major_strides(stored), from));
  return finish_copy(p, params, "slice");
}

Status prepare_transpose(OpPrepare& p) {
  const Shape& shape = p.input(0).shape;
  const auto& attr = attrs_as<schema::TransposeAttrsT>(p.node).perm;
  std::vector<size_t> perm(shape.size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = attr.empty() ? perm.size() - 1 - i : size_t(attr[i]);
  return copy_permuted(p, shape, perm, "transpose");
}

Status prepare_expand(OpPrepare& p) {
  const Tensor& y = p.output(0);
  LQ_RETURN_IF_ERROR(require_linear(p));
  CopyParams& params = p.make_params<CopyParams>();
  LQ_RETURN_IF_ERROR(
      add_copy(params, {}, y.shape, row_major_strides(y.shape), broadcast_strides(p.input(0).shape, y.shape)));
  return finish_copy(p, params, "expand");
}

Status prepare_tile(OpPrepare& p) {
  const Shape& x = p.input(0).shape;
  const Shape& y = p.output(0).shape;
  LQ_RETURN_IF_ERROR(require_linear(p));
  const std::vector<int64_t> own = row_major_strides(x);
  Shape dims;  // [repeats0, d0, repeats1, d1, …]
  std::vector<int64_t> from;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] != 0 && y[i] % x[i] != 0) return internal_error("Tile's output shape is inconsistent");
    dims.insert(dims.end(), {x[i] == 0 ? 0 : y[i] / x[i], x[i]});
    from.insert(from.end(), {0, own[i]});
  }
  CopyParams& params = p.make_params<CopyParams>();
  LQ_RETURN_IF_ERROR(add_copy(params, {}, dims, row_major_strides(dims), from));
  return finish_copy(p, params, "tile");
}

Status prepare_depth_space(OpPrepare& p) {
  const Shape& x = p.input(0).shape;
  const auto& attrs = attrs_as<schema::BlockAttrsT>(p.node);
  const int64_t b = attrs.block_size;
  if (p.node.op == Op::SpaceToDepth) {
    const Shape split = {x[0], x[1], x[2] / b, b, x[3] / b, b};
    return copy_permuted(p, split, {0, 3, 5, 1, 2, 4}, "space_to_depth");
  }
  const int64_t channels = x[1] / (b * b);
  if (attrs.crd) return copy_permuted(p, {x[0], channels, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3}, "depth_to_space");
  return copy_permuted(p, {x[0], b, b, channels, x[2], x[3]}, {0, 3, 4, 1, 5, 2}, "depth_to_space");
}

}  // namespace lq
