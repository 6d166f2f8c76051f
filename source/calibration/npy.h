// NumPy .npy: versions 1 to 3; types f4 f8 i1 u1 i2 u2 i4 u4 i8 u8 b1, little-endian. Bytes are untrusted.
#pragma once
#include "calibration/host_tensor.h"

namespace lq::calibration {

struct NpyHeader {
  DType dtype = DType::Undefined;
  Shape shape;
  bool fortran_order = false;
  size_t data_offset = 0;  // the data after it is complete: checked
};

/// Structured, object, complex, half and big-endian types are refused with the reason.
Result<NpyHeader> parse_npy_header(const uint8_t* data, size_t size);

/// The whole array in row-major order (fortran_order arrays are transposed), bytes of b1 normalised to 0 and 1.
Result<HostTensor> decode_npy(const uint8_t* data, size_t size);
/// Rows [first, first + count) of the leading axis, which stays.
Result<HostTensor> decode_npy_rows(const uint8_t* data, size_t size, int64_t first, int64_t count);

/// File versions; errors start with the path. Writing is atomic, version 1.0.
Result<HostTensor> read_npy(const std::string& path);
Status write_npy(const std::string& path, DType dtype, const Shape& shape, const void* data);

}  // namespace lq::calibration
