// Add, Sub, Mul, Div, Mod, Min, Max, PRelu. Float: one IEEE operation each. Integers wrap modulo 2^bits; division by
// zero is an error of the run, and the one quotient that overflows (lowest / −1) wraps too.
#include <limits>

#include "runtime/ops/binary_loop.h"
#include "runtime/ops/elementwise.h"
#include "runtime/ops/elementwise_s8.h"

namespace lq {
namespace {

// Unsigned and at least as wide as int, so that wrapping is defined.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

struct AddFn {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) + Wrapping<T>(b));
    else
      return T(a + b);
  }
};
struct SubFn {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) - Wrapping<T>(b));
    else
      return T(a - b);
  }
};
struct MulFn {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) * Wrapping<T>(b));
    else
      return T(a * b);
  }
};
struct DivFn {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return SubFn::apply(T(0), a);
      }
      return b == 0 ? T(0) : T(a / b);  // zero is reported by run_checked before the loop
    } else {
      return T(a / b);
    }
  }
};
// Mod with fmod = 0: the result has the divisor's sign (Python's %).
struct FloorModFn {
  template <typename T>
  static T apply(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return 0;
    }
    const T r = T(a % b);
    return r != 0 && ((r < 0) != (b < 0)) ? T(r + b) : r;
  }
};
// Mod with fmod = 1: the dividend's sign (C's % and fmod; fmod is exact, so any libm gives the same bits).
struct TruncModFn {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return 0;
      }
      return T(a % b);
    } else if constexpr (std::is_same_v<T, double>) {
      return std::fmod(a, b);
    } else {
      return T(std::fmod(float(a), float(b)));
    }
  }
};
// Operand order as clamp_nan_to_low: the second operand wins when the first is NaN and when both are zeros.
struct MinFn {
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct MaxFn {
  template <typename T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
};
struct PReluFn {
  template <typename T>
  static T apply(T x, T slope) {
    if constexpr (std::is_integral_v<T>)
      return x < 0 ? MulFn::apply(x, slope) : x;
    else
      return x < T(0.0f) ? T(x * slope) : x;
  }
};

// Integer Div and Mod: the divisor is scanned first, so that a zero fails the run instead of giving a number.
template <typename F, typename T>
Status run_checked(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<BinaryParams>();
  const T* b = context.input<T>(step, 1);
  const Shape& shape = params.operands[1].aligned;
  const int64_t n = dims_product(shape, 0, shape.size());
  for (int64_t i = 0; i < n; ++i) {
    if (b[i] == 0) return invalid_argument("integer division by zero");
  }
  return run_binary<F, T, T>(step, context);
}

template <typename F>
RunFn select_number(DType dtype) {
  return for_number_type(dtype, [](auto tag) -> RunFn {
    using T = typename decltype(tag)::type;
    return &run_binary<F, T, T>;
  });
}
template <typename F>
RunFn select_checked_integer(DType dtype) {
  return for_integer_type(dtype, [](auto tag) -> RunFn { return &run_checked<F, typename decltype(tag)::type>; });
}
template <typename F>
RunFn select_real(DType dtype) {
  return for_real_type(dtype, [](auto tag) -> RunFn {
    using T = typename decltype(tag)::type;
    return &run_binary<F, T, T>;
  });
}

Status prepare_binary(OpPrepare& p, const char* name, RunFn run) {
  if (p.input(0).dtype != p.input(1).dtype) return invalid_argument("both inputs must have the same type");
  BinaryParams& params = p.make_params<BinaryParams>();
  LQ_RETURN_IF_ERROR(prepare_broadcast(p, {0, 1}, params));
  if (p.node.fused_clamp && p.output(0).dtype == DType::Float32) {
    params.clamp = true;
    params.low = p.node.fused_clamp->min;
    params.high = p.node.fused_clamp->max;
  }
  return set_kernel(p, params, name, p.input(0).dtype, run);
}

Status prepare_checked_integer(OpPrepare& p, const char* name, RunFn run) {
  if (p.output(0).blocked_axis == 1) return unsupported("integer division in blocked layout");
  LQ_RETURN_IF_ERROR(prepare_binary(p, name, run));
  static_cast<BinaryParams*>(p.step.params.get())->operands[1].aligned = p.input(1).shape;
  return {};
}

bool is_integer(DType dtype) {
  return for_integer_type(dtype, [](auto) -> RunFn { return &run_binary<MinFn, int64_t, int64_t>; }) != nullptr;
}

}  // namespace

