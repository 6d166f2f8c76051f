#include "onnx/quantized_constants.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "numerics/quantize.h"

namespace lq {
namespace {

QuantParams moved(const QuantParams& params, DType dtype, int32_t by) {
  QuantParams out = params;
  out.dtype = dtype;
  out.qmin += by;
  out.qmax += by;
  if (out.zero_point.empty()) out.zero_point.assign(out.scale.size(), 0);
  for (int32_t& z : out.zero_point) z += by;
  return out;
}

/// Which scale an element has. Slices along the quantization axis; the weights [C, M/g, …] of a grouped ConvTranspose
/// have one scale an output channel, i.e. more scales than slices: group · M/g + slice.
struct Channels {
  size_t inner = 1, slices = 1, outer_of_group = 1, count = 1;
  explicit Channels(const Tensor& t) {
    if (t.quant->granularity != schema::Granularity::PerChannel) return;
    const size_t axis = size_t(t.quant->axis);
    count = t.quant->scale.size();
    slices = std::max<size_t>(1, size_t(t.shape[axis]));
    size_t outer = 1;
    for (size_t d = 0; d < axis; ++d) outer *= size_t(t.shape[d]);
    for (size_t d = axis + 1; d < t.shape.size(); ++d) inner *= size_t(t.shape[d]);
    outer_of_group = std::max<size_t>(1, outer / std::max<size_t>(1, count / slices));
  }
  size_t of(size_t i) const {
    if (count == 1) return 0;
    const size_t row = i / inner;
    return row / slices / outer_of_group * slices + row % slices;
  }
};

}  // namespace

QuantParams shifted_params(const QuantParams& p) { return moved(p, DType::Int8, -128); }
QuantParams unshifted_params(const QuantParams& p) { return moved(p, DType::UInt8, 128); }

Result<Bytes> shifted_bytes(const Bytes& values) {
  LQ_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(values.size(), "a quantized constant"));
  for (size_t i = 0; i < values.size(); ++i) buffer.data()[i] = uint8_t(values.data()[i] ^ 0x80);  // − 128 mod 256
  return Bytes::from(std::move(buffer));
}

bool same_params(const QuantParams& a, const QuantParams& b) {
  if (a.dtype != b.dtype || a.granularity != b.granularity || a.scale != b.scale) return false;
  if (a.granularity == schema::Granularity::PerChannel && a.axis != b.axis) return false;
  for (size_t c = 0; c < a.scale.size(); ++c) {
    if (zero_point_at(a, c) != zero_point_at(b, c)) return false;
  }
  return true;
}

Result<bool> make_symmetric(Tensor& tensor) {
  const Channels channels(tensor);
  QuantParams& params = *tensor.quant;
  const int8_t* q = tensor.data.as<int8_t>();
  std::vector<bool> fits(channels.count, true), even(channels.count, true);
  for (size_t i = 0; i < tensor.data.size(); ++i) {
    const size_t c = channels.of(i);
    const int v = q[i] - zero_point_at(params, c);
    if (std::abs(v) > 127) fits[c] = false;
    if (v % 2 != 0 || std::abs(v) > 254) even[c] = false;
  }
  for (size_t c = 0; c < channels.count; ++c) {
    if (!fits[c] && (!even[c] || !is_valid_scale(params.scale[c] * 2))) return false;
  }
  LQ_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(tensor.data.size(), "a quantized weight"));
  for (size_t i = 0; i < tensor.data.size(); ++i) {
    const size_t c = channels.of(i);
    const int v = q[i] - zero_point_at(params, c);
    buffer.data()[i] = uint8_t(int8_t(fits[c] ? v : v / 2));
  }
  for (size_t c = 0; c < channels.count; ++c) {
    if (!fits[c]) params.scale[c] *= 2;
  }
  params.zero_point.assign(params.scale.size(), 0);
  params.qmin = -127;
  params.qmax = 127;
  tensor.data = Bytes::from(std::move(buffer));
  return true;
}

Result<Tensor> dequantized(const Tensor& tensor) {
  const Channels channels(tensor);
  const size_t count = tensor.data.size() / dtype_size(tensor.dtype);
  LQ_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(count * sizeof(float), "a dequantized constant"));
  float* out = reinterpret_cast<float*>(buffer.data());
  for (size_t i = 0; i < count; ++i) {
    int32_t q = 0;
    if (tensor.dtype == DType::Int8)
      q = tensor.data.as<int8_t>()[i];
    else
      std::memcpy(&q, tensor.data.data() + i * 4, 4);
    const size_t c = channels.of(i);
    out[i] = dequantize(q, scale_at(*tensor.quant, c), zero_point_at(*tensor.quant, c));
  }
  Tensor result = tensor;
  result.dtype = DType::Float32;
  result.quant.reset();
  result.data = Bytes::from(std::move(buffer));
  return result;
}

}  // namespace lq
