// Inputs and outputs in the caller's memory: int8 or float, channels first or last, whatever the model's own form is.
#pragma once
#include <cstddef>
#include <string>

#include "graph/graph.h"

namespace lq {

/// Bytes a buffer used in place has behind its tensor: vector loads and stores may touch them.
inline constexpr size_t kBufferSlack = kAlignment;

enum class BufferLayout : uint8_t { kModel = 0, kNchw = 1, kNhwc = 2 };

struct ExternalBuffer {
  void* data = nullptr;            // nullptr: the session's own buffer again
  size_t size = 0;                 // bytes there are
  DType dtype = DType::Undefined;  // Undefined: the tensor's
  BufferLayout layout = BufferLayout::kModel;
};

/// How one bound buffer and the tensor become each other.
struct Binding {
  void* data = nullptr;  // nullptr: not bound
  bool in_place = false;
  DType tensor_dtype = DType::Undefined, buffer_dtype = DType::Undefined;
  // The tensor is [n, a, b] and the buffer [n, b, a]; a == 1: the same order.
  int64_t n = 1, a = 1, b = 1;
  float scale = 1;
  int32_t zero_point = 0, qmin = 0, qmax = 0;
};

/// `own_layout` is what the tensor's channels are, `quant` what int8 stands for (may be nullptr). Errors name the
/// tensor.
Result<Binding> make_binding(const Tensor& tensor, schema::DataLayout own_layout, const QuantParams* quant,
                             const ExternalBuffer& buffer);
/// buffer -> tensor, for inputs before a run; nothing to do in place.
void copy_in(const Binding& binding, void* tensor);
/// tensor -> buffer, for outputs after a run.
void copy_out(const Binding& binding, const void* tensor);

}  // namespace lq
