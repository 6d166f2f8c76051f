// Normalizations and softmax: float only, the shape of x.
#include "graph/ops_common.h"

namespace lq {
namespace {

using schema::NormAttrsT;

Status check_norm(const Node& node) {
  const float e = attrs_as<NormAttrsT>(node).epsilon;
  if (!(e >= 0) || e - e != 0) return invalid_argument("epsilon is negative or not finite");
  return {};
}

/// Inputs 1… are vectors as long as x's channel axis.
Status infer_channel_norm(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_float(c, 0));
  if (c.ranked(0) && c.shape(0).size() < 2)
    return invalid_argument("input " + shape_string(c.shape(0)) + " has no channel axis");
  for (size_t i = 1; i < c.input_count(); ++i) {
    LQ_RETURN_IF_ERROR(same_dtype(c, 0, i));
    LQ_RETURN_IF_ERROR(expect_rank(c, i, 1));
    if (c.ranked(0) && c.ranked(i))
      LQ_RETURN_IF_ERROR(same_dim(c.shape(0)[1], c.shape(i)[0], "channels and length of a parameter"));
  }
  return infer_same(c);
}

Status infer_layer_norm(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_float(c, 0));
  if (!c.ranked(0)) return infer_same(c);
  const Shape& x = c.shape(0);
  LQ_ASSIGN_OR_RETURN(const int axis, normalize_axis(attrs_as<NormAttrsT>(c.node()).axis, x.size()));
  const Shape normalized(x.begin() + axis, x.end());
  for (size_t i = 1; i < 3; ++i) {
    if (!c.has_input(i)) continue;
    LQ_RETURN_IF_ERROR(same_dtype(c, 0, i));
    if (!c.ranked(i)) continue;
    LQ_ASSIGN_OR_RETURN(const Shape both, broadcast(normalized, c.shape(i)));
    bool fits = both.size() == normalized.size();
    for (size_t k = 0; fits && k < both.size(); ++k) fits = normalized[k] < 0 || both[k] == normalized[k];
    if (!fits) {
      return invalid_argument("parameter " + shape_string(c.shape(i)) + " does not broadcast to the normalized axes " +
                              shape_string(normalized));
    }
  }
  return infer_same(c);
}

Status infer_softmax(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_float(c, 0));
  if (c.ranked(0)) {
    auto axis = normalize_axis(attrs_as<schema::AxisAttrsT>(c.node()).axis, c.shape(0).size());
    if (!axis.ok()) return axis.status();
  }
  return infer_same(c);
}

constexpr auto kFloat = QuantRule::kFloatOnly;
constexpr auto kLinear = LayoutRule::kLinear;
constexpr OpDef kOps[] = {
    {Op::BatchNormalization, 5, 5, 1, 1, 0, kFloat, kLinear, schema::Attrs::NormAttrs, infer_channel_norm, check_norm},
    {Op::InstanceNormalization, 3, 3, 1, 1, 0, kFloat, kLinear, schema::Attrs::NormAttrs, infer_channel_norm,
     check_norm},
    {Op::LayerNormalization, 2, 3, 1, 1, 0, kFloat, kLinear, schema::Attrs::NormAttrs, infer_layer_norm, check_norm},
    {Op::Softmax, 1, 1, 1, 1, 0, kFloat, kLinear, schema::Attrs::AxisAttrs, infer_softmax, nullptr},
    {Op::LogSoftmax, 1, 1, 1, 1, 0, kFloat, kLinear, schema::Attrs::AxisAttrs, infer_softmax, nullptr},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> norm_ops() { return kBuiltOps; }

}  // namespace lq
