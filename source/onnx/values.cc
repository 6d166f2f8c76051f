// Declared inputs and the values that --fix-input gives them.
#include <onnx/onnx_pb.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "graph/op_def.h"
#include "onnx/graph_builder.h"

namespace lq {

Result<Tensor> tensor_from_value_info(const onnx::ValueInfoProto& info) {
  const std::string label = "input '" + info.name() + "'";
  if (!info.type().has_tensor_type()) {
    return unsupported(label + ": is no tensor (a sequence, optional or map); only tensors are supported");
  }
  const auto& type = info.type().tensor_type();
  const auto dtype = dtype_from_onnx(type.elem_type());
  if (!dtype.ok()) return dtype.status().with_context(label);
  Tensor tensor;
  tensor.name = info.name();
  tensor.dtype = imported_dtype(*dtype);
  tensor.ranked = type.has_shape();
  bool named = false;
  for (const auto& dim : type.shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() > InferContext::kMaxDim) {
      return corrupt(label + ": has the absurd dimension " + std::to_string(dim.dim_value()));
    }
    tensor.shape.push_back(dim.has_dim_value() && dim.dim_value() > 0 ? dim.dim_value() : kUnknownDim);
    tensor.dim_names.push_back(dim.dim_param());
    named |= !dim.dim_param().empty();
  }
  if (!named) tensor.dim_names.clear();
  return tensor;
}

namespace {

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == ',')
      parts.emplace_back();
    else if (c != ' ' && c != '[' && c != ']')
      parts.back() += c;
  }
  return parts;
}

template <typename T>
bool parse_into(const std::string& text, uint8_t* out) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  std::memcpy(out, &value, sizeof(T));
  return true;
}

bool parse_element(DType dtype, const std::string& text, uint8_t* out) {
  switch (dtype) {
    case DType::Float32:
      return parse_into<float>(text, out);
    case DType::Int64:
      return parse_into<int64_t>(text, out);
    case DType::Int32:
      return parse_into<int32_t>(text, out);
    case DType::Int16:
      return parse_into<int16_t>(text, out);
    case DType::Int8:
      return parse_into<int8_t>(text, out);
    case DType::UInt8:
      return parse_into<uint8_t>(text, out);
    case DType::UInt16:
      return parse_into<uint16_t>(text, out);
    case DType::UInt32:
      return parse_into<uint32_t>(text, out);
    case DType::UInt64:
      return parse_into<uint64_t>(text, out);
    case DType::Bool:
      *out = text == "true" || text == "1";
      return *out || text == "false" || text == "0";
    default:
      return false;
  }
}

/// The declared shape for `count` values: one unknown dimension follows from the count; an unranked or
/// scalar-compatible input takes a scalar for one value and a list otherwise.
Result<Shape> shape_for(const Tensor& input, int64_t count) {
  if (!input.ranked) return count == 1 ? Shape{} : Shape{count};
  Shape shape = input.shape;
  int64_t known = 1;
  int64_t* free_dim = nullptr;
  int free_dims = 0;
  for (int64_t& d : shape) {
    if (d == kUnknownDim) {
      free_dim = &d;
      ++free_dims;
    } else if (__builtin_mul_overflow(known, d, &known)) {
      return invalid_argument("its shape is too large");
    }
  }
  if (free_dims == 1 && count % known == 0)
    *free_dim = count / known;
  else if (free_dims > 1 && count == 1 && known == 1)
    for (int64_t& d : shape) d = 1;
  if (!is_static(shape) || element_count(shape) != count) {
    return invalid_argument("has shape " + shape_string(input.shape) + ", but " + std::to_string(count) +
                            " values are given");
  }
  return shape;
}

}  // namespace

Result<Tensor> fixed_value(const Tensor& input, const FixedInput& value) {
  const std::string label = "fixed input '" + input.name + "'";
  if (value.tensor) {
    if (value.tensor->dtype != input.dtype) {
      return invalid_argument(label + ": is " + dtype_name(input.dtype) + ", the value given is " +
                              dtype_name(value.tensor->dtype));
    }
    Tensor fixed = *value.tensor;
    fixed.name = input.name;
    bool fits = !input.ranked || input.shape.size() == fixed.shape.size();
    for (size_t i = 0; fits && input.ranked && i < input.shape.size(); ++i) {
      fits = input.shape[i] == kUnknownDim || input.shape[i] == fixed.shape[i];
    }
    if (!fits) {
      return invalid_argument(label + ": has shape " + shape_string(input.shape) + ", the value given " +
                              shape_string(fixed.shape));
    }
    return fixed;
  }
  const std::vector<std::string> parts = split_list(value.text);
  auto shape = shape_for(input, int64_t(parts.size()));
  if (!shape.ok()) return shape.status().with_context(label);
  const size_t size = dtype_size(input.dtype);
  LQ_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(parts.size() * size, "a fixed input"));
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parse_element(input.dtype, parts[i], buffer.data() + i * size)) {
      return invalid_argument(label + ": '" + parts[i] + "' is not a value of type " + dtype_name(input.dtype));
    }
  }
  Tensor fixed = input;
  fixed.shape = *shape;
  fixed.ranked = true;
  fixed.dim_names.clear();
  fixed.data = Bytes::from(std::move(buffer));
  return fixed;
}

}  // namespace lq
