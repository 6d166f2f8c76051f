// The integer rules of docs/NUMERICS.md but those of products: what a pattern Dequantize… -> operator -> [Relu|Clip] -> Quantize means.
#include <cmath>

#include "numerics/quantize.h"
#include "reference/resize_rule.h"
#include "reference/values.h"

namespace lq::reference {
namespace {

bool is_activation(const std::optional<Operand>& o) { return o && o->per_tensor; }

Result<bool> binary(Execution& e, const Node& node) {
  const auto a = e.operand(node, 0), b = e.operand(node, 1);
  const auto t = e.target(node, true);
  if (!a || !a->per_tensor_or_int16 || !b || !b->per_tensor_or_int16 || !t) return false;
  const Shape sa = e.tensor(a->id).shape, sb = e.tensor(b->id).shape;
  LQ_ASSIGN_OR_RETURN(const Shape out, broadcast(sa, sb));
  const float ma = rescale_multiplier(a->scale, t->scale), mb = rescale_multiplier(b->scale, t->scale);
  const float m = requantize_multiplier(a->scale, b->scale, t->scale);
  finish(e, *t, out, [&](int64_t i) {
    const int32_t qa = e.integer(a->id, broadcast_index(i, out, sa)) - a->zero_point;
    const int32_t qb = e.integer(b->id, broadcast_index(i, out, sb)) - b->zero_point;
    if (node.op == Op::Mul) return requantize(qa * qb, m, t->zero_point, t->qmin, t->qmax);
    const float ta = float(qa) * ma, tb = float(qb) * mb;
    return round_to_quantized(node.op == Op::Add ? ta + tb : ta - tb, t->zero_point, t->qmin, t->qmax);
  });
  return true;
}

Result<bool> table(Execution& e, const Node& node) {
  const auto x = e.operand(node, 0);
  if (!is_activation(x)) return false;
  const auto t = e.target(node);
  if (!t || !t->between.empty()) return false;
  int8_t values[256];
  for (int q = -128; q <= 127; ++q) {
    const auto y = unary_value(node, double(q - x->zero_point) * double(x->scale), e);
    if (!y) return false;
    values[q + 128] = int8_t(quantize(float(*y), t->scale, t->zero_point, t->qmin, t->qmax));
  }
  const int8_t* px = e.data<int8_t>(x->id);
  finish(e, *t, e.tensor(x->id).shape, [&](int64_t i) { return values[px[i] + 128]; });
  return true;
}

Result<bool> prelu(Execution& e, const Node& node) {
  const auto x = e.operand(node, 0);
  const auto t = e.target(node);
  if (!is_activation(x) || !t || !e.constant[size_t(node.inputs[1])]) return false;
  const Shape shape = e.tensor(x->id).shape, slope_shape = e.tensor(node.inputs[1]).shape;
  const float* slope = e.data<float>(node.inputs[1]);
  const int8_t* px = e.data<int8_t>(x->id);
  finish(e, *t, shape, [&](int64_t i) {
    const int32_t acc = px[i] - x->zero_point;
    const double s = acc < 0 ? double(slope[broadcast_index(i, shape, slope_shape)]) : 1.0;
    return requantize(acc, float(s * double(x->scale) / double(t->scale)), t->zero_point, t->qmin, t->qmax);
  });
  return true;
}

Result<bool> average_pool(Execution& e, const Node& node) {
  const auto x = e.operand(node, 0);
  const auto t = e.target(node);
  if (!is_activation(x) || !t) return false;
  const auto& attrs = attrs_as<schema::PoolAttrsT>(node);
  const Shape shape = e.tensor(x->id).shape;
  if (shape.size() > 4) return false;
  WindowGeometry geometry;
  if (node.op == Op::GlobalAveragePool) {
    const size_t axes = shape.size() - 2;
    geometry = {{shape.begin() + 2, shape.end()}, Shape(axes, 1), Shape(axes, 0), Shape(axes, 0), Shape(axes, 1), Shape(axes, 1)};
  } else {
    LQ_ASSIGN_OR_RETURN(geometry, pool_geometry(attrs, shape));
  }
  const Window2d g = as_2d(geometry);
  const Nchw xs = as_nchw(shape);
  Shape out{shape[0], shape[1]};
  out.insert(out.end(), geometry.output.begin(), geometry.output.end());
  const int8_t* px = e.data<int8_t>(x->id);
  finish(e, *t, out, [&](int64_t i) {
    const int64_t ow = i % g.ow, oh = i / g.ow % g.oh, nc = i / (g.ow * g.oh);
    int32_t acc = 0;
    int64_t divisor = 0;
    for (int64_t kh = 0; kh < g.kh; ++kh)
      for (int64_t kw = 0; kw < g.kw; ++kw) {
        const int64_t ih = oh * g.sh - g.ph + kh * g.dh, iw = ow * g.sw - g.pw + kw * g.dw;
        const bool in = ih >= 0 && ih < xs.h && iw >= 0 && iw < xs.w;
        if (in || (attrs.count_include_pad && ih < xs.h + g.ph_end && iw < xs.w + g.pw_end)) ++divisor;
        if (in) acc += px[(nc * xs.h + ih) * xs.w + iw] - x->zero_point;
      }
    const float m = float(double(x->scale) / (double(t->scale) * double(divisor)));
    return requantize(acc, m, t->zero_point, t->qmin, t->qmax);
  });
  return true;
}

Result<bool> reduce_mean(Execution& e, const Node& node) {
  const auto x = e.operand(node, 0);
  const auto t = e.target(node);
  if (!is_activation(x) || !t) return false;
  const auto& attrs = attrs_as<schema::ReduceAttrsT>(node);
  const Shape shape = e.tensor(x->id).shape;
  const int64_t rank = int64_t(shape.size());
  std::vector<bool> reduced(shape.size(), node.input(1) == kNoTensor);
  if (node.input(1) != kNoTensor) {
    const auto axes = constant_ints(e.graph, node.inputs[1]);
    if (!axes) return false;
    if (axes->empty() && attrs.noop_with_empty_axes) return false;
    if (axes->empty()) reduced.assign(shape.size(), true);
    for (int64_t a : *axes) reduced[size_t(a < 0 ? a + rank : a)] = true;
  }
  Shape kept = shape, out;
  int64_t n = 1;
  for (size_t a = 0; a < shape.size(); ++a) {
    if (reduced[a]) kept[a] = 1, n *= shape[a];
    if (!reduced[a] || attrs.keepdims) out.push_back(kept[a]);
  }
  std::vector<int32_t> acc(size_t(element_count(kept)), 0);
  const int8_t* px = e.data<int8_t>(x->id);
  for (int64_t i = 0; i < element_count(shape); ++i) acc[size_t(broadcast_index(i, shape, kept))] += px[i] - x->zero_point;
  const float m = float(double(x->scale) / (double(t->scale) * double(n)));
  finish(e, *t, out, [&](int64_t i) { return requantize(acc[size_t(i)], m, t->zero_point, t->qmin, t->qmax); });
  return true;
}

Result<bool> resize(Execution& e, const Node& node) {
  const auto x = e.operand(node, 0);
  const auto t = e.target(node);
  const auto& attrs = attrs_as<schema::ResizeAttrsT>(node);
  if (!is_activation(x) || !t || attrs.mode == schema::ResizeMode::Nearest) return false;
  InferContext context(e.graph, node);
  context.outputs.resize(1);
  LQ_RETURN_IF_ERROR(find_op(Op::Resize)->infer(context));
  const Shape out = context.outputs[0].shape;
  LQ_ASSIGN_OR_RETURN(const ResizeSums r, resize_sums(e.graph, node, e.tensor(x->id), out, x->zero_point));
  const float m = float(double(x->scale) / (double(t->scale) * r.unit));
  const int32_t extrapolated = quantize(attrs.extrapolation_value, t->scale, t->zero_point, t->qmin, t->qmax);
  finish(e, *t, out, [&](int64_t i) {
    const auto& sum = r.sums[size_t(i)];
    return sum ? round_to_quantized(float(*sum) * m, t->zero_point, t->qmin, t->qmax) : extrapolated;
  });
  return true;
}

/// DequantizeLinear -> QuantizeLinear: a change of scale, also between int8, uint8 and int16.
Result<bool> requantize_node(Execution& e, const Node& node) {
  const auto x = e.operand(node, 0);
  const TensorId out = node.outputs[0];
  const QuantParams y = *e.tensor(out).quant;
  const auto taken = [](const QuantParams& p) {
    const bool type = p.dtype == DType::Int8 || p.dtype == DType::UInt8 ||
                      (p.dtype == DType::Int16 && zero_point_at(p, 0) == 0);
    return type && p.granularity == schema::Granularity::PerTensor;
  };
  if (!x || !taken(x->params) || !taken(y)) return false;
  const bool same = x->params.dtype == y.dtype && x->params.scale == y.scale && x->zero_point == zero_point_at(y, 0) &&
                    x->params.qmin == y.qmin && x->params.qmax == y.qmax;
  const float m = rescale_multiplier(x->scale, y.scale[0]);
  const Tensor q = e.tensor(x->id);
  const bool wide = y.dtype == DType::Int16;
  uint8_t* bytes = wide ? nullptr : e.make<uint8_t>(out, y.dtype, q.shape);
  int16_t* shorts = wide ? e.make<int16_t>(out, y.dtype, q.shape) : nullptr;
  for (int64_t i = 0; i < element_count(q.shape); ++i) {
    const int32_t v = q.dtype == DType::UInt8 ? int32_t(q.data.as<uint8_t>()[i]) : e.integer(x->id, i);
    const int32_t r = same ? v : requantize(v - x->zero_point, m, zero_point_at(y, 0), y.qmin, y.qmax);
    wide ? void(shorts[i] = int16_t(r)) : void(bytes[i] = uint8_t(r));
  }
  return true;
}

}  // namespace

Result<bool> apply_integer_rule(Execution& e, const Node& node) {
  if (node.outputs.empty() || node.outputs[0] == kNoTensor) return false;
  switch (node.op) {
    case Op::Conv: case Op::ConvTranspose: case Op::Gemm: case Op::MatMul: return apply_product_rule(e, node);
    case Op::Add: case Op::Sub: case Op::Mul: return binary(e, node);
    case Op::PRelu: return prelu(e, node);
    case Op::AveragePool: case Op::GlobalAveragePool: return average_pool(e, node);
    case Op::ReduceMean: return reduce_mean(e, node);
    case Op::Resize: return resize(e, node);
    case Op::QuantizeLinear: return requantize_node(e, node);
    default: return table(e, node);
  }
}

}  // namespace lq::reference
