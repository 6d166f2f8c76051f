#include "numerics/quant_params.h"

#include <cmath>

namespace lq {

size_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::Int8: case DType::UInt8: case DType::Bool: case DType::Float8E4M3: case DType::Float8E5M2: return 1;
    case DType::Int16: case DType::UInt16: case DType::Float16: case DType::BFloat16: return 2;
    case DType::Float32: case DType::Int32: case DType::UInt32: return 4;
    case DType::Float64: case DType::Int64: case DType::UInt64: return 8;
    case DType::Undefined: case DType::Int4: case DType::UInt4: case DType::Float4E2M1: return 0;
  }
  return 0;
}

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::Undefined: return "undefined";
    case DType::Float32: return "float32";
    case DType::Int8: return "int8";
    case DType::UInt8: return "uint8";
    case DType::Int16: return "int16";
    case DType::Int32: return "int32";
    case DType::Int64: return "int64";
    case DType::Bool: return "bool";
    case DType::Float16: return "float16";
    case DType::Float64: return "float64";
    case DType::BFloat16: return "bfloat16";
    case DType::UInt16: return "uint16";
    case DType::UInt32: return "uint32";
    case DType::UInt64: return "uint64";
    case DType::Int4: return "int4";
    case DType::UInt4: return "uint4";
    case DType::Float8E4M3: return "float8_e4m3";
    case DType::Float8E5M2: return "float8_e5m2";
    case DType::Float4E2M1: return "float4_e2m1";
  }
  return "unknown";
}

namespace {

/// Range of a storage type that quantized values may use; false for types that hold none.
bool storage_range(DType dtype, int64_t& low, int64_t& high) {
  switch (dtype) {
    case DType::Int8: low = -128; high = 127; return true;
    case DType::UInt8: low = 0; high = 255; return true;
    case DType::Int16: low = -32768; high = 32767; return true;
    case DType::UInt16: low = 0; high = 65535; return true;
    case DType::Int32: low = INT32_MIN; high = INT32_MAX; return true;
    default: return false;
  }
}

}  // namespace

QuantParams per_tensor_params(DType dtype, float scale, int32_t zero_point) {
  int64_t low = 0, high = 0;
  storage_range(dtype, low, high);
  QuantParams p;
  p.dtype = dtype;
  p.qmin = int32_t(low);
  p.qmax = int32_t(high);
  p.scale = {scale};
  p.zero_point = {zero_point};
  return p;
}

QuantParams per_channel_weights(std::vector<float> scales, int axis) {
  QuantParams p;
  p.dtype = DType::Int8;
  p.qmin = -127;
  p.qmax = 127;
  p.granularity = schema::Granularity::PerChannel;
  p.axis = axis;
  p.zero_point.assign(scales.size(), 0);
  p.scale = std::move(scales);
  return p;
}

bool is_valid_scale(float scale) { return std::isnormal(scale) && scale > 0; }

bool is_valid_params(const QuantParams& p) {
  int64_t low = 0, high = 0;
  if (!storage_range(p.dtype, low, high)) return false;
  if (p.qmin < low || p.qmax > high || p.qmin > p.qmax) return false;
  const bool per_channel = p.granularity == schema::Granularity::PerChannel;
  if (!per_channel && p.granularity != schema::Granularity::PerTensor) return false;
  if (p.scale_source != schema::ScaleSource::Literal) return false;
  if (p.scale.empty() || (!per_channel && p.scale.size() != 1)) return false;
  if (per_channel && p.axis < 0) return false;
  if (!p.zero_point.empty() && p.zero_point.size() != p.scale.size()) return false;
  for (float s : p.scale) {
    if (!is_valid_scale(s)) return false;
  }
  for (int32_t zp : p.zero_point) {
    if (zp < p.qmin || zp > p.qmax) return false;
  }
  return true;
}

}  // namespace lq
