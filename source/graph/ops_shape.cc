// Reshape and its like (the bytes stay), and the operators that make or read shapes.
#include <cmath>

#include "graph/geometry.h"
#include "graph/ops_common.h"

namespace lq {
namespace {

constexpr size_t kMaxRank = 8;

/// Replaces the −1 of `out`. Unknown input dims that `out` copies at the same place (entry 0 of `wanted`) cancel.
Status resolve_free_dim(const Shape& x, const std::vector<int64_t>& wanted, bool allow_zero, size_t free, Shape& out) {
  int64_t numerator = 1, denominator = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool copied = !allow_zero && i < wanted.size() && wanted[i] == 0;
    if (copied) continue;
    if (x[i] < 0) return {};  // stays unknown
    if (__builtin_mul_overflow(numerator, x[i], &numerator))
      return invalid_argument("input " + shape_string(x) + " is too large");
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const bool copied = !allow_zero && wanted[i] == 0;
    if (copied || i == free) continue;
    if (__builtin_mul_overflow(denominator, out[i], &denominator)) return invalid_argument("shape is too large");
  }
  if (denominator == 0 || numerator % denominator != 0) {
    return invalid_argument("input " + shape_string(x) + " does not divide into shape " + shape_string(wanted));
  }
  out[free] = numerator / denominator;
  return {};
}

Status infer_reshape(InferContext& c) {
  if (!is_index_dtype(c.dtype(1))) return invalid_argument("shape must be integers");
  LQ_RETURN_IF_ERROR(expect_rank(c, 1, 1));
  const auto wanted = c.ints(1);
  if (!wanted) {
    const int64_t length = c.ranked(1) && c.shape(1).size() == 1 ? c.shape(1)[0] : kUnknownDim;
    if (length >= 0 && length <= int64_t(kMaxRank)) {
      c.set_output(0, c.dtype(0), Shape(size_t(length), kUnknownDim));
    } else {
      c.set_unranked(0, c.dtype(0));
    }
    return {};
  }
  const bool allow_zero = attrs_as<schema::ReshapeAttrsT>(c.node()).allow_zero;
  Shape out = *wanted;
  int free = -1;
  bool copies_missing = false;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == -1) {
      if (free >= 0) return invalid_argument("shape " + shape_string(*wanted) + " has more than one -1");
      free = int(i);
    } else if (out[i] < 0) {
      return invalid_argument("shape has the entry " + std::to_string(out[i]));
    } else if (out[i] == 0 && !allow_zero) {
      if (c.ranked(0) && i >= c.shape(0).size())
        return invalid_argument("shape copies axis " + std::to_string(i) + ", which the input does not have");
      copies_missing |= !c.ranked(0);
      out[i] = c.ranked(0) ? c.shape(0)[i] : kUnknownDim;
    } else if (out[i] > InferContext::kMaxDim) {
      return invalid_argument("a dimension would exceed 2^31");
    }
  }
  if (c.ranked(0) && !copies_missing) {
    const Shape& x = c.shape(0);
    if (free >= 0) {
      LQ_RETURN_IF_ERROR(resolve_free_dim(x, *wanted, allow_zero, size_t(free), out));
    }
    if (is_static(x) && is_static(out) && element_count(x) != element_count(out)) {
      return invalid_argument("input " + shape_string(x) + " cannot take shape " + shape_string(out));
    }
  }
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_flatten(InferContext& c) {
  if (!c.ranked(0)) {
    c.set_output(0, c.dtype(0), {kUnknownDim, kUnknownDim});
    return {};
  }
  const Shape& x = c.shape(0);
  const int64_t rank = int64_t(x.size());
  int64_t axis = attrs_as<schema::AxisAttrsT>(c.node()).axis;
  if (axis < -rank || axis > rank)
    return invalid_argument("axis " + std::to_string(axis) + " is out of range for " + shape_string(x));
  if (axis < 0) axis += rank;
  Shape out = {1, 1};
  for (int64_t i = 0; i < rank; ++i) {
    int64_t& side = out[i < axis ? 0 : 1];
    LQ_ASSIGN_OR_RETURN(side, mul_dims(side, x[size_t(i)]));
  }
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_squeeze(InferContext& c) {
  const DType dtype = c.dtype(0);
  std::optional<std::vector<int64_t>> axes;
  if (c.has_input(1)) {
    if (!is_index_dtype(c.dtype(1))) return invalid_argument("axes must be integers");
    axes = c.ints(1);
  }
  if (!c.ranked(0) || (c.has_input(1) && !axes) || (!c.has_input(1) && !is_static(c.shape(0)))) {
    c.set_unranked(0, dtype);
    return {};
  }
  const Shape& x = c.shape(0);
  std::vector<bool> drop(x.size());
  if (axes) {
    for (int64_t a : *axes) {
      LQ_ASSIGN_OR_RETURN(const int axis, normalize_axis(a, x.size()));
      if (x[size_t(axis)] > 1 || x[size_t(axis)] == 0) {
        return invalid_argument("axis " + std::to_string(a) + " of " + shape_string(x) + " is not 1");
      }
      drop[size_t(axis)] = true;
    }
  } else {
    for (size_t i = 0; i < x.size(); ++i) drop[i] = x[i] == 1;
  }
  Shape out;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!drop[i]) out.push_back(x[i]);
  }
  c.set_output(0, dtype, std::move(out));
  return {};
}

