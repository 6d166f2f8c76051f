// How the reference holds a graph in execution: a copy of the graph whose tensors get their data as nodes are computed.
#pragma once
#include <cstring>
#include <functional>
#include <optional>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace lq::reference {

/// Index arithmetic of a linear tensor of up to 4 axes seen as [N, C, H, W] (missing spatial axes are 1).
struct Nchw {
  int64_t n = 1, c = 1, h = 1, w = 1;
  int64_t at(int64_t in, int64_t ic, int64_t ih, int64_t iw) const { return ((in * c + ic) * h + ih) * w + iw; }
};
inline Nchw as_nchw(const Shape& s) {
  Nchw d;
  if (!s.empty()) d.n = s[0];
  if (s.size() > 1) d.c = s[1];
  if (s.size() == 3) d.w = s[2];
  if (s.size() == 4) d.h = s[2], d.w = s[3];
  return d;
}

/// Window geometry seen in 2-D: a 1-D window becomes one row.
struct Window2d { int64_t kh, kw, sh, sw, ph, pw, ph_end, pw_end, dh, dw, oh, ow; };
inline Window2d as_2d(const WindowGeometry& g) {
  const size_t last = g.kernel.size() - 1;
  const bool two = g.kernel.size() == 2;
  return {two ? g.kernel[0] : 1,     g.kernel[last],     two ? g.strides[0] : 1,   g.strides[last],
          two ? g.pads_begin[0] : 0, g.pads_begin[last], two ? g.pads_end[0] : 0,  g.pads_end[last],
          two ? g.dilations[0] : 1,  g.dilations[last],  two ? g.output[0] : 1,    g.output[last]};
}

/// Where the result of an integer rule goes: the QuantizeLinear the output condition of docs/NUMERICS.md leads to.
struct Target {
  int quantize_node;
  std::vector<int> between;  // the fused Relu or Clip, if any
  TensorId tensor;           // QuantizeLinear's output
  DType dtype;               // int8, or int16 where target() was asked for both
  float scale;
  int32_t zero_point, qmin, qmax;  // narrowed
};

/// A quantized operand behind a DequantizeLinear.
struct Operand {
  TensorId id;            // the quantized tensor
  QuantParams params;
  bool per_tensor;        // int8 with one scale and zero point: what integer rules take as an activation
  bool per_tensor_or_int16;  // that, or int16 with one scale and zero point 0: what some of them take
  float scale;            // of the first channel
  int32_t zero_point;
};

class Execution {
 public:
  /// `model`: shapes resolved, constants folded; its graph `index` is copied.
  Execution(const ModelIr& model, size_t index);
  const ModelIr& model;
  Graph graph;
  std::vector<int> producers;
  std::vector<std::vector<int>> consumers;
  std::vector<bool> constant;  // by tensor: its value does not depend on the inputs
  std::vector<bool> done;      // by node

  const Tensor& tensor(TensorId id) const { return graph.tensor(id); }
  template <typename T> const T* data(TensorId id) const { return graph.tensor(id).data.as<T>(); }
  /// Allocates the tensor's data for a shape.
  template <typename T> T* make(TensorId id, DType dtype, const Shape& shape) {
    Tensor& t = graph.tensor(id);
    t.dtype = dtype;
    t.shape = shape;
    t.ranked = true;
    const size_t bytes = size_t(element_count(shape)) * sizeof(T);
    Result<Buffer> buffer = Buffer::allocate(bytes == 0 ? 1 : bytes, "reference");
    if (!buffer.ok()) return nullptr;
    uint8_t* p = buffer->data();
    std::memset(p, 0, bytes == 0 ? 1 : bytes);
    Bytes all = Bytes::from(std::move(*buffer));
    t.data = Bytes(p, bytes, std::make_shared<Bytes>(all));
    return reinterpret_cast<T*>(p);
  }
  /// The quantized operand behind input i of a node, if a DequantizeLinear stands there.
  std::optional<Operand> operand(const Node& node, size_t i) const;
  /// The value of a constant float scalar.
  std::optional<float> constant_scalar(TensorId id) const;
  /// Bounds of a Relu, or of a Clip with constant, ordered bounds.
  std::optional<ValueRange> clamp_bounds(const Node& node) const;
  /// Value i of a quantized tensor, int8 or int16.
  int32_t integer(TensorId id, int64_t i) const {
    return tensor(id).dtype == DType::Int16 ? int32_t(data<int16_t>(id)[i]) : int32_t(data<int8_t>(id)[i]);
  }
  /// The output condition of docs/NUMERICS.md, into int8, or into int8 or int16 with zero point 0.
  std::optional<Target> target(const Node& node, bool or_int16 = false) const;
};

/// Flat index into an operand of shape `s` for flat output index i of shape `out`, numpy broadcasting.
int64_t broadcast_index(int64_t i, const Shape& out, const Shape& s);
/// A unary operator's value for a real x, in double; nothing for other operators.
std::optional<double> unary_value(const Node& node, double x, const Execution& e);
/// ((p0+p4)+(p2+p6))+((p1+p5)+(p3+p7)) where element i went to partial i mod 8.
inline float interleaved_sum(const std::vector<float>& values) {
  float p[8] = {};
  for (size_t i = 0; i < values.size(); ++i) p[i % 8] += values[i];
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

// The rules. Each returns true if it applied (and marked what it covered as done), false to compute literally.
/// Products: Conv, ConvTranspose, Gemm, MatMul.
Result<bool> apply_product_rule(Execution& e, const Node& node);
/// Every other integer rule.
Result<bool> apply_integer_rule(Execution& e, const Node& node);
/// Writes f(i) into the target for every element of `shape` and marks the covered nodes as done.
void finish(Execution& e, const Target& target, const Shape& shape, const std::function<int32_t(int64_t)>& f);

/// Naive float operators in the canonical order; false: not one of them.
Result<bool> apply_float_rule(Execution& e, const Node& node);
/// Of those: elementwise operators, sums and norms.
Result<bool> apply_float_elementwise(Execution& e, const Node& node);
Result<bool> apply_float_sum(Execution& e, const Node& node);

}  // namespace lq::reference
