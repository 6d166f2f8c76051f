#include "onnx/tensor_proto.h"

#include <onnx/onnx_pb.h>

#include <charconv>
#include <climits>
#include <cstring>

#include "base/file.h"
#include "graph/op_def.h"

namespace lq {
namespace {

struct TypePair {
  int32_t onnx;
  DType dtype;
};
constexpr TypePair kTypes[] = {
    {onnx::TensorProto::FLOAT, DType::Float32},     {onnx::TensorProto::UINT8, DType::UInt8},
    {onnx::TensorProto::INT8, DType::Int8},         {onnx::TensorProto::UINT16, DType::UInt16},
    {onnx::TensorProto::INT16, DType::Int16},       {onnx::TensorProto::INT32, DType::Int32},
    {onnx::TensorProto::INT64, DType::Int64},       {onnx::TensorProto::BOOL, DType::Bool},
    {onnx::TensorProto::FLOAT16, DType::Float16},   {onnx::TensorProto::DOUBLE, DType::Float64},
    {onnx::TensorProto::UINT32, DType::UInt32},     {onnx::TensorProto::UINT64, DType::UInt64},
    {onnx::TensorProto::BFLOAT16, DType::BFloat16},
};

/// Types of later ONNX releases than the protobuf schema we build with, and those no kernel computes in; for messages.
const char* unsupported_type_name(int32_t type) {
  switch (type) {
    case onnx::TensorProto::STRING:
      return "string";
    case onnx::TensorProto::COMPLEX64:
      return "complex64";
    case onnx::TensorProto::COMPLEX128:
      return "complex128";
    case 17:
    case 18:
    case 19:
    case 20:
      return "float8";
    case 21:
      return "uint4";
    case 22:
      return "int4";
    case 23:
      return "float4";
    case 0:
      return "undefined";
    default:
      return "unknown";
  }
}

float float_from_bits(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}

/// IEEE binary16 -> binary32, exact.
float half_to_float(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 1023;
  if (exponent == 31) return float_from_bits(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0) return float_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
  const float subnormal = float(mantissa) * 0x1p-24f;
  return sign ? -subnormal : subnormal;
}

float bfloat16_to_float(uint16_t b) { return float_from_bits(uint32_t(b) << 16); }

/// Elements of `dtype` at `raw` (any alignment) as float32.
void widen(DType dtype, const uint8_t* raw, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) {
    if (dtype == DType::Float64) {
      double d;
      std::memcpy(&d, raw + i * 8, 8);
      out[i] = float(d);
    } else {
      uint16_t h;
      std::memcpy(&h, raw + i * 2, 2);
      out[i] = dtype == DType::Float16 ? half_to_float(h) : bfloat16_to_float(h);
    }
  }
}

/// `raw` holds `count` elements of `dtype`; gives them as `imported_dtype(dtype)`, 64-byte-aligned unless `shared` is
/// already aligned for its elements (then those very bytes, without a copy).
Result<Bytes> to_bytes(DType dtype, const uint8_t* raw, size_t count, const Bytes* shared) {
  if (imported_dtype(dtype) != dtype) {
    LQ_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(count * sizeof(float), "a constant"));
    widen(dtype, raw, count, reinterpret_cast<float*>(buffer.data()));
    return Bytes::from(std::move(buffer));
  }
  if (shared != nullptr && reinterpret_cast<uintptr_t>(raw) % dtype_size(dtype) == 0) return *shared;
  return Bytes::copy_of(raw, count * dtype_size(dtype));
}

template <typename To, typename Field>
void append_as(const Field& field, std::vector<uint8_t>& out) {
  out.resize(size_t(field.size()) * sizeof(To));
  for (int i = 0; i < field.size(); ++i) {
    const To v = To(field.Get(i));
    std::memcpy(out.data() + size_t(i) * sizeof(To), &v, sizeof(To));
  }
}

