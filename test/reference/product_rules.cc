// The product rules of docs/NUMERICS.md: Conv, ConvTranspose, Gemm, MatMul on int8 values, or int16 by int8 weights.
#include <cmath>

#include "numerics/quantize.h"
#include "reference/values.h"

namespace lq::reference {
namespace {

/// A product's accumulators before requantization, wrapping like int32 hardware does.
struct Product {
  Shape shape;
  std::vector<uint32_t> acc;
  std::function<size_t(int64_t)> channel;  // output element -> output channel
};

struct ProductOperands {
  Operand x, w;
  const int8_t* pw;
  const int32_t* bias;  // nullptr: none
};

Status conv_product(Execution& e, const Node& node, const ProductOperands& o, bool transposed, Product& out) {
  const auto& attrs = attrs_as<schema::ConvAttrsT>(node);
  const Shape x = e.tensor(o.x.id).shape, w = e.tensor(o.w.id).shape;
  LQ_ASSIGN_OR_RETURN(const WindowGeometry geometry, transposed ? conv_transpose_geometry(attrs, x, w) : conv_geometry(attrs, x, w));
  const Window2d g = as_2d(geometry);
  const Nchw xs = as_nchw(x);
  const int64_t m = transposed ? w[1] * attrs.groups : w[0], mg = m / attrs.groups, cg = x[1] / attrs.groups;
  out.shape = {x[0], m};
  out.shape.insert(out.shape.end(), geometry.output.begin(), geometry.output.end());
  const int64_t area = g.oh * g.ow;
  out.channel = [area, m](int64_t i) { return size_t(i / area % m); };
  for (int64_t n = 0; n < xs.n; ++n)
    for (int64_t oc = 0; oc < m; ++oc)
      for (int64_t oh = 0; oh < g.oh; ++oh)
        for (int64_t ow = 0; ow < g.ow; ++ow) {
          uint32_t acc = o.bias ? uint32_t(o.bias[oc]) : 0;
          for (int64_t kh = 0; kh < g.kh; ++kh)
            for (int64_t kw = 0; kw < g.kw; ++kw) {
              int64_t ih = oh * g.sh - g.ph + kh * g.dh, iw = ow * g.sw - g.pw + kw * g.dw;
              if (transposed) {
                ih = oh + g.ph - kh * g.dh, iw = ow + g.pw - kw * g.dw;
                if (ih < 0 || iw < 0 || ih % g.sh != 0 || iw % g.sw != 0) continue;
                ih /= g.sh, iw /= g.sw;
              }
              if (ih < 0 || ih >= xs.h || iw < 0 || iw >= xs.w) continue;
              for (int64_t c = 0; c < cg; ++c) {
                const int64_t ic = oc / mg * cg + c;
                const int64_t at = transposed ? ((ic * mg + oc % mg) * g.kh + kh) * g.kw + kw : ((oc * cg + c) * g.kh + kh) * g.kw + kw;
                acc += uint32_t((e.integer(o.x.id, xs.at(n, ic, ih, iw)) - o.x.zero_point) * int32_t(o.pw[at]));
              }
            }
          out.acc.push_back(acc);
        }
  return {};
}

Status matrix_product(Execution& e, const Node& node, const ProductOperands& o, int32_t w_zero_point, Product& out) {
  const Shape a = e.tensor(o.x.id).shape, b = e.tensor(o.w.id).shape;
  const bool trans_b = node.op == Op::Gemm && attrs_as<schema::GemmAttrsT>(node).trans_b;
  const int64_t m = a[a.size() - 2], k = a.back(), n = trans_b ? b[b.size() - 2] : b.back();
  const Shape batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
  LQ_ASSIGN_OR_RETURN(const Shape batch, broadcast(batch_a, batch_b));
  out.shape = batch;
  out.shape.push_back(m);
  out.shape.push_back(n);
  out.channel = [n](int64_t i) { return size_t(i % n); };
  // Flat batch index -> index into an operand whose batch shape is broadcast.
  auto operand_batch = [&batch](int64_t flat, const Shape& shape) {
    int64_t index = 0, stride = 1;
    for (size_t i = 0; i < batch.size(); ++i) {
      const size_t axis = batch.size() - 1 - i;
      const int64_t at = flat % batch[axis];
      flat /= batch[axis];
      if (i < shape.size()) {
        const int64_t dim = shape[shape.size() - 1 - i];
        if (dim != 1) index += at * stride;
        stride *= dim;
      }
    }
    return index;
  };
  for (int64_t f = 0; f < element_count(batch); ++f) {
    const int64_t pa = operand_batch(f, batch_a) * m * k;
    const int8_t* pb = o.pw + operand_batch(f, batch_b) * k * n;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        uint32_t acc = o.bias ? uint32_t(o.bias[j]) : 0;
        for (int64_t l = 0; l < k; ++l) {
          const int32_t w = trans_b ? pb[j * k + l] : pb[l * n + j];
          acc += uint32_t((e.integer(o.x.id, pa + i * k + l) - o.x.zero_point) * (w - w_zero_point));
        }
        out.acc.push_back(acc);
      }
  }
  return {};
}

/// Constant int8 values with zero point 0 and one scale, or one an output channel.
bool are_weights(const Execution& e, const Operand& w, int axis, int64_t channels) {
  if (!e.constant[size_t(w.id)] || w.params.dtype != DType::Int8) return false;
  for (int32_t z : w.params.zero_point) {
    if (z != 0) return false;
  }
  if (w.params.granularity == schema::Granularity::PerTensor) return true;
  return w.params.axis == axis && int64_t(w.params.scale.size()) == channels;
}

/// Constant int32 values in units of s_x·s_w[c], one a channel along the last axis.
bool is_bias(const Execution& e, const Operand& b, const Operand& x, const Operand& w, int64_t channels) {
  const Shape& shape = e.tensor(b.id).shape;
  if (!e.constant[size_t(b.id)] || b.params.dtype != DType::Int32) return false;
  if (shape.empty() || shape.back() != channels || element_count(shape) != channels) return false;
  for (int64_t c = 0; c < channels; ++c) {
    const double unit = double(x.scale) * double(scale_at(w.params, size_t(c)));
    const double given = double(scale_at(b.params, b.params.scale.size() == 1 ? 0 : size_t(c)));
    if (std::fabs(given - unit) > unit / 65536) return false;
  }
  return true;
}

/// The axis of w that counts output channels, and their number; nothing where the rule does not take the operator.
std::optional<std::pair<int, int64_t>> output_channels(const Node& node, const Shape& x, const Shape& w) {
  if (x.size() < 2 || w.size() < 2) return std::nullopt;
  if (node.op == Op::Conv) return std::make_pair(0, w[0]);
  if (node.op == Op::ConvTranspose) return std::make_pair(1, w[1] * attrs_as<schema::ConvAttrsT>(node).groups);
  if (node.op == Op::MatMul) return std::make_pair(int(w.size()) - 1, w.back());
  const auto& t = attrs_as<schema::GemmAttrsT>(node);
  if (t.alpha != 1 || t.beta != 1 || t.trans_a) return std::nullopt;
  return std::make_pair(t.trans_b ? 0 : 1, w[t.trans_b ? 0 : 1]);
}

}  // namespace

