// Reductions over axes, ArgMax, ArgMin and TopK.
#include "graph/ops_common.h"

namespace lq {
namespace {

/// Axes of a reduction: from the constant input, all axes without one. nullopt: not known yet.
Result<std::optional<std::vector<bool>>> reduced_axes(const InferContext& c, size_t rank) {
  std::vector<bool> reduced(rank, false);
  std::vector<int64_t> axes;
  if (c.has_input(1)) {
    if (!is_index_dtype(c.dtype(1))) return invalid_argument("axes must be integers");
    auto known = c.ints(1);
    if (!known) return std::optional<std::vector<bool>>();
    axes = std::move(*known);
  }
  if (axes.empty()) {
    const bool all = !attrs_as<schema::ReduceAttrsT>(c.node()).noop_with_empty_axes;
    return std::optional(std::vector<bool>(rank, all));
  }
  for (int64_t a : axes) {
    LQ_ASSIGN_OR_RETURN(const int axis, normalize_axis(a, rank));
    if (reduced[size_t(axis)]) return invalid_argument("axis " + std::to_string(a) + " is given twice");
    reduced[size_t(axis)] = true;
  }
  return std::optional(std::move(reduced));
}

Status infer_reduce(InferContext& c) {
  const DType dtype = result_dtype(c, 0);
  const auto& attrs = attrs_as<schema::ReduceAttrsT>(c.node());
  if (!c.ranked(0)) {
    c.set_unranked(0, dtype);
    return {};
  }
  const Shape& x = c.shape(0);
  LQ_ASSIGN_OR_RETURN(const auto reduced, reduced_axes(c, x.size()));
  if (!reduced) {
    if (attrs.keepdims) {
      c.set_output(0, dtype, Shape(x.size(), kUnknownDim));
    } else {
      c.set_unranked(0, dtype);
    }
    return {};
  }
  const Op op = c.node().op;
  const bool empty_allowed = op == Op::ReduceSum || op == Op::ReduceProd || op == Op::ReduceL2;  // 0 or 1
  Shape out;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(*reduced)[i]) {
      out.push_back(x[i]);
      continue;
    }
    if (x[i] == 0 && !empty_allowed)
      return invalid_argument("axis " + std::to_string(i) + " of " + shape_string(x) + " is empty");
    if (attrs.keepdims) out.push_back(1);
  }
  c.set_output(0, dtype, std::move(out));
  return {};
}

Status infer_arg(InferContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, DType::Int64);
    return {};
  }
  const auto& attrs = attrs_as<schema::ArgMaxAttrsT>(c.node());
  Shape out = c.shape(0);
  LQ_ASSIGN_OR_RETURN(const int axis, normalize_axis(attrs.axis, out.size()));
  if (out[size_t(axis)] == 0)
    return invalid_argument("axis " + std::to_string(axis) + " of " + shape_string(out) + " is empty");
  if (attrs.keepdims) {
    out[size_t(axis)] = 1;
  } else {
    out.erase(out.begin() + axis);
  }
  c.set_output(0, DType::Int64, std::move(out));
  return {};
}

Status infer_top_k(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_single(c, 1));
  if (!is_index_dtype(c.dtype(1))) return invalid_argument("k must be an integer");
  if (!c.ranked(0)) {
    c.set_unranked(0, c.dtype(0));
    c.set_unranked(1, DType::Int64);
    return {};
  }
  Shape out = c.shape(0);
  LQ_ASSIGN_OR_RETURN(const int axis, normalize_axis(attrs_as<schema::TopKAttrsT>(c.node()).axis, out.size()));
  int64_t& dim = out[size_t(axis)];
  const auto k = c.ints(1);
  if (!k || k->size() != 1) {
    dim = kUnknownDim;
  } else {
    if ((*k)[0] < 0 || (dim >= 0 && (*k)[0] > dim)) {
      return invalid_argument("k = " + std::to_string((*k)[0]) + " is out of range for an axis of " +
                              std::to_string(dim));
    }
    dim = (*k)[0];
  }
  c.set_output(1, DType::Int64, out);
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

constexpr auto kFloat = QuantRule::kFloatOnly;
constexpr OpDef reduce(Op op, QuantRule quant) {
  return {op, 1, 2, 1, 1, planning({1}), quant, LayoutRule::kLinear, schema::Attrs::ReduceAttrs, infer_reduce, nullptr};
}
constexpr OpDef kOps[] = {
    reduce(Op::ReduceMean, QuantRule::kAverage),
    reduce(Op::ReduceSum, kFloat),
    reduce(Op::ReduceMax, QuantRule::kPassThrough),
    reduce(Op::ReduceMin, QuantRule::kPassThrough),
    reduce(Op::ReduceL2, kFloat),
    reduce(Op::ReduceProd, kFloat),
    {Op::ArgMax, 1, 1, 1, 1, 0, kFloat, LayoutRule::kLinear, schema::Attrs::ArgMaxAttrs, infer_arg, nullptr},
    {Op::ArgMin, 1, 1, 1, 1, 0, kFloat, LayoutRule::kLinear, schema::Attrs::ArgMaxAttrs, infer_arg, nullptr},
    {Op::TopK, 2, 2, 2, 2, planning({1}), kFloat, LayoutRule::kLinear, schema::Attrs::TopKAttrs, infer_top_k, nullptr},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> reduce_ops() { return kBuiltOps; }

}  // namespace lq
