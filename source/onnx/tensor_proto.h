// ONNX TensorProto <-> lq::Tensor: initializers of models, Constant nodes, the .pb files of calibration folders and of
// the ONNX node tests. Everything read here is untrusted: sizes are checked against the dims, external data stays in
// its folder.
//
// Floating types: the product computes in float32, so float16, bfloat16 and float64 become float32 on the way in
// (double rounds to nearest, beyond the float range to infinity).
#pragma once
#include <map>
#include <string>

#include "graph/graph.h"

namespace onnx {
class TensorProto;
}

namespace lq {

/// What an ONNX element type is called in our vocabulary, as stored in the file (Float16 stays Float16). kUnsupported
/// for string, complex and the types we do not know.
Result<DType> dtype_from_onnx(int32_t onnx_type);
/// The ONNX element type of a DType, or 0 (UNDEFINED).
int32_t dtype_to_onnx(DType dtype);
/// Float16, BFloat16 and Float64 -> Float32; every other type stays.
DType imported_dtype(DType dtype);

/// Files with external data, each mapped once. `base_dir` is the model's folder; empty: external data is refused.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::string base_dir) : base_dir_(std::move(base_dir)) {}
  /// Bytes [offset, offset + length) of base_dir/location. `location` must be relative and must not leave the folder.
  Result<Bytes> read(const std::string& location, uint64_t offset, uint64_t length);

 private:
  Result<const Bytes*> map(const std::string& location);
  std::string base_dir_;
  std::map<std::string, Bytes> files_;
};

/// Name, dtype (see imported_dtype), shape and data. Errors name the tensor.
Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, ExternalFiles& files);
/// The tensor's bytes as raw_data; its dtype must have an ONNX counterpart of whole bytes.
Status tensor_to_proto(const Tensor& tensor, onnx::TensorProto& proto);

/// A serialized TensorProto file (.pb).
Result<Tensor> read_tensor_pb(const std::string& path);
Status write_tensor_pb(const std::string& path, const Tensor& tensor);

}  // namespace lq
