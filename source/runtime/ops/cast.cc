// Cast between every number type and bool. Real -> integer truncates toward zero and saturates, NaN gives 0 (ONNX
// leaves both undefined); integer -> narrower integer keeps the low bits; anything but 0 is true.
#include <cmath>
#include <limits>

#include "runtime/ops/broadcast.h"
#include "runtime/ops/elementwise.h"

namespace lq {
namespace {

struct BoolByte {
  uint8_t value;
};

using CastRowFn = void (*)(const void* x, void* y, int64_t n);

struct CastParams : NamedParams {
  int64_t count = 0;
  CastRowFn row = nullptr;
  size_t x_size = 0, y_size = 0;  // bytes of an element
};

template <typename From>
inline constexpr bool kIsFloating = kIsReal<From> || std::is_same_v<From, BFloat16>;

template <typename To>
To real_to_integer(double v) {
  if (!(v == v)) return 0;
  // 2^digits is exact in double, unlike max() of the 64-bit types.
  const double above = std::ldexp(1.0, std::numeric_limits<To>::digits);
  if (v >= above) return std::numeric_limits<To>::max();
  if (v <= double(std::numeric_limits<To>::lowest())) return std::numeric_limits<To>::lowest();
  return To(v);
}

template <typename From, typename To>
To convert(From v) {
  if constexpr (std::is_same_v<From, To>) {
    return v;
  } else if constexpr (std::is_same_v<From, BoolByte>) {
    return convert<uint8_t, To>(v.value != 0 ? 1 : 0);
  } else if constexpr (std::is_same_v<To, BoolByte>) {
    if constexpr (std::is_integral_v<From>)
      return {uint8_t(v != 0)};
    else if constexpr (std::is_same_v<From, double>)
      return {uint8_t(v != 0)};
    else
      return {uint8_t(float(v) != 0)};
  } else if constexpr (kIsFloating<From>) {
    if constexpr (std::is_integral_v<To>)
      return real_to_integer<To>(double(v));
    else if constexpr (std::is_same_v<From, double>)
      return To(v);
    else
      return To(float(v));
  } else {  // integer source
    if constexpr (std::is_integral_v<To> || std::is_same_v<To, float>)
      return To(v);
    else
      return To(double(v));
  }
}

template <typename From, typename To>
void cast_row(const void* x, void* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<To*>(y)[i] = convert<From, To>(static_cast<const From*>(x)[i]);
}

Status run_cast(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<CastParams>();
  const uint8_t* x = context.input<uint8_t>(step, 0);
  uint8_t* y = context.output<uint8_t>(step, 0);
  parallel(context, params.count, kElementGrain, [&](int64_t begin, int64_t end, int) {
    params.row(x + begin * int64_t(params.x_size), y + begin * int64_t(params.y_size), end - begin);
  });
  return {};
}

template <typename F>
CastRowFn for_any_type(DType dtype, F&& f) {
  if (dtype == DType::Bool) return f(TypeTag<BoolByte>{});
  if (dtype == DType::BFloat16) return f(TypeTag<BFloat16>{});
  return for_number_type(dtype, f);
}

}  // namespace

Status prepare_cast(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  if (is_quantized(x) || is_quantized(y)) return invalid_argument("Cast of quantized tensors; use DequantizeLinear");
  if (x.blocked_axis != y.blocked_axis) return internal_error("input and output differ in layout");
  CastParams& params = p.make_params<CastParams>();
  params.count = storage_elements(x);  // padding lanes are 0 and stay 0
  params.x_size = dtype_size(x.dtype), params.y_size = dtype_size(y.dtype);
  params.row = for_any_type(x.dtype, [&](auto from) -> CastRowFn {
    return for_any_type(y.dtype, [](auto to) -> CastRowFn {
      return &cast_row<typename decltype(from)::type, typename decltype(to)::type>;
    });
  });
  if (params.row == nullptr) {
    return unsupported(std::string("Cast from ") + dtype_name(x.dtype) + " to " + dtype_name(y.dtype));
  }
  params.kernel_name = std::string("cast_") + short_dtype(x.dtype) + "_" + short_dtype(y.dtype) + "__scalar";
  p.set(params.kernel_name.c_str(), Isa::kScalar, run_cast);
  return {};
}

}  // namespace lq
