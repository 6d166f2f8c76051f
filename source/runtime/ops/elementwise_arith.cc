// Add, Sub, Mul, Div, Mod, Min, Max, PRelu. Float: one IEEE operation each. Integers wrap modulo 2^bits; division by
// zero is an error of the run, and the one quotient that overflows (lowest / −1) wraps too.
#include <cstring>

#include "graph/built_ops.h"
#include "runtime/ops/arith_functions.h"
#include "runtime/ops/elementwise.h"
#include "runtime/ops/elementwise_s16.h"
#include "runtime/ops/elementwise_s8.h"

namespace lq {
namespace {

using namespace arith;

// Integer Div and Mod: the divisor is scanned first, so that a zero fails the run instead of giving a number.
Status run_checked(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<BinaryParams>();
  const uint8_t* b = context.input<uint8_t>(step, 1);
  const Shape& shape = params.operands[1].aligned;
  const int64_t n = dims_product(shape, 0, shape.size());
  constexpr uint8_t kZero[8] = {};
  for (int64_t i = 0; i < n; ++i) {
    if (std::memcmp(b + i * int64_t(params.input_size), kZero, params.input_size) == 0)
      return invalid_argument("integer division by zero");
  }
  return run_binary(step, context);
}

template <typename F>
BinaryRowFn number(DType dtype) {
  return for_number_type(dtype, [](auto tag) -> BinaryRowFn {
    using T = typename decltype(tag)::type;
    return &binary_row<F, T, T>;
  });
}
template <typename F>
BinaryRowFn integer(DType dtype) {
  return for_integer_type(dtype, [](auto tag) -> BinaryRowFn {
    using T = typename decltype(tag)::type;
    return &binary_row<F, T, T>;
  });
}
template <typename F>
BinaryRowFn real(DType dtype) {
  return for_real_type(dtype, [](auto tag) -> BinaryRowFn {
    using T = typename decltype(tag)::type;
    return &binary_row<F, T, T>;
  });
}

Status prepare_binary(OpPrepare& p, const char* name, BinaryRowFn row, RunFn run = &run_binary) {
  if (p.input(0).dtype != p.input(1).dtype) return invalid_argument("both inputs must have the same type");
  BinaryParams& params = p.make_params<BinaryParams>();
  LQ_RETURN_IF_ERROR(prepare_broadcast(p, {0, 1}, params));
  params.row = row;
  params.input_size = dtype_size(p.input(0).dtype);
  if (p.node.fused_clamp && p.output(0).dtype == DType::Float32) {
    params.clamp = true;
    params.low = p.node.fused_clamp->min;
    params.high = p.node.fused_clamp->max;
  }
  if (run == &run_binary && row != nullptr) offer_binary_piece(p, params);
  return set_kernel(p, params, name, p.input(0).dtype, row != nullptr ? run : nullptr);
}

/// An operator that often meets one value a channel.
template <typename F>
Status prepare_repeating(OpPrepare& p, const char* name) {
  const DType dtype = p.input(0).dtype;
  LQ_RETURN_IF_ERROR(prepare_binary(p, name, number<F>(dtype)));
  if (dtype == DType::Float32) choose_repeat<F>(*static_cast<BinaryParams*>(p.step.params.get()));
  return {};
}

Status prepare_checked_integer(OpPrepare& p, const char* name, BinaryRowFn row) {
  if (p.output(0).blocked_axis == 1) return unsupported("integer division in blocked layout");
  LQ_RETURN_IF_ERROR(prepare_binary(p, name, row, &run_checked));
  static_cast<BinaryParams*>(p.step.params.get())->operands[1].aligned = p.input(1).shape;
  return {};
}

bool is_integer(DType dtype) {
  return for_integer_type(dtype, [](auto) -> RunFn { return &run_binary; }) != nullptr;
}

}  // namespace

Status prepare_add_sub(OpPrepare& p) {
  if constexpr (any_form_built<kFormInt16, Op::Add, Op::Sub>()) {
    if (has_int16_values(p)) return prepare_add_sub_s16(p);
  }
  if constexpr (any_form_built<kFormInt8, Op::Add, Op::Sub>()) {
    if (is_quantized(p.input(0))) return prepare_add_sub_s8(p);
  }
  if constexpr (any_form_built<kNotInt8, Op::Add>()) {
    if (p.node.op == Op::Add) return prepare_repeating<AddFn>(p, "add");
  }
  if constexpr (any_form_built<kNotInt8, Op::Sub>()) return prepare_repeating<SubFn>(p, "sub");
  return not_built(p.node);
}

Status prepare_mul(OpPrepare& p) {
  if constexpr (any_form_built<kFormInt16, Op::Mul>()) {
    if (has_int16_values(p)) return prepare_mul_s16(p);
  }
  if constexpr (any_form_built<kFormInt8, Op::Mul>()) {
    if (is_quantized(p.input(0))) return prepare_mul_s8(p);
  }
  if constexpr (any_form_built<kNotInt8, Op::Mul>()) return prepare_repeating<MulFn>(p, "mul");
  return not_built(p.node);
}

Status prepare_div(OpPrepare& p) {
  const DType dtype = p.input(0).dtype;
  if (is_integer(dtype)) return prepare_checked_integer(p, "div", integer<DivFn>(dtype));
  return prepare_binary(p, "div", real<DivFn>(dtype));
}

Status prepare_mod(OpPrepare& p) {
  const DType dtype = p.input(0).dtype;
  const bool fmod = attrs_as<schema::ModAttrsT>(p.node).fmod;
  if (is_integer(dtype)) {
    return prepare_checked_integer(p, "mod", fmod ? integer<TruncModFn>(dtype) : integer<FloorModFn>(dtype));
  }
  if (!fmod) return invalid_argument("Mod of real numbers needs the attribute fmod = 1");
  return prepare_binary(p, "fmod", real<TruncModFn>(dtype));
}

Status prepare_prelu(OpPrepare& p) {
  if constexpr (any_form_built<kFormInt8, Op::PRelu>()) {
    if (is_quantized(p.input(0))) return prepare_prelu_s8(p);
  }
  if constexpr (any_form_built<kNotInt8, Op::PRelu>())
    return prepare_binary(p, "prelu", number<PReluFn>(p.input(0).dtype));
  return not_built(p.node);
}

namespace {

// Min and Max of one or more inputs: ((x0 ∘ x1) ∘ x2) … into the output, one binary step each. With a single input the
// operand meets itself, which copies it.
struct VariadicParams : NamedParams {
  std::vector<BinaryParams> first;  // out = x0 ∘ x1
  struct Next {
    BinaryParams params;  // operand 0 is the output so far
    size_t input;
  };
  std::vector<Next> next;
};

Status run_variadic(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<VariadicParams>();
  void* y = context.output<void>(step, 0);
  for (const BinaryParams& part : params.first) {
    const void* a = broadcast_operand(part, 0, part.input_index[0], step, context);
    const void* b = broadcast_operand(part, 1, part.input_index[1], step, context);
    run_rows(part, context, a, 1, b, y);
  }
  for (const VariadicParams::Next& next : params.next) {
    run_rows(next.params, context, y, 0, broadcast_operand(next.params, 1, next.input, step, context), y);
  }
  finish_broadcast(params.first[0], y);
  return {};
}

}  // namespace

Status prepare_min_max(OpPrepare& p) {
  const size_t count = p.node.inputs.size();
  for (size_t i = 0; i < count; ++i) {
    if (!p.has_input(i) || p.input(i).dtype != p.input(0).dtype)
      return invalid_argument("all inputs must have the same type");
  }
  VariadicParams& params = p.make_params<VariadicParams>();
  const size_t second = count > 1 ? 1 : 0;
  params.first.resize(1);
  params.first[0].input_index[1] = second;
  LQ_RETURN_IF_ERROR(prepare_broadcast(p, {0, second}, params.first[0]));
  for (size_t i = 2; i < count; ++i) {
    params.next.emplace_back();
    params.next.back().input = i;
    LQ_RETURN_IF_ERROR(prepare_broadcast(p, {i, i}, params.next.back().params));
  }
  const DType dtype = p.input(0).dtype;
  const bool min = p.node.op == Op::Min;
  const BinaryRowFn row = min ? number<MinFn>(dtype) : number<MaxFn>(dtype);
  const auto set_row = [&](BinaryParams& part) { part.row = row, part.input_size = dtype_size(dtype); };
  set_row(params.first[0]);
  for (VariadicParams::Next& next : params.next) set_row(next.params);
  return set_kernel(p, params, min ? "min" : "max", dtype, row != nullptr ? &run_variadic : nullptr);
}

}  // namespace lq
