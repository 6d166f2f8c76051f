// From a run-time dtype to a template instance: f(TypeTag<T>) gives a function pointer. Every selector answers nullptr for a
// type it does not take. Instances should be loops over a row and no more: there are a dozen of each.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

#include "runtime/op.h"
#include "runtime/ops/half.h"

namespace lq {

template <typename T>
struct TypeTag {
  using type = T;
};

template <typename T>
inline constexpr bool kIsReal = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, Half>;

/// For float32, float64, float16.
template <typename F>
auto for_real_type(DType dtype, F&& f) -> decltype(f(TypeTag<float>{})) {
  switch (dtype) {
    case DType::Float32:
      return f(TypeTag<float>{});
    case DType::Float64:
      return f(TypeTag<double>{});
    case DType::Float16:
      return f(TypeTag<Half>{});
    default:
      return nullptr;
  }
}

template <typename F>
auto for_integer_type(DType dtype, F&& f) -> decltype(f(TypeTag<uint8_t>{})) {
  switch (dtype) {
    case DType::Int8:
      return f(TypeTag<int8_t>{});
    case DType::UInt8:
      return f(TypeTag<uint8_t>{});
    case DType::Int16:
      return f(TypeTag<int16_t>{});
    case DType::UInt16:
      return f(TypeTag<uint16_t>{});
    case DType::Int32:
      return f(TypeTag<int32_t>{});
    case DType::UInt32:
      return f(TypeTag<uint32_t>{});
    case DType::Int64:
      return f(TypeTag<int64_t>{});
    case DType::UInt64:
      return f(TypeTag<uint64_t>{});
    default:
      return nullptr;
  }
}

/// Every real and integer type.
template <typename F>
auto for_number_type(DType dtype, F&& f) -> decltype(f(TypeTag<float>{})) {
  const auto real = for_real_type(dtype, f);
  return real ? real : for_integer_type(dtype, f);
}

/// f(TypeTag<uintN_t>) by element size: for code that only moves bits.
template <typename F>
auto for_element_size(size_t size, F&& f) -> decltype(f(TypeTag<uint8_t>{})) {
  switch (size) {
    case 1:
      return f(TypeTag<uint8_t>{});
    case 2:
      return f(TypeTag<uint16_t>{});
    case 4:
      return f(TypeTag<uint32_t>{});
    case 8:
      return f(TypeTag<uint64_t>{});
    default:
      return nullptr;
  }
}

/// "f32", "s8", … as kernel names spell types.
inline const char* short_dtype(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return "f32";
    case DType::Float64:
      return "f64";
    case DType::Float16:
      return "f16";
    case DType::BFloat16:
      return "bf16";
    case DType::Int8:
      return "s8";
    case DType::UInt8:
      return "u8";
    case DType::Int16:
      return "s16";
    case DType::UInt16:
      return "u16";
    case DType::Int32:
      return "s32";
    case DType::UInt32:
      return "u32";
    case DType::Int64:
      return "s64";
    case DType::UInt64:
      return "u64";
    case DType::Bool:
      return "bool";
    default:
      return "?";
  }
}

/// Base of the families' parameter structs: keeps the text of a composed kernel name.
struct NamedParams {
  std::string kernel_name;
};

/// Installs `run` under "<base>_<dtype>__scalar"; fails when run is nullptr (no instance for that dtype).
inline Status set_kernel(OpPrepare& p, NamedParams& params, const char* base, DType dtype, RunFn run) {
  if (run == nullptr) {
    return unsupported(std::string(op_name(p.node.op)) + " does not take " + dtype_name(dtype) + "; cast its input");
  }
  params.kernel_name = std::string(base) + "_" + short_dtype(dtype) + "__scalar";
  p.set(params.kernel_name.c_str(), Isa::kScalar, run);
  return {};
}

/// True for an int8 tensor that stands for real values; int8 without parameters is a plain integer tensor.
inline bool is_quantized(const Tensor& tensor) { return tensor.quant.has_value() && tensor.dtype == DType::Int8; }

}  // namespace lq
