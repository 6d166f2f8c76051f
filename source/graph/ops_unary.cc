// One input, elementwise: the shape stays, the type mostly too.
#include "graph/ops_common.h"

namespace lq {
namespace {

using schema::ActivationAttrsT;

Status infer_float(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_float(c, 0));
  return infer_same(c);
}

Status infer_not(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_dtype(c, 0, DType::Bool));
  return infer_same(c);
}

Status infer_clip(InferContext& c) {
  for (size_t i = 1; i < 3; ++i) {
    if (!c.has_input(i)) continue;
    LQ_RETURN_IF_ERROR(same_dtype(c, 0, i));
    LQ_RETURN_IF_ERROR(expect_single(c, i));
  }
  return infer_same(c);
}

Status infer_cast(InferContext& c) {
  const DType to = attrs_as<schema::CastAttrsT>(c.node()).to;
  if (c.ranked(0)) {
    c.set_output(0, to, c.shape(0));
  } else {
    c.set_unranked(0, to);
  }
  return {};
}

Status check_cast(const Node& node) {
  const DType to = attrs_as<schema::CastAttrsT>(node).to;
  if (dtype_size(to) == 0) return invalid_argument("cannot cast to type " + std::to_string(int(to)));
  return {};
}

Status check_finite(const Node& node) {
  const auto& a = attrs_as<ActivationAttrsT>(node);
  for (float v : {a.alpha, a.beta, a.gamma}) {
    if (!(v - v == 0)) return invalid_argument("attribute alpha, beta or gamma is not finite");
  }
  return {};
}

constexpr auto kNoAttrs = schema::Attrs::NONE;

constexpr OpDef table_op(Op op, schema::Attrs attrs = kNoAttrs, Status (*check)(const Node&) = nullptr) {
  return {op, 1, 1, 1, 1, 0, QuantRule::kTable, LayoutRule::kSame, attrs, infer_float, check};
}
/// As table_op, defined on integers too.
constexpr OpDef number_op(Op op) {
  return {op, 1, 1, 1, 1, 0, QuantRule::kTable, LayoutRule::kSame, kNoAttrs, infer_same, nullptr};
}

constexpr OpDef kOps[] = {
    number_op(Op::Relu),
    table_op(Op::LeakyRelu, schema::Attrs::ActivationAttrs, check_finite),
    {Op::Clip, 1, 3, 1, 1, 0, QuantRule::kTable, LayoutRule::kSame, kNoAttrs, infer_clip, nullptr},
    table_op(Op::Elu, schema::Attrs::ActivationAttrs, check_finite),
    table_op(Op::Selu, schema::Attrs::ActivationAttrs, check_finite),
    table_op(Op::Sigmoid),
    table_op(Op::HardSigmoid, schema::Attrs::ActivationAttrs, check_finite),
    table_op(Op::HardSwish),
    table_op(Op::Silu),
    table_op(Op::Tanh),
    table_op(Op::Gelu, schema::Attrs::GeluAttrs),
    table_op(Op::Erf),
    table_op(Op::Softplus),
    table_op(Op::Sqrt),
    table_op(Op::Exp),
    table_op(Op::Log),
    number_op(Op::Neg),
    number_op(Op::Abs),
    table_op(Op::Reciprocal),
    table_op(Op::Floor),
    table_op(Op::Ceil),
    table_op(Op::Round),
    number_op(Op::Sign),
    table_op(Op::Sin),
    table_op(Op::Cos),
    {Op::Not, 1, 1, 1, 1, 0, QuantRule::kFloatOnly, LayoutRule::kLinear, kNoAttrs, infer_not, nullptr},
    {Op::Cast, 1, 1, 1, 1, 0, QuantRule::kFloatOnly, LayoutRule::kLinear, schema::Attrs::CastAttrs, infer_cast,
     check_cast},
    {Op::Identity, 1, 1, 1, 1, 0, QuantRule::kPassThrough, LayoutRule::kSame, kNoAttrs, infer_same, nullptr},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> unary_ops() { return kBuiltOps; }

}  // namespace lq
