// Window and global pooling.
#include "graph/ops_common.h"

namespace lq {
namespace {

using schema::PoolAttrsT;

Status check_pool(const Node& node) {
  const auto& a = attrs_as<PoolAttrsT>(node);
  if (a.kernel_shape.empty()) return invalid_argument("kernel_shape is missing");
  if (a.auto_pad > schema::AutoPad::MAX) return invalid_argument("unknown auto_pad " + std::to_string(int(a.auto_pad)));
  if (a.storage_order != 0 && a.storage_order != 1) return invalid_argument("storage_order must be 0 or 1");
  for (const auto* list : {&a.kernel_shape, &a.strides, &a.dilations}) {
    for (int32_t v : *list) {
      if (v < 1)
        return invalid_argument("kernel_shape, strides and dilations must be positive, got " + std::to_string(v));
    }
  }
  for (int32_t v : a.pads) {
    if (v < 0) return invalid_argument("pads must not be negative, got " + std::to_string(v));
  }
  return {};
}

Status infer_pool(InferContext& c) {
  const DType dtype = c.dtype(0);
  if (!c.ranked(0)) {
    c.set_unranked(0, dtype);
    if (c.node().output(1) != kNoTensor) c.set_unranked(1, DType::Int64);
    return {};
  }
  const Shape& x = c.shape(0);
  LQ_ASSIGN_OR_RETURN(const WindowGeometry g, pool_geometry(attrs_as<PoolAttrsT>(c.node()), x));
  Shape out = {x[0], x[1]};
  out.insert(out.end(), g.output.begin(), g.output.end());
  if (c.node().output(1) != kNoTensor) c.set_output(1, DType::Int64, out);
  c.set_output(0, dtype, std::move(out));
  return {};
}

Status infer_average_pool(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_float(c, 0));
  return infer_pool(c);
}

Status infer_global(InferContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.dtype(0));
    return {};
  }
  Shape out = c.shape(0);
  if (out.size() < 3)
    return invalid_argument("input " + shape_string(out) + " has no spatial axis (expected [N,C,...])");
  for (size_t i = 2; i < out.size(); ++i) {
    if (out[i] == 0) return invalid_argument("input " + shape_string(out) + " is empty");
    out[i] = 1;
  }
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_global_average(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_float(c, 0));
  return infer_global(c);
}

constexpr auto kBlocked = LayoutRule::kBlocked;
constexpr OpDef kOps[] = {
    {Op::MaxPool, 1, 1, 1, 2, 0, QuantRule::kPassThrough, kBlocked, schema::Attrs::PoolAttrs, infer_pool, check_pool},
    {Op::AveragePool, 1, 1, 1, 1, 0, QuantRule::kAverage, kBlocked, schema::Attrs::PoolAttrs, infer_average_pool,
     check_pool},
    {Op::GlobalAveragePool, 1, 1, 1, 1, 0, QuantRule::kAverage, kBlocked, schema::Attrs::NONE, infer_global_average,
     nullptr},
    {Op::GlobalMaxPool, 1, 1, 1, 1, 0, QuantRule::kPassThrough, kBlocked, schema::Attrs::NONE, infer_global, nullptr},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> pool_ops() { return kBuiltOps; }

}  // namespace lq
