// Pow: y = T(pow(double(x), double(e))) with numerics' own pow; integer bases with integer exponents are multiplied out
// exactly (wrapping), since a double holds only 53 bits. The exponent may have another type than the base.
#include "numerics/elementary.h"
#include "runtime/ops/binary_loop.h"
#include "runtime/ops/elementwise.h"

namespace lq {
namespace {

using LoadReal = double (*)(const void* data, int64_t i);
using LoadInteger = int64_t (*)(const void* data, int64_t i);

struct PowParams : BroadcastParams {
  LoadReal load_real = nullptr;        // of the exponent
  LoadInteger load_integer = nullptr;  // set when the exponent is an integer
};

template <typename T>
double load_real(const void* data, int64_t i) {
  return double(static_cast<const T*>(data)[i]);
}
template <typename T>
int64_t load_integer(const void* data, int64_t i) {
  return int64_t(static_cast<const T*>(data)[i]);
}

template <typename T>
void set_loads(PowParams& params) {
  params.load_real = &load_real<T>;
  if constexpr (std::is_integral_v<T>) params.load_integer = &load_integer<T>;
}

bool set_exponent_type(DType dtype, PowParams& params) {
  switch (dtype) {
    case DType::Float32:
      set_loads<float>(params);
      return true;
    case DType::Float64:
      set_loads<double>(params);
      return true;
    case DType::Float16:
      set_loads<Half>(params);
      return true;
    case DType::Int8:
      set_loads<int8_t>(params);
      return true;
    case DType::UInt8:
      set_loads<uint8_t>(params);
      return true;
    case DType::Int16:
      set_loads<int16_t>(params);
      return true;
    case DType::UInt16:
      set_loads<uint16_t>(params);
      return true;
    case DType::Int32:
      set_loads<int32_t>(params);
      return true;
    case DType::UInt32:
      set_loads<uint32_t>(params);
      return true;
    case DType::Int64:
      set_loads<int64_t>(params);
      return true;
    case DType::UInt64:
      set_loads<uint64_t>(params);
      return true;
    default:
      return false;
  }
}

// base^exponent modulo 2^64; a negative exponent gives the truncated quotient 1 / base^|exponent| (0 for base 0).
int64_t integer_pow(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 != 0 ? -1 : 1;
    return 0;
  }
  uint64_t result = 1, square = uint64_t(base);
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= square;
    square *= square;
  }
  return int64_t(result);
}

// An integer base with a real exponent: truncated; what does not fit is 0, as an undefined conversion must be
// something.
template <typename T>
T to_integer(double v) {
  constexpr double kLimit = sizeof(T) == 8 ? 9.2e18 : 2147483647.0;
  return v >= -kLimit && v <= kLimit ? T(v) : T(0);
}

template <typename T>
T pow_element(const PowParams& params, T base, const void* exponent, int64_t i) {
  if constexpr (std::is_integral_v<T>) {
    if (params.load_integer) return T(integer_pow(int64_t(base), params.load_integer(exponent, i)));
    return to_integer<T>(elementary::pow(double(base), params.load_real(exponent, i)));
  } else {
    return T(elementary::pow(double(base), params.load_real(exponent, i)));
  }
}

template <typename T>
Status run_pow(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<PowParams>();
  const StridedLoop<4>& loop = params.loop;
  const T* base = static_cast<const T*>(broadcast_operand(params, 0, 0, step, context));
  const void* exponent = broadcast_operand(params, 1, 1, step, context);
  T* y = context.output<T>(step, 0);
  const int64_t stride_base = loop.strides[1][loop.rank - 1], stride_exponent = loop.strides[2][loop.rank - 1];
  parallel(context, loop.count, kElementGrain / 16, [&](int64_t begin, int64_t end, int) {
    for_rows(loop, begin, end, [&](const int64_t* at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        y[at[0] + i] = pow_element<T>(params, base[at[1] + i * stride_base], exponent, at[2] + i * stride_exponent);
      }
    });
  });
  finish_broadcast(params, y);
  return {};
}

RunFn select_pow(DType dtype) {
  switch (dtype) {
    case DType::Int32:
      return &run_pow<int32_t>;
    case DType::Int64:
      return &run_pow<int64_t>;
    default:
      return for_real_type(dtype, [](auto tag) -> RunFn { return &run_pow<typename decltype(tag)::type>; });
  }
}

}  // namespace

Status prepare_pow(OpPrepare& p) {
  PowParams& params = p.make_params<PowParams>();
  if (!set_exponent_type(p.input(1).dtype, params)) {
    return unsupported(std::string("Pow does not take exponents of type ") + dtype_name(p.input(1).dtype));
  }
  LQ_RETURN_IF_ERROR(prepare_broadcast(p, {0, 1}, params));
  return set_kernel(p, params, "pow", p.input(0).dtype, select_pow(p.input(0).dtype));
}

}  // namespace lq
