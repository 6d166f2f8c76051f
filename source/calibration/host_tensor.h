// A tensor on the desk: what readers produce and sessions take. Linear (row-major) order, little-endian.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"

namespace lq::calibration {

struct HostTensor {
  DType dtype = DType::Undefined;
  Shape shape;
  std::vector<uint8_t> data;  // element_count(shape) * dtype_size(dtype) bytes
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data.data());
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data.data());
  }
};

/// Largest tensor a reader accepts, in bytes: a bound for untrusted headers, far above real samples.
inline constexpr int64_t kMaxTensorBytes = int64_t(1) << 32;

/// Zeroed tensor of a static shape; refuses negative dimensions, overflow and more than kMaxTensorBytes.
Result<HostTensor> make_tensor(DType dtype, const Shape& shape);

/// Converts to `to`: float64 <-> float32, any integer or bool to float, between integer types when every value fits.
/// Float to integer or bool is an error: it would lose values silently.
Result<HostTensor> convert_tensor(HostTensor tensor, DType to);

}  // namespace lq::calibration
