#include "passes/runtime_match.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/rewrite.h"

namespace lq::passes {
namespace {

bool has_literal_scales(const Tensor& t) {
  return t.quant && t.quant->scale_source == schema::ScaleSource::Literal && !t.quant->scale.empty();
}

bool has_zero_zero_points(const QuantParams& q) {
  return std::all_of(q.zero_point.begin(), q.zero_point.end(), [](int32_t z) { return z == 0; });
}

bool is_per_tensor(const Tensor& t) {
  return has_literal_scales(t) && t.quant->dtype == t.dtype && t.quant->granularity == schema::Granularity::PerTensor &&
         t.quant->scale.size() == 1;
}

}  // namespace

std::optional<ValueRange> constant_clamp(const Graph& graph, const Node& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (node.op == Op::Relu) return ValueRange{0.0f, kInfinity};
  if (node.op != Op::Clip) return std::nullopt;
  ValueRange bounds{-kInfinity, kInfinity};
  if (node.input(1) != kNoTensor) {
    const std::optional<float> low = constant_scalar(graph, node.input(1));
    if (!low) return std::nullopt;
    bounds.min = *low;
  }
  if (node.input(2) != kNoTensor) {
    const std::optional<float> high = constant_scalar(graph, node.input(2));
    if (!high) return std::nullopt;
    bounds.max = *high;
  }
  if (!(bounds.min <= bounds.max)) return std::nullopt;  // NaN as well
  return bounds;
}

bool is_8bit_per_tensor(const Tensor& t) {
  return (t.dtype == DType::Int8 || t.dtype == DType::UInt8) && is_per_tensor(t);
}

bool is_int8_per_tensor(const Tensor& t) { return t.dtype == DType::Int8 && is_8bit_per_tensor(t); }

bool is_activation(const Tensor& t) {
  return is_int8_per_tensor(t) || (t.dtype == DType::Int16 && is_per_tensor(t) && zero_point_at(*t.quant, 0) == 0);
}

bool is_same_quantization(const QuantParams& a, const QuantParams& b) {
  return a.dtype == b.dtype && a.granularity == b.granularity && a.scale == b.scale &&
         zero_point_at(a, 0) == zero_point_at(b, 0) && a.qmin == b.qmin && a.qmax == b.qmax;
}

bool is_int8_weights(const Tensor& t, int axis, int64_t channels) {
  if (!t.is_constant() || t.dtype != DType::Int8 || !has_literal_scales(t) || !has_zero_zero_points(*t.quant))
    return false;
  const QuantParams& q = *t.quant;
  if (q.granularity == schema::Granularity::PerTensor) return q.scale.size() == 1;
  const int quant_axis = q.axis < 0 ? q.axis + int(t.shape.size()) : q.axis;
  return q.granularity == schema::Granularity::PerChannel && quant_axis == axis && int64_t(q.scale.size()) == channels;
}

bool is_int32_bias(const Tensor& t, int64_t channels, const QuantParams& x, const QuantParams& w) {
  const bool constant =
      t.is_constant() && t.dtype == DType::Int32 && has_literal_scales(t) && has_zero_zero_points(*t.quant);
  if (!constant || t.shape.empty() || t.shape.back() != channels || element_count(t.shape) != channels) return false;
  for (size_t c = 0; c < size_t(channels); ++c) {
    const double unit = double(scale_at(x, 0)) * double(scale_at(w, c));
    if (std::abs(double(scale_at(*t.quant, c)) - unit) > unit / 65536) return false;
  }
  return true;
}

}  // namespace lq::passes
