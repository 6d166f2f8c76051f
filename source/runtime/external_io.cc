#include "runtime/external_io.h"

#include <cstring>

#include "numerics/quantize.h"

namespace lq {
namespace {

bool is_byte(DType dtype) { return dtype == DType::Int8 || dtype == DType::UInt8; }

/// Calls move(from, to) with the positions of each element in source and target: [n, a, b] -> [n, b, a], or back when
/// `reverse`.
template <typename Move>
void for_elements(const Binding& s, bool reverse, Move&& move) {
  for (int64_t n = 0; n < s.n; ++n) {
    const int64_t first = n * s.a * s.b;
    for (int64_t b = 0; b < s.b; ++b) {
      for (int64_t a = 0; a < s.a; ++a) {
        const int64_t in_tensor = first + a * s.b + b, in_buffer = first + b * s.a + a;
        reverse ? move(in_tensor, in_buffer) : move(in_buffer, in_tensor);
      }
    }
  }
}

template <typename T>
void move_same(const Binding& s, bool reverse, const void* from, void* to) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  if (s.a == 1 || s.b == 1) {
    std::memcpy(y, x, size_t(s.n * s.a * s.b) * sizeof(T));
    return;
  }
  for_elements(s, reverse, [&](int64_t i, int64_t o) { y[o] = x[i]; });
}

template <typename Q>
void move_to_float(const Binding& s, bool reverse, const void* from, void* to) {
  const Q* x = static_cast<const Q*>(from);
  float* y = static_cast<float*>(to);
  for_elements(s, reverse, [&](int64_t i, int64_t o) { y[o] = dequantize(x[i], s.scale, s.zero_point); });
}

template <typename Q>
void move_to_bytes(const Binding& s, bool reverse, const void* from, void* to) {
  const float* x = static_cast<const float*>(from);
  Q* y = static_cast<Q*>(to);
  for_elements(s, reverse,
               [&](int64_t i, int64_t o) { y[o] = Q(quantize(x[i], s.scale, s.zero_point, s.qmin, s.qmax)); });
}

void convert(const Binding& s, bool reverse, DType from_dtype, const void* from, DType to_dtype, void* to) {
  if (from_dtype == to_dtype) {
    switch (dtype_size(from_dtype)) {
      case 1:
        return move_same<uint8_t>(s, reverse, from, to);
      case 2:
        return move_same<uint16_t>(s, reverse, from, to);
      case 4:
        return move_same<uint32_t>(s, reverse, from, to);
      default:
        return move_same<uint64_t>(s, reverse, from, to);
    }
  }
  if (from_dtype == DType::Int8) return move_to_float<int8_t>(s, reverse, from, to);
  if (from_dtype == DType::UInt8) return move_to_float<uint8_t>(s, reverse, from, to);
  if (to_dtype == DType::Int8) return move_to_bytes<int8_t>(s, reverse, from, to);
  move_to_bytes<uint8_t>(s, reverse, from, to);
}

/// Which axes change places. Rank 4 has a batch in front, rank 3 is one image.
Status set_order(const Tensor& tensor, schema::DataLayout own_layout, BufferLayout layout, Binding& s) {
  const Shape& shape = tensor.shape;
  s.n = 1, s.a = 1, s.b = element_count(shape);
  const bool own_nhwc = own_layout == schema::DataLayout::Nhwc;
  if (layout == BufferLayout::kModel || own_nhwc == (layout == BufferLayout::kNhwc)) return {};
  const size_t rank = shape.size();
  if (rank != 3 && rank != 4)
    return invalid_argument("'" + tensor.name + "' of shape " + shape_string(shape) +
                            " has no channels to put first or last; bind it in the model's own layout");
  const size_t base = rank - 3;  // first axis after the batch
  const int64_t channels = own_nhwc ? shape[rank - 1] : shape[base];
  const int64_t plane = own_nhwc ? shape[base] * shape[base + 1] : shape[rank - 2] * shape[rank - 1];
  s.n = base == 1 ? shape[0] : 1, s.a = own_nhwc ? plane : channels, s.b = own_nhwc ? channels : plane;
  return {};
}

Status set_types(const Tensor& tensor, const QuantParams* quant, DType dtype, Binding& s) {
  s.tensor_dtype = tensor.dtype;
  s.buffer_dtype = dtype == DType::Undefined ? tensor.dtype : dtype;
  if (s.buffer_dtype == s.tensor_dtype) return {};
  const DType other = s.tensor_dtype == DType::Float32 ? s.buffer_dtype : s.tensor_dtype;
  const bool float_and_bytes = (s.tensor_dtype == DType::Float32 || s.buffer_dtype == DType::Float32) && is_byte(other);
  if (!float_and_bytes || quant == nullptr || quant->dtype != other || quant->scale.size() != 1) {
    return unsupported("'" + tensor.name + "' is " + dtype_name(tensor.dtype) +
                       (quant != nullptr ? std::string(", quantized as ") + dtype_name(quant->dtype)
                                         : std::string(" and not quantized at this end of the model")) +
                       "; it cannot be bound as " + dtype_name(s.buffer_dtype));
  }
  s.scale = scale_at(*quant, 0), s.zero_point = zero_point_at(*quant, 0);
  s.qmin = quant->qmin, s.qmax = quant->qmax;
  return {};
}

}  // namespace

Result<Binding> make_binding(const Tensor& tensor, schema::DataLayout own_layout, const QuantParams* quant,
                             const ExternalBuffer& buffer) {
  Binding s;
  if (buffer.data == nullptr) return s;
  LQ_RETURN_IF_ERROR(set_types(tensor, quant, buffer.dtype, s));
  LQ_RETURN_IF_ERROR(set_order(tensor, own_layout, buffer.layout, s));
  const size_t element = dtype_size(s.buffer_dtype), bytes = size_t(element_count(tensor.shape)) * element;
  const uintptr_t address = reinterpret_cast<uintptr_t>(buffer.data);
  if (buffer.size < bytes)
    return invalid_argument("the buffer for '" + tensor.name + "' has " + std::to_string(buffer.size) + " bytes, " +
                            std::to_string(bytes) + " are needed");
  if (address % element != 0)
    return invalid_argument("the buffer for '" + tensor.name + "' is not aligned to its elements");
  s.data = buffer.data;
  s.in_place = s.buffer_dtype == s.tensor_dtype && (s.a == 1 || s.b == 1) && address % kAlignment == 0 &&
               buffer.size - bytes >= kBufferSlack;
  return s;
}

void copy_in(const Binding& binding, void* tensor) {
  if (binding.data == nullptr || binding.in_place) return;
  convert(binding, false, binding.buffer_dtype, binding.data, binding.tensor_dtype, tensor);
}

void copy_out(const Binding& binding, const void* tensor) {
  if (binding.data == nullptr || binding.in_place) return;
  convert(binding, true, binding.tensor_dtype, tensor, binding.buffer_dtype, binding.data);
}

}  // namespace lq