Status prepare_add_sub(OpPrepare& p) {
  if (is_quantized(p.input(0))) return prepare_add_sub_s8(p);
  const DType dtype = p.input(0).dtype;
  return p.node.op == Op::Add ? prepare_binary(p, "add", select_number<AddFn>(dtype))
                              : prepare_binary(p, "sub", select_number<SubFn>(dtype));
}

Status prepare_mul(OpPrepare& p) {
  if (is_quantized(p.input(0))) return prepare_mul_s8(p);
  return prepare_binary(p, "mul", select_number<MulFn>(p.input(0).dtype));
}

Status prepare_div(OpPrepare& p) {
  const DType dtype = p.input(0).dtype;
  if (is_integer(dtype)) return prepare_checked_integer(p, "div", select_checked_integer<DivFn>(dtype));
  return prepare_binary(p, "div", select_real<DivFn>(dtype));
}

Status prepare_mod(OpPrepare& p) {
  const DType dtype = p.input(0).dtype;
  const bool fmod = attrs_as<schema::ModAttrsT>(p.node).fmod;
  if (is_integer(dtype)) {
    return prepare_checked_integer(
        p, "mod", fmod ? select_checked_integer<TruncModFn>(dtype) : select_checked_integer<FloorModFn>(dtype));
  }
  if (!fmod) return invalid_argument("Mod of real numbers needs the attribute fmod = 1");
  return prepare_binary(p, "fmod", select_real<TruncModFn>(dtype));
}

Status prepare_prelu(OpPrepare& p) {
  if (is_quantized(p.input(0))) return prepare_prelu_s8(p);
  return prepare_binary(p, "prelu", select_number<PReluFn>(p.input(0).dtype));
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

template <typename F, typename T>
Status run_variadic(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<VariadicParams>();
  T* y = context.output<T>(step, 0);
  const auto combine = [&](const BinaryParams& part, const T* a, size_t stride_row, const T* b) {
    const StridedLoop<4>& loop = part.loop;
    const int64_t sa = loop.strides[stride_row][loop.rank - 1], sb = loop.strides[2][loop.rank - 1];
    parallel(context, loop.count, kElementGrain, [&](int64_t begin, int64_t end, int) {
      for_rows(loop, begin, end, [&](const int64_t* at, int64_t n) {
        binary_row<F, T, T>(a + at[stride_row], sa, b + at[2], sb, y + at[0], n);
      });
    });
  };
  for (const BinaryParams& part : params.first) {
    const T* a = static_cast<const T*>(broadcast_operand(part, 0, part.input_index[0], step, context));
    const T* b = static_cast<const T*>(broadcast_operand(part, 1, part.input_index[1], step, context));
    combine(part, a, 1, b);
  }
  for (const VariadicParams::Next& next : params.next) {
    const T* b = static_cast<const T*>(broadcast_operand(next.params, 1, next.input, step, context));
    combine(next.params, y, 0, b);
  }
  finish_broadcast(params.first[0], y);
  return {};
}

template <typename F>
RunFn select_variadic(DType dtype) {
  return for_number_type(dtype, [](auto tag) -> RunFn { return &run_variadic<F, typename decltype(tag)::type>; });
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
  return p.node.op == Op::Min ? set_kernel(p, params, "min", dtype, select_variadic<MinFn>(dtype))
                              : set_kernel(p, params, "max", dtype, select_variadic<MaxFn>(dtype));
}

}  // namespace lq
