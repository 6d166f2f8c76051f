// The elementwise operators' rows; the code is in elementwise_*.cc (float, integers, bool), elementwise_s8.cc and
// cast.cc.
#include "runtime/ops/elementwise.h"

#include "runtime/ops/tables.h"

namespace lq {
namespace {

const OpRow kRows[] = {
    {Op::Relu, &prepare_unary},
    {Op::LeakyRelu, &prepare_unary},
    {Op::Elu, &prepare_unary},
    {Op::Selu, &prepare_unary},
    {Op::Sigmoid, &prepare_unary},
    {Op::HardSigmoid, &prepare_unary},
    {Op::HardSwish, &prepare_unary},
    {Op::Silu, &prepare_unary},
    {Op::Tanh, &prepare_unary},
    {Op::Gelu, &prepare_unary},
    {Op::Erf, &prepare_unary},
    {Op::Softplus, &prepare_unary},
    {Op::Sqrt, &prepare_unary},
    {Op::Exp, &prepare_unary},
    {Op::Log, &prepare_unary},
    {Op::Neg, &prepare_unary},
    {Op::Abs, &prepare_unary},
    {Op::Reciprocal, &prepare_unary},
    {Op::Floor, &prepare_unary},
    {Op::Ceil, &prepare_unary},
    {Op::Round, &prepare_unary},
    {Op::Sign, &prepare_unary},
    {Op::Sin, &prepare_unary},
    {Op::Cos, &prepare_unary},
    {Op::Clip, &prepare_clip},
    {Op::Not, &prepare_not},
    {Op::Cast, &prepare_cast},
    {Op::Add, &prepare_add_sub},
    {Op::Sub, &prepare_add_sub},
    {Op::Mul, &prepare_mul},
    {Op::Div, &prepare_div},
    {Op::Mod, &prepare_mod},
    {Op::Pow, &prepare_pow},
    {Op::Min, &prepare_min_max},
    {Op::Max, &prepare_min_max},
    {Op::PRelu, &prepare_prelu},
    {Op::Equal, &prepare_compare},
    {Op::Less, &prepare_compare},
    {Op::LessOrEqual, &prepare_compare},
    {Op::Greater, &prepare_compare},
    {Op::GreaterOrEqual, &prepare_compare},
    {Op::And, &prepare_and_or},
    {Op::Or, &prepare_and_or},
    {Op::Where, &prepare_where},
};

}  // namespace

const OpRowTable kElementwiseRows = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
