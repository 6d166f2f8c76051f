// Comparisons (any number type -> bool), And, Or, Where.
#include "runtime/ops/binary_loop.h"
#include "runtime/ops/elementwise.h"

namespace lq {
namespace {

struct EqualFn {
  template <typename T>
  static uint8_t apply(T a, T b) {
    return a == b;
  }
};
struct LessFn {
  template <typename T>
  static uint8_t apply(T a, T b) {
    return a < b;
  }
};
struct LessOrEqualFn {
  template <typename T>
  static uint8_t apply(T a, T b) {
    return a <= b;
  }
};
struct GreaterFn {
  template <typename T>
  static uint8_t apply(T a, T b) {
    return a > b;
  }
};
struct GreaterOrEqualFn {
  template <typename T>
  static uint8_t apply(T a, T b) {
    return a >= b;
  }
};
// Bool tensors hold 0 or 1; any other byte an input might carry counts as true.
struct AndFn {
  static uint8_t apply(uint8_t a, uint8_t b) { return (a != 0) & (b != 0); }
};
struct OrFn {
  static uint8_t apply(uint8_t a, uint8_t b) { return (a != 0) | (b != 0); }
};
struct EqualBoolFn {
  static uint8_t apply(uint8_t a, uint8_t b) { return (a != 0) == (b != 0); }
};

template <typename F>
BinaryRowFn select_compare(DType dtype) {
  return for_number_type(dtype,
                         [](auto tag) -> BinaryRowFn { return &binary_row<F, typename decltype(tag)::type, uint8_t>; });
}

Status prepare_predicate(OpPrepare& p, const char* name, BinaryRowFn row) {
  if (p.input(0).dtype != p.input(1).dtype) return invalid_argument("both inputs must have the same type");
  BinaryParams& params = p.make_params<BinaryParams>();
  LQ_RETURN_IF_ERROR(prepare_broadcast(p, {0, 1}, params));
  params.row = row;
  params.input_size = dtype_size(p.input(0).dtype);
  return set_kernel(p, params, name, p.input(0).dtype, row != nullptr ? &run_binary : nullptr);
}

template <typename T>
Status run_where(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<BroadcastParams>();
  const StridedLoop<4>& loop = params.loop;
  const uint8_t* condition = static_cast<const uint8_t*>(broadcast_operand(params, 0, 0, step, context));
  const T* x = static_cast<const T*>(broadcast_operand(params, 1, 1, step, context));
  const T* z = static_cast<const T*>(broadcast_operand(params, 2, 2, step, context));
  T* y = context.output<T>(step, 0);
  const int inner = loop.rank - 1;
  const int64_t sc = loop.strides[1][inner], sx = loop.strides[2][inner], sz = loop.strides[3][inner];
  parallel(context, loop.count, kElementGrain, [&](int64_t begin, int64_t end, int) {
    for_rows(loop, begin, end, [&](const int64_t* at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) y[at[0] + i] = condition[at[1] + i * sc] ? x[at[2] + i * sx] : z[at[3] + i * sz];
    });
  });
  finish_broadcast(params, y);
  return {};
}

}  // namespace

Status prepare_compare(OpPrepare& p) {
  const DType dtype = p.input(0).dtype;
  switch (p.node.op) {
    case Op::Equal: {
      const BinaryRowFn row =
          dtype == DType::Bool ? &binary_row<EqualBoolFn, uint8_t, uint8_t> : select_compare<EqualFn>(dtype);
      return prepare_predicate(p, "equal", row);
    }
    case Op::Less:
      return prepare_predicate(p, "less", select_compare<LessFn>(dtype));
    case Op::LessOrEqual:
      return prepare_predicate(p, "less_or_equal", select_compare<LessOrEqualFn>(dtype));
    case Op::Greater:
      return prepare_predicate(p, "greater", select_compare<GreaterFn>(dtype));
    default:
      return prepare_predicate(p, "greater_or_equal", select_compare<GreaterOrEqualFn>(dtype));
  }
}

Status prepare_and_or(OpPrepare& p) {
  const bool is_bool = p.input(0).dtype == DType::Bool;
  if (p.node.op == Op::And)
    return prepare_predicate(p, "and", is_bool ? &binary_row<AndFn, uint8_t, uint8_t> : nullptr);
  return prepare_predicate(p, "or", is_bool ? &binary_row<OrFn, uint8_t, uint8_t> : nullptr);
}

Status prepare_where(OpPrepare& p) {
  if (p.input(0).dtype != DType::Bool) return invalid_argument("the condition of Where must be bool");
  if (p.input(1).dtype != p.input(2).dtype) return invalid_argument("both values of Where must have the same type");
  BroadcastParams& params = p.make_params<BroadcastParams>();
  LQ_RETURN_IF_ERROR(prepare_broadcast(p, {0, 1, 2}, params));
  const RunFn run = for_element_size(dtype_size(p.output(0).dtype),
                                     [](auto tag) -> RunFn { return &run_where<typename decltype(tag)::type>; });
  return set_kernel(p, params, "where", p.output(0).dtype, run);
}

}  // namespace lq