Result<bool> apply_product_rule(Execution& e, const Node& node) {
  const auto x = e.operand(node, 0), w = e.operand(node, 1);
  if (!x || !x->per_tensor_or_int16 || !w) return false;
  const auto channels = output_channels(node, e.tensor(x->id).shape, e.tensor(w->id).shape);
  if (!channels) return false;
  const bool weights = are_weights(e, *w, channels->first, channels->second);
  const auto target = e.target(node, weights);
  if (!weights) {
    const bool two_activations =
        node.op == Op::MatMul && x->per_tensor && w->per_tensor && !e.constant[size_t(w->id)];
    if (!two_activations || !target) return false;
  }
  ProductOperands o{*x, *w, e.data<int8_t>(w->id), nullptr};
  if (node.input(2) != kNoTensor) {
    const auto bias = e.operand(node, 2);
    if (!bias || !is_bias(e, *bias, *x, *w, channels->second)) return false;
    o.bias = e.data<int32_t>(bias->id);
  }
  Product p;
  if (node.op == Op::Conv || node.op == Op::ConvTranspose) {
    LQ_RETURN_IF_ERROR(conv_product(e, node, o, node.op == Op::ConvTranspose, p));
  } else {
    LQ_RETURN_IF_ERROR(matrix_product(e, node, o, w->zero_point, p));
  }
  const float s_x = x->scale;
  const QuantParams& w_params = w->params;
  if (!target) {
    float* y = e.make<float>(node.outputs[0], DType::Float32, p.shape);
    for (size_t i = 0; i < p.acc.size(); ++i) {
      y[i] = float(int32_t(p.acc[i])) * float(double(s_x) * double(scale_at(w_params, p.channel(int64_t(i)))));
    }
    return true;
  }
  finish(e, *target, p.shape, [&](int64_t i) {
    const float m = requantize_multiplier(s_x, scale_at(w_params, p.channel(i)), target->scale);
    return requantize(int32_t(p.acc[size_t(i)]), m, target->zero_point, target->qmin, target->qmax);
  });
  return true;
}

void finish(Execution& e, const Target& t, const Shape& shape, const std::function<int32_t(int64_t)>& f) {
  const int64_t n = element_count(shape);
  if (t.dtype == DType::Int16) {
    int16_t* y = e.make<int16_t>(t.tensor, DType::Int16, shape);
    for (int64_t i = 0; i < n; ++i) y[i] = int16_t(f(i));
  } else {
    int8_t* y = e.make<int8_t>(t.tensor, DType::Int8, shape);
    for (int64_t i = 0; i < n; ++i) y[i] = int8_t(f(i));
  }
  e.done[size_t(t.quantize_node)] = true;
  for (int n : t.between) e.done[size_t(n)] = true;
}

}  // namespace lq::reference
