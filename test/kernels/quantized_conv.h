// Random int8 convolutions as one-node layers: operands, parameters, and activations that their producer bounds.
#pragma once
#include "conv_naive.h"

namespace lq::test {

struct QuantizedConv {
  std::vector<int8_t> x, w;
  std::vector<int32_t> bias;
  QuantParams qx, qw, qy;
  bool float_output = false;
  bool bounded = false;  // x is produced inside the graph: its qmin and qmax hold
  std::optional<ValueRange> clamp;
};

/// Narrows x to a range that its producer clamps to.
inline void bound_activation(Random& r, QuantizedConv& q) {
  q.bounded = true;
  q.qx.qmin = r.chance(70) ? 0 : int(r.between(-20, 20));
  q.qx.qmax = r.chance(70) ? 127 : int(r.between(q.qx.qmin, 127));
  q.qx.zero_point[0] = r.chance(60) ? q.qx.qmin : int32_t(r.between(q.qx.qmin, q.qx.qmax));
  for (int8_t& v : q.x) v = int8_t(std::clamp<int>(r.chance(10) ? 127 : v + 128 * (v < 0), q.qx.qmin, q.qx.qmax));
}

inline QuantizedConv random_quantized(Random& r, const ConvCase& c) {
  QuantizedConv q;
  q.x = r.int8(c.x_count(), -128), q.w = r.int8(c.w_count(), -127);
  if (r.chance(40)) {  // as in trained layers: few are near the largest, so sums of byte products can be proved
    const int divisor = int(r.between(2, 8));
    for (int8_t& v : q.w) v = int8_t(r.chance(98) ? v / divisor : v);
  }
  if (r.chance(70)) q.bias = r.int32(c.oc, r.chance(20) ? 2000000000 : 20000);
  q.qx = per_tensor_params(DType::Int8, r.scale(),
                           r.chance(30)   ? 0
                           : r.chance(30) ? -128
                                          : int32_t(r.between(-128, 127)));
  std::vector<float> scales;
  const int64_t scale_count = r.chance(80) ? c.oc : 1;
  for (int64_t i = 0; i < scale_count; ++i) scales.push_back(r.scale() * 0.01f);
  q.qw = per_channel_weights(scales, c.transposed ? 1 : 0);
  // An output scale that uses the range: sums of K random products are near sqrt(K) · 70 · 70.
  const float spread = std::sqrt(float(c.icg() * c.kh * c.kw)) * 5000;
  q.qy = per_tensor_params(DType::Int8, q.qx.scale[0] * scales[0] * spread / 60, int32_t(r.between(-128, 127)));
  if (r.chance(30)) q.qy.qmin = std::min(127, q.qy.zero_point[0] + 1);  // a Clip above zero: lanes must still hold zp
  if (r.chance(30)) q.qy.qmax = int32_t(r.between(q.qy.qmin, 127));
  q.float_output = r.chance(25);
  if (q.float_output && r.chance(50)) q.clamp = ValueRange{1.0f, 6.0f};
  if (r.chance(40)) bound_activation(r, q);
  return q;
}

inline Op op_of(const ConvCase& c) { return c.transposed ? Op::ConvTranspose : Op::Conv; }

inline Layer quantized_layer(const ConvCase& c, const QuantizedConv& q, int8_t garbage) {
  Layer layer(op_of(c));
  c.set_attrs(layer.node());
  const TensorId x = layer.input<int8_t>(c.x_shape(), q.x, true, garbage);
  layer.quantize(x, q.qx);
  if (q.bounded) layer.produced(x);
  layer.quantize(layer.constant<int8_t>(c.w_shape(), q.w), q.qw);
  if (!q.bias.empty()) layer.constant<int32_t>({c.oc}, q.bias);
  const TensorId y = layer.output(q.float_output ? DType::Float32 : DType::Int8, c.y_shape(), true);
  if (!q.float_output) layer.quantize(y, q.qy);
  layer.node().fused_clamp = q.clamp;
  return layer;
}

}  // namespace lq::test
