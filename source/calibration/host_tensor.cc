#include "calibration/host_tensor.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace lq::calibration {
namespace {

template <typename F>
bool with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Float32:
      return f(float{}), true;
    case DType::Float64:
      return f(double{}), true;
    case DType::Int8:
      return f(int8_t{}), true;
    case DType::UInt8:
      return f(uint8_t{}), true;
    case DType::Int16:
      return f(int16_t{}), true;
    case DType::UInt16:
      return f(uint16_t{}), true;
    case DType::Int32:
      return f(int32_t{}), true;
    case DType::UInt32:
      return f(uint32_t{}), true;
    case DType::Int64:
      return f(int64_t{}), true;
    case DType::UInt64:
      return f(uint64_t{}), true;
    case DType::Bool:
      return f(uint8_t{}), true;
    default:
      return false;
  }
}

bool is_float(DType d) { return d == DType::Float32 || d == DType::Float64; }

template <typename From, typename To>
bool convert_elements(const From* from, To* to, int64_t count, bool to_bool) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<To>) {
      const bool fits = std::is_integral_v<From> &&
                        std::in_range<To>(std::conditional_t<std::is_integral_v<From>, From, int>(from[i]));
      if (!fits || (to_bool && from[i] != From(0) && from[i] != From(1))) return false;
    }
    to[i] = To(from[i]);
  }
  return true;
}

}  // namespace

Result<HostTensor> make_tensor(DType dtype, const Shape& shape) {
  const int64_t count = element_count(shape);
  const size_t size = dtype_size(dtype);
  for (int64_t d : shape) {
    if (d < 0) return invalid_argument("negative dimension in shape " + shape_string(shape));
  }
  if (size == 0) return unsupported(std::string("tensor of type ") + dtype_name(dtype));
  if (count < 0 || count > kMaxTensorBytes / int64_t(size))
    return invalid_argument("shape " + shape_string(shape) + " is too large");
  HostTensor t{dtype, shape, {}};
  t.data.resize(size_t(count) * size);
  return t;
}

Result<HostTensor> convert_tensor(HostTensor tensor, DType to) {
  if (tensor.dtype == to) return tensor;
  const std::string what =
      std::string("values of type ") + dtype_name(tensor.dtype) + " cannot become " + dtype_name(to);
  if (is_float(tensor.dtype) && !is_float(to)) return invalid_argument(what + "; store them with the model's type");
  LQ_ASSIGN_OR_RETURN(HostTensor out, make_tensor(to, tensor.shape));
  const int64_t count = element_count(tensor.shape);
  bool ok = false;
  const bool known = with_type(tensor.dtype, [&](auto from) {
    with_type(to, [&](auto target) {
      ok = convert_elements(tensor.as<decltype(from)>(), out.as<decltype(target)>(), count, to == DType::Bool);
    });
  });
  if (!known || !ok) return invalid_argument(what + (known ? ": a value is out of range" : ""));
  return out;
}

}  // namespace lq::calibration