/// The typed repeated fields (float_data, int32_data …) as raw little-endian bytes of `dtype`.
std::vector<uint8_t> typed_data(const onnx::TensorProto& p, DType dtype) {
  std::vector<uint8_t> raw;
  switch (dtype) {
    case DType::Float32:
      append_as<float>(p.float_data(), raw);
      break;
    case DType::Float64:
      append_as<double>(p.double_data(), raw);
      break;
    case DType::Int64:
      append_as<int64_t>(p.int64_data(), raw);
      break;
    case DType::UInt64:
      append_as<uint64_t>(p.uint64_data(), raw);
      break;
    case DType::UInt32:
      append_as<uint32_t>(p.uint64_data(), raw);
      break;
    case DType::Int32:
      append_as<int32_t>(p.int32_data(), raw);
      break;
    case DType::Int16:
    case DType::UInt16:
    case DType::Float16:
    case DType::BFloat16:
      append_as<uint16_t>(p.int32_data(), raw);
      break;
    default:
      append_as<uint8_t>(p.int32_data(), raw);
      break;  // 8-bit types and bool
  }
  return raw;
}

Result<uint64_t> parse_number(const std::string& text, const char* key) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return corrupt(std::string("external data: '") + key + "' is '" + text + "', not a number");
  }
  return value;
}

Result<Bytes> external_bytes(const onnx::TensorProto& p, uint64_t wanted, ExternalFiles& files) {
  std::string location;
  uint64_t offset = 0, length = wanted;
  for (const auto& entry : p.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") {
      LQ_ASSIGN_OR_RETURN(offset, parse_number(entry.value(), "offset"));
    }
    if (entry.key() == "length") {
      LQ_ASSIGN_OR_RETURN(length, parse_number(entry.value(), "length"));
    }
  }
  if (length != wanted) {
    return corrupt("external data has " + std::to_string(length) + " bytes, its dims need " + std::to_string(wanted));
  }
  return files.read(location, offset, length);
}

/// Element count of the dims; refuses negative and absurd ones before anything is multiplied.
Result<size_t> checked_count(const Shape& shape, DType dtype) {
  for (int64_t d : shape) {
    if (d < 0 || d > InferContext::kMaxDim) return corrupt("has the illegal dimension " + std::to_string(d));
  }
  const int64_t count = element_count(shape);
  if (count < 0 || count > int64_t(INT64_MAX / 16)) return corrupt("is too large: " + shape_string(shape));
  return size_t(count);
}

Result<Bytes> data_of(const onnx::TensorProto& p, DType dtype, const Shape& shape, ExternalFiles& files) {
  LQ_ASSIGN_OR_RETURN(const size_t count, checked_count(shape, dtype));
  const size_t wanted = count * dtype_size(dtype);
  if (p.data_location() == onnx::TensorProto::EXTERNAL) {
    LQ_ASSIGN_OR_RETURN(Bytes bytes, external_bytes(p, wanted, files));
    return to_bytes(dtype, bytes.data(), count, &bytes);
  }
  std::vector<uint8_t> typed;
  if (!p.has_raw_data()) typed = typed_data(p, dtype);
  const size_t size = p.has_raw_data() ? p.raw_data().size() : typed.size();
  if (size != wanted) {
    return corrupt("holds " + std::to_string(size) + " bytes, its dims " + shape_string(shape) + " of " +
                   dtype_name(dtype) + " need " + std::to_string(wanted));
  }
  const void* raw = p.has_raw_data() ? static_cast<const void*>(p.raw_data().data()) : typed.data();
  return to_bytes(dtype, static_cast<const uint8_t*>(raw), count, nullptr);
}

}  // namespace

Result<DType> dtype_from_onnx(int32_t onnx_type) {
  for (const TypePair& t : kTypes) {
    if (t.onnx == onnx_type) return t.dtype;
  }
  return unsupported(std::string("element type ") + unsupported_type_name(onnx_type) + " (" +
                     std::to_string(onnx_type) + ") is not supported");
}

int32_t dtype_to_onnx(DType dtype) {
  for (const TypePair& t : kTypes) {
    if (t.dtype == dtype) return t.onnx;
  }
  return onnx::TensorProto::UNDEFINED;
}

