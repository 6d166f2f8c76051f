// Two (or more) inputs with numpy broadcasting; comparisons and logic give bool.
#include "graph/ops_common.h"

namespace lq {
namespace {

/// Broadcasts the ranked shapes of inputs [first, count). Unranked when one of them is.
Status broadcast_inputs(InferContext& c, size_t first, DType dtype) {
  Shape out;
  for (size_t i = first; i < c.input_count(); ++i) {
    if (!c.has_input(i)) return invalid_argument("input " + std::to_string(i) + " is missing");
    if (!c.ranked(i)) {
      c.set_unranked(0, dtype);
      return {};
    }
    LQ_ASSIGN_OR_RETURN(out, broadcast(out, c.shape(i)));
  }
  c.set_output(0, dtype, std::move(out));
  return {};
}

Status infer_arithmetic(InferContext& c) {
  for (size_t i = 1; i < c.input_count(); ++i) {
    if (c.has_input(i)) LQ_RETURN_IF_ERROR(same_dtype(c, 0, i));
  }
  return broadcast_inputs(c, 0, result_dtype(c, 0));
}

Status infer_pow(InferContext& c) { return broadcast_inputs(c, 0, result_dtype(c, 0)); }  // exponent: any type

Status infer_compare(InferContext& c) {
  LQ_RETURN_IF_ERROR(same_dtype(c, 0, 1));
  return broadcast_inputs(c, 0, DType::Bool);
}

Status infer_logic(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_dtype(c, 0, DType::Bool));
  LQ_RETURN_IF_ERROR(expect_dtype(c, 1, DType::Bool));
  return broadcast_inputs(c, 0, DType::Bool);
}

Status infer_where(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_dtype(c, 0, DType::Bool));
  LQ_RETURN_IF_ERROR(same_dtype(c, 1, 2));
  return broadcast_inputs(c, 0, result_dtype(c, 1));
}

Status infer_prelu(InferContext& c) {
  LQ_RETURN_IF_ERROR(same_dtype(c, 0, 1));
  if (c.ranked(0) && c.ranked(1)) {
    LQ_ASSIGN_OR_RETURN(const Shape both, broadcast(c.shape(0), c.shape(1)));
    // The slope is broadcast one way; it must not enlarge x.
    bool same = both.size() == c.shape(0).size();
    for (size_t i = 0; same && i < both.size(); ++i) same = c.shape(0)[i] < 0 || both[i] == c.shape(0)[i];
    if (!same) {
      return invalid_argument("slope " + shape_string(c.shape(1)) + " does not broadcast to input " +
                              shape_string(c.shape(0)));
    }
  }
  return infer_same(c);
}

constexpr OpDef binary(Op op, QuantRule quant, Status (*infer)(InferContext&), uint8_t min = 2, uint8_t max = 2) {
  return {op, min, max, 1, 1, 0, quant, LayoutRule::kSame, schema::Attrs::NONE, infer, nullptr};
}
constexpr auto kFloat = QuantRule::kFloatOnly;

constexpr OpDef kOps[] = {
    binary(Op::Add, QuantRule::kAddSub, infer_arithmetic),
    binary(Op::Sub, QuantRule::kAddSub, infer_arithmetic),
    binary(Op::Mul, QuantRule::kMul, infer_arithmetic),
    binary(Op::Div, kFloat, infer_arithmetic),
    binary(Op::Pow, kFloat, infer_pow),
    binary(Op::Min, kFloat, infer_arithmetic, 1, 255),
    binary(Op::Max, kFloat, infer_arithmetic, 1, 255),
    {Op::Mod, 2, 2, 1, 1, 0, kFloat, LayoutRule::kLinear, schema::Attrs::ModAttrs, infer_arithmetic, nullptr},
    {Op::Equal, 2, 2, 1, 1, 0, kFloat, LayoutRule::kLinear, schema::Attrs::NONE, infer_compare, nullptr},
    {Op::Less, 2, 2, 1, 1, 0, kFloat, LayoutRule::kLinear, schema::Attrs::NONE, infer_compare, nullptr},
    {Op::Greater, 2, 2, 1, 1, 0, kFloat, LayoutRule::kLinear, schema::Attrs::NONE, infer_compare, nullptr},
    {Op::LessOrEqual, 2, 2, 1, 1, 0, kFloat, LayoutRule::kLinear, schema::Attrs::NONE, infer_compare, nullptr},
    {Op::GreaterOrEqual, 2, 2, 1, 1, 0, kFloat, LayoutRule::kLinear, schema::Attrs::NONE, infer_compare, nullptr},
    {Op::And, 2, 2, 1, 1, 0, kFloat, LayoutRule::kLinear, schema::Attrs::NONE, infer_logic, nullptr},
    {Op::Or, 2, 2, 1, 1, 0, kFloat, LayoutRule::kLinear, schema::Attrs::NONE, infer_logic, nullptr},
    {Op::Where, 3, 3, 1, 1, 0, kFloat, LayoutRule::kLinear, schema::Attrs::NONE, infer_where, nullptr},
    {Op::PRelu, 2, 2, 1, 1, 0, QuantRule::kPRelu, LayoutRule::kSame, schema::Attrs::NONE, infer_prelu, nullptr},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> binary_ops() { return kBuiltOps; }

}  // namespace lq
