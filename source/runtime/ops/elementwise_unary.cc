// One input, elementwise. Simple arithmetic is single IEEE operations in the tensor's type; everything transcendental
// is T(f(double(x))) with f from numerics/elementary.h. Works on the whole storage of either layout.
#include <cmath>
#include <limits>

#include "graph/built_ops.h"
#include "kernels/function_kernels.h"
#include "kernels/registry.h"
#include "numerics/elementary.h"
#include "runtime/ops/blocked.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/elementwise.h"
#include "runtime/ops/elementwise_s8.h"

namespace lq {
namespace {

constexpr bool kAnyInt8 =
    any_form_built<kFormInt8, Op::Relu, Op::LeakyRelu, Op::Elu, Op::Selu, Op::Sigmoid, Op::HardSigmoid, Op::HardSwish,
                   Op::Silu, Op::Tanh, Op::Gelu, Op::Erf, Op::Softplus, Op::Sqrt, Op::Exp, Op::Log, Op::Neg, Op::Abs,
                   Op::Reciprocal, Op::Floor, Op::Ceil, Op::Round, Op::Sign, Op::Sin, Op::Cos>();

struct UnaryParams;
using RealFunction = double (*)(double x, const UnaryParams& params);
using UnaryRowFn = void (*)(const void* x, void* y, int64_t n, const UnaryParams& params);

struct UnaryParams : NamedParams {
  int64_t count = 0;     // elements of the storage
  BlockedShape blocked;  // of a blocked tensor; without padding lanes else
  float alpha = 0, beta = 0, gamma = 0;
  bool tanh_approximation = false;
  RealFunction function = nullptr;
  Op function_op = Op::Undefined;
  UnaryRowFn row = nullptr;
  FunctionF32Fn kernel = nullptr;  // of the function, where the processor has one
  size_t size = 0;                 // of an element
  int64_t grain = kElementGrain;
};

Status fill_params(OpPrepare& p, UnaryParams& params) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  if (x.blocked_axis != y.blocked_axis) return internal_error("input and output differ in layout");
  params.count = storage_elements(x);
  if (is_blocked(y)) params.blocked = blocked_shape(y.shape);
  const auto& attrs = attrs_as<schema::ActivationAttrsT>(p.node);
  params.alpha = attrs.alpha;
  params.beta = attrs.beta;
  params.gamma = attrs.gamma;
  params.tanh_approximation = attrs_as<schema::GeluAttrsT>(p.node).tanh_approximation;
  return {};
}

void finish_unary(const UnaryParams& params, void* y, size_t element_size) {
  const BlockedShape& s = params.blocked;
  if (s.tail != kBlock) clear_padding_lanes(y, element_size, s.n, s.c, s.spatial);
}

Status run_unary(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<UnaryParams>();
  const uint8_t* x = context.input<uint8_t>(step, 0);
  uint8_t* y = context.output<uint8_t>(step, 0);
  parallel(context, params.count, params.grain, [&](int64_t begin, int64_t end, int) {
    params.row(x + begin * int64_t(params.size), y + begin * int64_t(params.size), end - begin, params);
  });
  finish_unary(params, y, params.size);
  return {};
}

void unary_piece(const Step& step, const RunContext& context, int64_t at, int64_t n) {
  const auto& params = step.params_as<UnaryParams>();
  float* y = context.output<float>(step, 0);
  params.row(context.input<float>(step, 0) + at, y + at, n, params);
  restore_lanes_of_piece(y, params.blocked, at, n);
}

/// A float row on NCHWc8 can be done piece by piece.
void offer_piece(OpPrepare& p) {
  if (p.input(0).dtype == DType::Float32 && is_blocked(p.output(0))) p.step.piece = &unary_piece;
}

Status set_row(OpPrepare& p, UnaryParams& params, const char* name, UnaryRowFn row) {
  params.row = row;
  params.size = dtype_size(p.input(0).dtype);
  offer_piece(p);
  return set_kernel(p, params, name, p.input(0).dtype, row != nullptr ? &run_unary : nullptr);
}

template <typename T>
void function_row(const void* x, void* y, int64_t n, const UnaryParams& params) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<T*>(y)[i] = T(params.function(double(static_cast<const T*>(x)[i]), params));
}