DType imported_dtype(DType dtype) {
  return dtype == DType::Float16 || dtype == DType::BFloat16 || dtype == DType::Float64 ? DType::Float32 : dtype;
}

Result<const Bytes*> ExternalFiles::map(const std::string& location) {
  if (location.empty()) return corrupt("external data without a 'location'");
  if (base_dir_.empty())
    return unsupported("external data in '" + location + "', but the model was not read from a file");
  bool escapes =
      location[0] == '/' || location.find('\\') != std::string::npos || location.find('\0') != std::string::npos;
  for (size_t begin = 0; begin <= location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    if (location.compare(begin, end - begin, "..") == 0) escapes = true;
    begin = end + 1;
  }
  if (escapes) return corrupt("external data location '" + location + "' leaves the model's folder");
  const auto found = files_.find(location);
  if (found != files_.end()) return &found->second;
  LQ_ASSIGN_OR_RETURN(Bytes bytes, map_file(base_dir_ + "/" + location));
  return &files_.emplace(location, std::move(bytes)).first->second;
}

Result<Bytes> ExternalFiles::read(const std::string& location, uint64_t offset, uint64_t length) {
  LQ_ASSIGN_OR_RETURN(const Bytes* file, map(location));
  if (offset > file->size() || length > file->size() - offset) {
    return corrupt("external data '" + location + "': bytes " + std::to_string(offset) + " + " +
                   std::to_string(length) + " lie outside the file of " + std::to_string(file->size()) + " bytes");
  }
  return Bytes(file->data() + offset, size_t(length), std::make_shared<Bytes>(*file));
}

Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, ExternalFiles& files) {
  const std::string label = "tensor '" + proto.name() + "'";
  const auto dtype = dtype_from_onnx(proto.data_type());
  if (!dtype.ok()) return dtype.status().with_context(label);
  if (proto.has_segment()) return unsupported(label + ": is stored in segments");
  Tensor tensor;
  tensor.name = proto.name();
  tensor.ranked = true;
  tensor.shape.assign(proto.dims().begin(), proto.dims().end());
  auto bytes = data_of(proto, *dtype, tensor.shape, files);
  if (!bytes.ok()) return bytes.status().with_context(label);
  tensor.dtype = imported_dtype(*dtype);
  tensor.data = std::move(*bytes);
  return tensor;
}

Status tensor_to_proto(const Tensor& tensor, onnx::TensorProto& proto) {
  const int32_t type = dtype_to_onnx(tensor.dtype);
  if (type == onnx::TensorProto::UNDEFINED) {
    return unsupported("tensor '" + tensor.name + "': " + dtype_name(tensor.dtype) + " has no ONNX form here");
  }
  proto.set_name(tensor.name);
  proto.set_data_type(type);
  for (int64_t d : tensor.shape) proto.add_dims(d);
  if (tensor.data.size() > size_t(INT_MAX)) {
    return unsupported("tensor '" + tensor.name + "' is over 2 GB, more than one protobuf message holds");
  }
  proto.set_raw_data(tensor.data.data(), tensor.data.size());
  return {};
}

Result<Tensor> read_tensor_pb(const std::string& path) {
  LQ_ASSIGN_OR_RETURN(const Bytes bytes, map_file(path));
  onnx::TensorProto proto;
  // Any byte string of unknown fields parses; a tensor without an element type is none.
  if (bytes.size() > size_t(INT_MAX) || !proto.ParseFromArray(bytes.data(), int(bytes.size())) ||
      proto.data_type() == 0) {
    return corrupt(path + ": is not an ONNX TensorProto");
  }
  ExternalFiles none("");
  auto tensor = tensor_from_proto(proto, none);
  if (!tensor.ok()) return tensor.status().with_context(path);
  return tensor;
}

Status write_tensor_pb(const std::string& path, const Tensor& tensor) {
  onnx::TensorProto proto;
  LQ_RETURN_IF_ERROR(tensor_to_proto(tensor, proto));
  const std::string bytes = proto.SerializeAsString();
  return write_file_atomically(path, {{bytes.data(), bytes.size()}});
}

}  // namespace lq
