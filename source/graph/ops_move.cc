// Operators that move whole axes around: Concat, Transpose, Expand, Tile, DepthToSpace, SpaceToDepth.
#include "graph/ops_common.h"

namespace lq {
namespace {

Status infer_concat(InferContext& c) {
  const int64_t attr_axis = attrs_as<schema::AxisAttrsT>(c.node()).axis;
  Shape out;
  bool first = true;
  int axis = 0;
  for (size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has_input(i)) return invalid_argument("input " + std::to_string(i) + " is missing");
    LQ_RETURN_IF_ERROR(same_dtype(c, 0, i));
    if (!c.ranked(i)) {
      c.set_unranked(0, c.dtype(0));
      return {};
    }
    const Shape& s = c.shape(i);
    if (first) {
      LQ_ASSIGN_OR_RETURN(axis, normalize_axis(attr_axis, s.size()));
      out = s;
      first = false;
      continue;
    }
    if (s.size() != out.size())
      return invalid_argument("inputs have different ranks: " + shape_string(out) + " and " + shape_string(s));
    for (size_t k = 0; k < s.size(); ++k) {
      if (k == size_t(axis)) {
        LQ_ASSIGN_OR_RETURN(out[k], add_dims(out[k], s[k]));
      } else {
        LQ_RETURN_IF_ERROR(same_dim(out[k], s[k], "dims beside the concatenated axis"));
        if (out[k] < 0) out[k] = s[k];
      }
    }
  }
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

Status check_transpose(const Node& node) {
  const auto& perm = attrs_as<schema::TransposeAttrsT>(node).perm;
  std::vector<bool> seen(perm.size());
  for (int32_t p : perm) {
    if (p < 0 || size_t(p) >= perm.size() || seen[size_t(p)]) return invalid_argument("perm is not a permutation");
    seen[size_t(p)] = true;
  }
  return {};
}

Status infer_transpose(InferContext& c) {
  const auto& perm = attrs_as<schema::TransposeAttrsT>(c.node()).perm;
  if (!c.ranked(0)) {
    if (perm.empty()) {
      c.set_unranked(0, c.dtype(0));
    } else {
      c.set_output(0, c.dtype(0), Shape(perm.size(), kUnknownDim));
    }
    return {};
  }
  const Shape& x = c.shape(0);
  if (perm.empty()) {
    c.set_output(0, c.dtype(0), Shape(x.rbegin(), x.rend()));
    return {};
  }
  if (perm.size() != x.size()) {
    return invalid_argument("perm has " + std::to_string(perm.size()) + " entries, the input has shape " +
                            shape_string(x));
  }
  Shape out;
  for (int32_t p : perm) {
    if (p < 0 || size_t(p) >= x.size()) return invalid_argument("perm is not a permutation");
    out.push_back(x[size_t(p)]);
  }
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

/// Unranked, or as many unknown dims as the 1-D input i has elements.
void set_by_length_of(InferContext& c, size_t i) {
  if (c.ranked(i) && c.shape(i).size() == 1 && c.shape(i)[0] >= 0 && c.shape(i)[0] <= 8) {
    c.set_output(0, c.dtype(0), Shape(size_t(c.shape(i)[0]), kUnknownDim));
  } else {
    c.set_unranked(0, c.dtype(0));
  }
}

Status infer_expand(InferContext& c) {
  if (!is_index_dtype(c.dtype(1))) return invalid_argument("shape must be integers");
  LQ_RETURN_IF_ERROR(expect_rank(c, 1, 1));
  const auto wanted = c.ints(1);
  if (!c.ranked(0) || !wanted) {
    c.set_unranked(0, c.dtype(0));
    return {};
  }
  for (int64_t d : *wanted) {
    if (d < 0) return invalid_argument("shape has the negative entry " + std::to_string(d));
  }
  LQ_ASSIGN_OR_RETURN(Shape out, broadcast(c.shape(0), *wanted));
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_tile(InferContext& c) {
  if (!is_index_dtype(c.dtype(1))) return invalid_argument("repeats must be integers");
  LQ_RETURN_IF_ERROR(expect_rank(c, 1, 1));
  if (!c.ranked(0)) {
    set_by_length_of(c, 1);
    return {};
  }
  Shape out = c.shape(0);
  const auto repeats = c.ints(1);
  if (!repeats) {
    c.set_output(0, c.dtype(0), Shape(out.size(), kUnknownDim));
    return {};
  }
  if (repeats->size() != out.size()) {
    return invalid_argument("repeats has " + std::to_string(repeats->size()) + " entries, the input has shape " +
                            shape_string(out));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if ((*repeats)[i] < 0) return invalid_argument("repeats has the negative entry " + std::to_string((*repeats)[i]));
    LQ_ASSIGN_OR_RETURN(out[i], mul_dims(out[i], (*repeats)[i]));
  }
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

Status check_block(const Node& node) {
  const int32_t b = attrs_as<schema::BlockAttrsT>(node).block_size;
  if (b < 1 || b > (1 << 15)) return invalid_argument("block_size " + std::to_string(b) + " is out of range");
  return {};
}

/// dim / by, refusing a remainder; unknown stays unknown.
Result<int64_t> divide_dim(int64_t dim, int64_t by) {
  if (dim < 0) return kUnknownDim;
  if (dim % by != 0)
    return invalid_argument("extent " + std::to_string(dim) + " is not a multiple of " + std::to_string(by));
  return dim / by;
}

Status infer_depth_space(InferContext& c) {
  if (!c.ranked(0)) {
    c.set_output(0, c.dtype(0), Shape(4, kUnknownDim));
    return {};
  }
  LQ_RETURN_IF_ERROR(expect_rank(c, 0, 4));
  LQ_RETURN_IF_ERROR(check_block(c.node()));
  const int64_t b = attrs_as<schema::BlockAttrsT>(c.node()).block_size;
  Shape out = c.shape(0);
  if (c.node().op == Op::DepthToSpace) {
    LQ_ASSIGN_OR_RETURN(out[1], divide_dim(out[1], b * b));
    LQ_ASSIGN_OR_RETURN(out[2], mul_dims(out[2], b));
    LQ_ASSIGN_OR_RETURN(out[3], mul_dims(out[3], b));
  } else {
    LQ_ASSIGN_OR_RETURN(out[1], mul_dims(out[1], b * b));
    LQ_ASSIGN_OR_RETURN(out[2], divide_dim(out[2], b));
    LQ_ASSIGN_OR_RETURN(out[3], divide_dim(out[3], b));
  }
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

constexpr auto kPass = QuantRule::kPassThrough;
constexpr auto kLinear = LayoutRule::kLinear;
constexpr OpDef kOps[] = {
    {Op::Concat, 1, 255, 1, 1, 0, kPass, LayoutRule::kSame, schema::Attrs::AxisAttrs, infer_concat, nullptr},
    {Op::Transpose, 1, 1, 1, 1, 0, kPass, kLinear, schema::Attrs::TransposeAttrs, infer_transpose, check_transpose},
    {Op::Expand, 2, 2, 1, 1, planning({1}), kPass, kLinear, schema::Attrs::NONE, infer_expand, nullptr},
    {Op::Tile, 2, 2, 1, 1, planning({1}), kPass, kLinear, schema::Attrs::NONE, infer_tile, nullptr},
    {Op::DepthToSpace, 1, 1, 1, 1, 0, kPass, kLinear, schema::Attrs::BlockAttrs, infer_depth_space, check_block},
    {Op::SpaceToDepth, 1, 1, 1, 1, 0, kPass, kLinear, schema::Attrs::BlockAttrs, infer_depth_space, check_block},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> move_ops() { return kBuiltOps; }

}  // namespace lq