void kernel_row(const void* x, void* y, int64_t n, const UnaryParams& params) {
  const auto exact = [](double v, const void* context) {
    const auto& p = *static_cast<const UnaryParams*>(context);
    return p.function(v, p);
  };
  const bool swish = params.function_op == Op::HardSwish;
  params.kernel({static_cast<const float*>(x), static_cast<float*>(y), n, swish ? 1.0 / 6 : double(params.alpha),
                 swish ? 0.5 : double(params.beta), exact, &params});
}

// F::apply(T, alpha) -> T
template <typename F, typename T>
void simple_row(const void* x, void* y, int64_t n, const UnaryParams& params) {
  const float alpha = params.alpha;
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(y)[i] = F::apply(static_cast<const T*>(x)[i], alpha);
}

struct ReluFn {  // NaN gives 0, as the clamp of quantize.h
  template <typename T>
  static T apply(T x, float) {
    if constexpr (std::is_integral_v<T>)
      return x > 0 ? x : T(0);
    else
      return x > T(0.0f) ? x : T(0.0f);
  }
};
struct LeakyReluFn {
  template <typename T>
  static T apply(T x, float alpha) {
    return x < T(0.0f) ? T(x * alpha) : x;
  }
};
struct NegFn {
  template <typename T>
  static T apply(T x, float) {
    if constexpr (std::is_integral_v<T>)
      return T(uint64_t(0) - uint64_t(x));
    else
      return T(-x);
  }
};
struct AbsFn {
  template <typename T>
  static T apply(T x, float) {
    if constexpr (std::is_unsigned_v<T>)
      return x;
    else if constexpr (std::is_integral_v<T>)
      return x < 0 ? NegFn::apply(x, 0) : x;
    else if constexpr (std::is_same_v<T, double>)
      return std::fabs(x);
    else
      return T(std::fabs(float(x)));
  }
};
struct SignFn {
  template <typename T>
  static T apply(T x, float) {
    if constexpr (std::is_unsigned_v<T>)
      return T(x > 0);
    else if constexpr (std::is_integral_v<T>)
      return T((x > 0) - (x < 0));
    else
      return x > T(0.0f) ? T(1.0f) : x < T(0.0f) ? T(-1.0f) : x;  // ±0 and NaN stay
  }
};
// Exact IEEE operations below: any libm gives the same bits.
struct SqrtFn {
  template <typename T>
  static T apply(T x, float) {
    if constexpr (std::is_same_v<T, double>)
      return std::sqrt(x);
    else
      return T(std::sqrt(float(x)));
  }
};
struct FloorFn {
  template <typename T>
  static T apply(T x, float) {
    if constexpr (std::is_same_v<T, double>)
      return std::floor(x);
    else
      return T(std::floor(float(x)));
  }
};
struct CeilFn {
  template <typename T>
  static T apply(T x, float) {
    if constexpr (std::is_same_v<T, double>)
      return std::ceil(x);
    else
      return T(std::ceil(float(x)));
  }
};
struct RoundFn {  // half to even
  template <typename T>
  static T apply(T x, float) {
    if constexpr (std::is_same_v<T, double>)
      return std::nearbyint(x);
    else
      return T(std::nearbyint(float(x)));
  }
};
struct ReciprocalFn {
  template <typename T>
  static T apply(T x, float) {
    return T(T(1.0f) / x);
  }
};

template <typename F>
UnaryRowFn real(DType dtype) {
  return for_real_type(dtype, [](auto tag) -> UnaryRowFn { return &simple_row<F, typename decltype(tag)::type>; });
}
template <typename F>
UnaryRowFn number(DType dtype) {
  return for_number_type(dtype, [](auto tag) -> UnaryRowFn { return &simple_row<F, typename decltype(tag)::type>; });
}

