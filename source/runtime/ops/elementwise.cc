// The elementwise operators' rows; the code is in elementwise_*.cc (float, integers, bool), elementwise_s8.cc and
// cast.cc.
#include "runtime/ops/elementwise.h"

#include "graph/built_ops.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

constexpr OpRow kRows[] = {
    {Op::Relu, built<Op::Relu>(&prepare_unary)},
    {Op::LeakyRelu, built<Op::LeakyRelu>(&prepare_unary)},
    {Op::Elu, built<Op::Elu>(&prepare_unary)},
    {Op::Selu, built<Op::Selu>(&prepare_unary)},
    {Op::Sigmoid, built<Op::Sigmoid>(&prepare_unary)},
    {Op::HardSigmoid, built<Op::HardSigmoid>(&prepare_unary)},
    {Op::HardSwish, built<Op::HardSwish>(&prepare_unary)},
    {Op::Silu, built<Op::Silu>(&prepare_unary)},
    {Op::Tanh, built<Op::Tanh>(&prepare_unary)},
    {Op::Gelu, built<Op::Gelu>(&prepare_unary)},
    {Op::Erf, built<Op::Erf>(&prepare_unary)},
    {Op::Softplus, built<Op::Softplus>(&prepare_unary)},
    {Op::Sqrt, built<Op::Sqrt>(&prepare_unary)},
    {Op::Exp, built<Op::Exp>(&prepare_unary)},
    {Op::Log, built<Op::Log>(&prepare_unary)},
    {Op::Neg, built<Op::Neg>(&prepare_unary)},
    {Op::Abs, built<Op::Abs>(&prepare_unary)},
    {Op::Reciprocal, built<Op::Reciprocal>(&prepare_unary)},
    {Op::Floor, built<Op::Floor>(&prepare_unary)},
    {Op::Ceil, built<Op::Ceil>(&prepare_unary)},
    {Op::Round, built<Op::Round>(&prepare_unary)},
    {Op::Sign, built<Op::Sign>(&prepare_unary)},
    {Op::Sin, built<Op::Sin>(&prepare_unary)},
    {Op::Cos, built<Op::Cos>(&prepare_unary)},
    {Op::Clip, built<Op::Clip>(&prepare_clip)},
    {Op::Not, built<Op::Not>(&prepare_not)},
    {Op::Cast, built<Op::Cast>(&prepare_cast)},
    {Op::Add, built<Op::Add>(&prepare_add_sub)},
    {Op::Sub, built<Op::Sub>(&prepare_add_sub)},
    {Op::Mul, built<Op::Mul>(&prepare_mul)},
    {Op::Div, built<Op::Div>(&prepare_div)},
    {Op::Mod, built<Op::Mod>(&prepare_mod)},
    {Op::Pow, built<Op::Pow>(&prepare_pow)},
    {Op::Min, built<Op::Min>(&prepare_min_max)},
    {Op::Max, built<Op::Max>(&prepare_min_max)},
    {Op::PRelu, built<Op::PRelu>(&prepare_prelu)},
    {Op::Equal, built<Op::Equal>(&prepare_compare)},
    {Op::Less, built<Op::Less>(&prepare_compare)},
    {Op::LessOrEqual, built<Op::LessOrEqual>(&prepare_compare)},
    {Op::Greater, built<Op::Greater>(&prepare_compare)},
    {Op::GreaterOrEqual, built<Op::GreaterOrEqual>(&prepare_compare)},
    {Op::And, built<Op::And>(&prepare_and_or)},
    {Op::Or, built<Op::Or>(&prepare_and_or)},
    {Op::Where, built<Op::Where>(&prepare_where)},
};

}  // namespace

const OpRowTable kElementwiseRows = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