Status infer_unsqueeze(InferContext& c) {
  if (!is_index_dtype(c.dtype(1))) return invalid_argument("axes must be integers");
  const auto axes = c.ints(1);
  if (!c.ranked(0) || !axes) {
    c.set_unranked(0, c.dtype(0));
    return {};
  }
  const Shape& x = c.shape(0);
  const size_t rank = x.size() + axes->size();
  if (rank > kMaxRank) return invalid_argument("rank " + std::to_string(rank) + " is above 8");
  std::vector<bool> fresh(rank);
  for (int64_t a : *axes) {
    LQ_ASSIGN_OR_RETURN(const int axis, normalize_axis(a, rank));
    if (fresh[size_t(axis)]) return invalid_argument("axis " + std::to_string(a) + " is given twice");
    fresh[size_t(axis)] = true;
  }
  Shape out;
  for (size_t i = 0, k = 0; i < rank; ++i) out.push_back(fresh[i] ? 1 : x[k++]);
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_shape(InferContext& c) {
  if (!c.ranked(0)) {
    c.set_output(0, DType::Int64, {kUnknownDim});
    return {};
  }
  const auto& a = attrs_as<schema::ShapeAttrsT>(c.node());
  c.set_output(0, DType::Int64, {slice_range(int64_t(c.shape(0).size()), a.start, a.end, 1).count});
  return {};
}

Status infer_size(InferContext& c) {
  c.set_output(0, DType::Int64, {});
  return {};
}

Status infer_constant_of_shape(InferContext& c) {
  if (!is_index_dtype(c.dtype(0))) return invalid_argument("shape must be integers");
  LQ_RETURN_IF_ERROR(expect_rank(c, 0, 1));
  LQ_RETURN_IF_ERROR(expect_single(c, 1));
  const auto shape = c.ints(0);
  if (!shape) {
    const int64_t length = c.ranked(0) ? c.shape(0)[0] : kUnknownDim;
    if (length >= 0 && length <= int64_t(kMaxRank)) {
      c.set_output(0, c.dtype(1), Shape(size_t(length), kUnknownDim));
    } else {
      c.set_unranked(0, c.dtype(1));
    }
    return {};
  }
  for (int64_t d : *shape) {
    if (d < 0) return invalid_argument("shape has the negative entry " + std::to_string(d));
  }
  c.set_output(0, c.dtype(1), *shape);
  return {};
}

/// The one value of a constant float32 or float64 scalar.
std::optional<double> float_scalar(const InferContext& c, size_t i) {
  const Tensor& t = c.graph().tensor(c.node().inputs[i]);
  if (!t.is_constant() || element_count(t.shape) != 1) return std::nullopt;
  if (t.dtype == DType::Float32 && t.data.size() == 4) return double(t.data.as<float>()[0]);
  if (t.dtype == DType::Float64 && t.data.size() == 8) return t.data.as<double>()[0];
  return std::nullopt;
}

Status infer_range(InferContext& c) {
  for (size_t i = 0; i < 3; ++i) {
    LQ_RETURN_IF_ERROR(expect_single(c, i));
    LQ_RETURN_IF_ERROR(same_dtype(c, 0, i));
  }
  const auto start = c.ints(0), limit = c.ints(1), delta = c.ints(2);
  int64_t count = kUnknownDim;
  if (start && limit && delta && start->size() == 1 && limit->size() == 1 && delta->size() == 1) {
    LQ_ASSIGN_OR_RETURN(count, range_count((*start)[0], (*limit)[0], (*delta)[0]));
  } else {
    const auto s = float_scalar(c, 0), l = float_scalar(c, 1), d = float_scalar(c, 2);
    if (s && l && d) {
      LQ_ASSIGN_OR_RETURN(count, range_count(*s, *l, *d));
    }
  }
  c.set_output(0, c.dtype(0), {count});
  return {};
}

constexpr auto kPass = QuantRule::kPassThrough;
constexpr auto kFloat = QuantRule::kFloatOnly;
constexpr auto kLinear = LayoutRule::kLinear;
constexpr auto kNone = schema::Attrs::NONE;
constexpr OpDef kOps[] = {
    {Op::Reshape, 2, 2, 1, 1, planning({1}), kPass, kLinear, schema::Attrs::ReshapeAttrs, infer_reshape, nullptr},
    {Op::Flatten, 1, 1, 1, 1, 0, kPass, kLinear, schema::Attrs::AxisAttrs, infer_flatten, nullptr},
    {Op::Squeeze, 1, 2, 1, 1, planning({1}), kPass, kLinear, kNone, infer_squeeze, nullptr},
    {Op::Unsqueeze, 2, 2, 1, 1, planning({1}), kPass, kLinear, kNone, infer_unsqueeze, nullptr},
    {Op::Shape, 1, 1, 1, 1, 0, kFloat, kLinear, schema::Attrs::ShapeAttrs, infer_shape, nullptr},
    {Op::Size, 1, 1, 1, 1, 0, kFloat, kLinear, kNone, infer_size, nullptr},
    {Op::Range, 3, 3, 1, 1, planning({0, 1, 2}), kFloat, kLinear, kNone, infer_range, nullptr},
    {Op::ConstantOfShape, 2, 2, 1, 1, planning({0}), kFloat, kLinear, kNone, infer_constant_of_shape, nullptr},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

Result<int64_t> range_count(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) return invalid_argument("delta is 0");
  if (delta > 0 ? limit <= start : limit >= start) return int64_t(0);
  // Differences and −INT64_MIN fit in unsigned.
  const uint64_t distance = delta > 0 ? uint64_t(limit) - uint64_t(start) : uint64_t(start) - uint64_t(limit);
  const uint64_t step = delta > 0 ? uint64_t(delta) : uint64_t(0) - uint64_t(delta);
  const uint64_t count = (distance - 1) / step + 1;
  if (count > uint64_t(InferContext::kMaxDim)) return invalid_argument("the range would have more than 2^31 elements");
  return int64_t(count);
}

Result<int64_t> range_count(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  if (!(count <= double(InferContext::kMaxDim))) return invalid_argument("the range has no finite, legal length");
  return count > 0 ? int64_t(count) : int64_t(0);
}

std::span<const OpDef> shape_ops() { return kBuiltOps; }

}  // namespace lq