struct FunctionRow {
  Op op;
  const char* name;
  RealFunction function;
};
using P = const UnaryParams&;
/// nullptr, and no code, where a selective build never computes it on floats.
template <Op kOp, typename F>
constexpr RealFunction function(F f) {
  if constexpr (any_form_built<kNotInt8, kOp>()) return f;
  return nullptr;
}
const FunctionRow kFunctions[] = {
    {Op::Elu, "elu", function<Op::Elu>([](double x, P p) { return elementary::elu(x, double(p.alpha)); })},
    {Op::Selu, "selu",
     function<Op::Selu>([](double x, P p) { return elementary::selu(x, double(p.alpha), double(p.gamma)); })},
    {Op::Sigmoid, "sigmoid", function<Op::Sigmoid>([](double x, P) { return elementary::sigmoid(x); })},
    {Op::HardSigmoid, "hard_sigmoid", function<Op::HardSigmoid>([](double x, P p) {
       return elementary::hard_sigmoid(x, double(p.alpha), double(p.beta));
     })},
    {Op::HardSwish, "hard_swish", function<Op::HardSwish>([](double x, P) { return elementary::hard_swish(x); })},
    {Op::Silu, "silu", function<Op::Silu>([](double x, P) { return elementary::silu(x); })},
    {Op::Tanh, "tanh", function<Op::Tanh>([](double x, P) { return elementary::tanh(x); })},
    {Op::Gelu, "gelu", function<Op::Gelu>([](double x, P p) { return elementary::gelu(x, p.tanh_approximation); })},
    {Op::Erf, "erf", function<Op::Erf>([](double x, P) { return elementary::erf(x); })},
    {Op::Softplus, "softplus", function<Op::Softplus>([](double x, P) { return elementary::log1p_exp(x); })},
    {Op::Exp, "exp", function<Op::Exp>([](double x, P) { return elementary::exp(x); })},
    {Op::Log, "log", function<Op::Log>([](double x, P) { return elementary::log(x); })},
    {Op::Sin, "sin", function<Op::Sin>([](double x, P) { return elementary::sin(x); })},
    {Op::Cos, "cos", function<Op::Cos>([](double x, P) { return elementary::cos(x); })},
};

/// The operator's row, for real types or for every number.
template <Op kOp, typename F>
Status set_simple(OpPrepare& p, UnaryParams& params, const char* name) {
  constexpr bool kNumbers = kOp == Op::Relu || kOp == Op::Neg || kOp == Op::Abs || kOp == Op::Sign;
  if constexpr (!any_form_built<kNotInt8, kOp>()) {
    return not_built(p.node);
  } else if constexpr (kNumbers) {
    return set_row(p, params, name, number<F>(p.input(0).dtype));
  } else {
    return set_row(p, params, name, real<F>(p.input(0).dtype));
  }
}

Status prepare_simple(OpPrepare& p, UnaryParams& params) {
  switch (p.node.op) {
    case Op::Relu:
      return set_simple<Op::Relu, ReluFn>(p, params, "relu");
    case Op::LeakyRelu:
      return set_simple<Op::LeakyRelu, LeakyReluFn>(p, params, "leaky_relu");
    case Op::Neg:
      return set_simple<Op::Neg, NegFn>(p, params, "neg");
    case Op::Abs:
      return set_simple<Op::Abs, AbsFn>(p, params, "abs");
    case Op::Sign:
      return set_simple<Op::Sign, SignFn>(p, params, "sign");
    case Op::Sqrt:
      return set_simple<Op::Sqrt, SqrtFn>(p, params, "sqrt");
    case Op::Floor:
      return set_simple<Op::Floor, FloorFn>(p, params, "floor");
    case Op::Ceil:
      return set_simple<Op::Ceil, CeilFn>(p, params, "ceil");
    case Op::Round:
      return set_simple<Op::Round, RoundFn>(p, params, "round");
    case Op::Reciprocal:
      return set_simple<Op::Reciprocal, ReciprocalFn>(p, params, "reciprocal");
    default:
      return unsupported(std::string("no kernel for ") + op_name(p.node.op));
  }
}

