#include "runtime/op.h"

#include "runtime/model.h"

namespace lq {

std::string OpPrepare::pack_key(const char* what) const {
  // Tensor names are unique in a Model (Model::create sees to it) and survive passes and re-planning, unlike ids. A
  // constant folded while planning carries a hash of its bytes in its name, so a layer whose weights depend on shapes
  // packs anew.
  std::string key = std::string(isa_name(isa)) + '\n' + what;
  for (TensorId id : node.outputs) {
    if (id != kNoTensor) key += '\n' + graph.tensor(id).name;
  }
  for (TensorId id : node.inputs) {
    if (id != kNoTensor && graph.tensor(id).is_constant()) key += '\n' + graph.tensor(id).name;
  }
  return key;
}

Result<size_t> storage_bytes(const Tensor& tensor) {
  const size_t element = dtype_size(tensor.dtype);
  if (element == 0) {
    return unsupported("tensor '" + tensor.name + "': the runtime does not store type " + dtype_name(tensor.dtype));
  }
  size_t bytes = element;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    int64_t dim = tensor.shape[axis];
    if (dim < 0)
      return invalid_argument("tensor '" + tensor.name + "' has no static shape: " + shape_string(tensor.shape));
    if (int(axis) == tensor.blocked_axis) {
      if (dim > INT64_MAX - kBlock)
        return out_of_memory("tensor '" + tensor.name + "' " + shape_string(tensor.shape) + " is too large");
      dim = (dim + kBlock - 1) / kBlock * kBlock;
    }
    if (__builtin_mul_overflow(bytes, size_t(dim), &bytes) || bytes > SIZE_MAX / 4) {
      return out_of_memory("tensor '" + tensor.name + "' " + shape_string(tensor.shape) +
                           " is too large for this machine");
    }
  }
  return bytes;
}

}  // namespace lq