Status run_not(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<UnaryParams>();
  const uint8_t* x = context.input<uint8_t>(step, 0);
  uint8_t* y = context.output<uint8_t>(step, 0);
  parallel(context, params.count, kElementGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) y[i] = x[i] == 0;
  });
  finish_unary(params, y, 1);
  return {};
}

// Clip: bounds are scalars read at run time (constants almost always). Without a bound that side is open. Integers and
// reals alike: v > lo ? v : lo, then t < hi ? t : hi.
template <typename T>
Status run_clip(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<UnaryParams>();
  const T* x = context.input<T>(step, 0);
  const T* min = context.input<T>(step, 1);
  const T* max = context.input<T>(step, 2);
  T* y = context.output<T>(step, 0);
  T low, high;
  if constexpr (kIsReal<T>) {
    low = min ? *min : T(-std::numeric_limits<float>::infinity());
    high = max ? *max : T(std::numeric_limits<float>::infinity());
  } else {
    low = min ? *min : std::numeric_limits<T>::lowest();
    high = max ? *max : std::numeric_limits<T>::max();
  }
  parallel(context, params.count, kElementGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const T t = x[i] > low ? x[i] : low;
      y[i] = t < high ? t : high;
    }
  });
  finish_unary(params, y, sizeof(T));
  return {};
}

}  // namespace

Status prepare_unary(OpPrepare& p) {
  if constexpr (kAnyInt8) {
    if (is_quantized(p.input(0))) return prepare_table_s8(p);
  }
  UnaryParams& params = p.make_params<UnaryParams>();
  LQ_RETURN_IF_ERROR(fill_params(p, params));
  for (const FunctionRow& row : kFunctions) {
    if (row.op != p.node.op) continue;
    if (row.function == nullptr) return not_built(p.node);
    params.function = row.function;
    const DType dtype = p.input(0).dtype;
    params.function_op = row.op;
    const KernelRow* kernel = find_kernel((row.name + std::string("_f32")).c_str(), p.isa);
    if (dtype == DType::Float32 && kernel != nullptr) {
      params.kernel = reinterpret_cast<FunctionF32Fn>(kernel->fn);
      params.grain = kElementGrain / 4;
      params.row = &kernel_row;
      params.size = sizeof(float);
      p.set(kernel->name, kernel->isa, &run_unary);
      offer_piece(p);
      return {};
    }
    params.grain = kElementGrain / 16;
    return set_row(p, params, row.name, for_real_type(dtype, [](auto tag) -> UnaryRowFn {
                     return &function_row<typename decltype(tag)::type>;
                   }));
  }
  return prepare_simple(p, params);
}

Status prepare_clip(OpPrepare& p) {
  if constexpr (any_form_built<kFormInt8, Op::Clip>()) {
    if (is_quantized(p.input(0))) return prepare_table_s8(p);
  }
  if constexpr (!any_form_built<kNotInt8, Op::Clip>()) return not_built(p.node);
  for (size_t i = 1; i <= 2; ++i) {
    if (!p.has_input(i)) continue;
    if (p.input(i).dtype != p.input(0).dtype) return invalid_argument("Clip's bounds must have the type of its input");
    if (element_count(p.input(i).shape) != 1) return invalid_argument("Clip's bounds must be scalars");
  }
  UnaryParams& params = p.make_params<UnaryParams>();
  LQ_RETURN_IF_ERROR(fill_params(p, params));
  const DType dtype = p.input(0).dtype;
  return set_kernel(p, params, "clip", dtype,
                    for_number_type(dtype, [](auto tag) -> RunFn { return &run_clip<typename decltype(tag)::type>; }));
}

Status prepare_not(OpPrepare& p) {
  UnaryParams& params = p.make_params<UnaryParams>();
  LQ_RETURN_IF_ERROR(fill_params(p, params));
  return set_kernel(p, params, "not", p.input(0).dtype, p.input(0).dtype == DType::Bool ? &run_not : nullptr);
}

}  // namespace lq
