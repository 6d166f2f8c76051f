// The integer rules of docs/NUMERICS.md: what a pattern Dequantize… -> operator -> [Relu|Clip] -> Quantize means.
#include <cmath>
#include <functional>

#include "numerics/elementary.h"
#include "numerics/quantize.h"
#include "reference/resize_rule.h"
#include "reference/values.h"

namespace lq::reference {
namespace {

/// Writes f(i) into the target for every element of `shape` and marks the covered nodes as done.
void finish(Execution& e, const Target& t, const Shape& shape, const std::function<int32_t(int64_t)>& f) {
  int8_t* y = e.make<int8_t>(t.tensor, DType::Int8, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) y[i] = int8_t(f(i));
  e.done[size_t(t.quantize_node)] = true;
  for (int n : t.between) e.done[size_t(n)] = true;
}

bool is_int8(const Execution& e, const Operand& o) { return e.tensor(o.id).dtype == DType::Int8; }
bool is_activation(const Execution& e, const std::optional<Operand>& o) {
  return o && is_int8(e, *o) && o->params->scale.size() == 1;
}
bool has_data_from_the_file(const Execution& e, TensorId id) { return e.producers[size_t(id)] < 0 && e.tensor(id).is_constant(); }

/// A product's accumulators before requantization, wrapping like int32 hardware does.
struct Product {
  Shape shape;
  std::vector<uint32_t> acc;
  std::function<size_t(int64_t)> channel;  // output element -> output channel
};

struct ProductOperands {
  Operand x, w;
  const int8_t *px, *pw;
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
                acc += uint32_t((int32_t(o.px[xs.at(n, ic, ih, iw)]) - o.x.zero_point) * int32_t(o.pw[at]));
              }
            }
          out.acc.push_back(acc);
        }
  return {};
}

Status matrix_product(Execution& e, const Node& node, const ProductOperands& o, int32_t w_zero_point, Product& out) {
  const Shape a = e.tensor(o.x.id).shape, b = e.tensor(o.w.id).shape;
  const bool trans_b = node.op == Op::Gemm && attrs_as<schema::GemmAttrsT>(node).trans_b;
  if (a.size() < 2 || b.size() < 2) return unsupported("integer product of a vector");
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
    const int8_t* pa = o.px + operand_batch(f, batch_a) * m * k;
    const int8_t* pb = o.pw + operand_batch(f, batch_b) * k * n;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        uint32_t acc = o.bias ? uint32_t(o.bias[j]) : 0;
        for (int64_t l = 0; l < k; ++l) {
          const int32_t w = trans_b ? pb[j * k + l] : pb[l * n + j];
          acc += uint32_t((int32_t(pa[i * k + l]) - o.x.zero_point) * (w - w_zero_point));
        }
        out.acc.push_back(acc);
      }
  }
  return {};
}

Result<bool> product(Execution& e, const Node& node) {
  const auto x = e.operand(node, 0), w = e.operand(node, 1);
  if (!is_activation(e, x) || !w || !is_int8(e, *w)) return false;
  if (node.op == Op::Gemm) {
    const auto& t = attrs_as<schema::GemmAttrsT>(node);
    if (t.alpha != 1 || t.beta != 1 || t.trans_a) return false;
  }
  const bool constant = has_data_from_the_file(e, w->id);
  const auto target = e.target(node);
  if (!constant && (node.op != Op::MatMul || !is_activation(e, w) || !target)) return false;
  if (constant && w->zero_point != 0) return false;
  ProductOperands o{*x, *w, e.data<int8_t>(x->id), e.data<int8_t>(w->id), nullptr};
  if (node.input(2) != kNoTensor) {
    const auto bias = e.operand(node, 2);
    if (!bias || e.tensor(bias->id).dtype != DType::Int32 || !has_data_from_the_file(e, bias->id)) return false;
    o.bias = e.data<int32_t>(bias->id);
  }
  Product p;
  if (node.op == Op::Conv || node.op == Op::ConvTranspose) {
    LQ_RETURN_IF_ERROR(conv_product(e, node, o, node.op == Op::ConvTranspose, p));
  } else {
    LQ_RETURN_IF_ERROR(matrix_product(e, node, o, w->zero_point, p));
  }
  const float s_x = x->scale;
  const QuantParams w_params = *w->params;
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

/// Flat index into an operand of shape `s` for flat output index i of shape `out`, numpy broadcasting.
int64_t broadcast_index(int64_t i, const Shape& out, const Shape& s) {
  int64_t index = 0, stride = 1;
  for (size_t back = 1; back <= out.size(); ++back) {
    const int64_t dim = out[out.size() - back], at = i % dim;
    i /= dim;
    if (back <= s.size()) {
      const int64_t d = s[s.size() - back];
      if (d != 1) index += at * stride;
      stride *= d;
    }
  }
  return index;
}

Result<bool> binary(Execution& e, const Node& node) {
  const auto a = e.operand(node, 0), b = e.operand(node, 1);
  const auto t = e.target(node);
  if (!is_activation(e, a) || !is_activation(e, b) || !t) return false;
  const Shape sa = e.tensor(a->id).shape, sb = e.tensor(b->id).shape;
  LQ_ASSIGN_OR_RETURN(const Shape out, broadcast(sa, sb));
  const int8_t *pa = e.data<int8_t>(a->id), *pb = e.data<int8_t>(b->id);
  const float ma = rescale_multiplier(a->scale, t->scale), mb = rescale_multiplier(b->scale, t->scale);
  const float m = requantize_multiplier(a->scale, b->scale, t->scale);
  finish(e, *t, out, [&](int64_t i) {
    const int32_t qa = pa[broadcast_index(i, out, sa)] - a->zero_point, qb = pb[broadcast_index(i, out, sb)] - b->zero_point;
    if (node.op == Op::Mul) return requantize(qa * qb, m, t->zero_point, t->qmin, t->qmax);
    const float ta = float(qa) * ma, tb = float(qb) * mb;
    return round_to_quantized(node.op == Op::Add ? ta + tb : ta - tb, t->zero_point, t->qmin, t->qmax);
  });
  return true;
}

/// One float result of a unary operator for a real value, in double.
std::optional<double> unary(const Node& node, double x, const Execution& e) {
  namespace el = elementary;
  const auto& a = attrs_as<schema::ActivationAttrsT>(node);
  switch (node.op) {
    case Op::Relu: return x > 0 ? x : 0;
    case Op::Clip: {
      double low = -HUGE_VAL, high = HUGE_VAL;
      for (size_t i : {1, 2}) {
        if (node.input(i) == kNoTensor) continue;
        if (!has_data_from_the_file(e, node.inputs[i])) return std::nullopt;
        (i == 1 ? low : high) = double(*e.data<float>(node.inputs[i]));
      }
      return std::min(std::max(x, low), high);
    }
    case Op::LeakyRelu: return el::leaky_relu(x, double(a.alpha));
    case Op::Elu: return el::elu(x, double(a.alpha));
    case Op::Selu: return el::selu(x, double(a.alpha), double(a.gamma));
    case Op::Sigmoid: return el::sigmoid(x);
    case Op::HardSigmoid: return el::hard_sigmoid(x, double(a.alpha), double(a.beta));
    case Op::HardSwish: return el::hard_swish(x);
    case Op::Silu: return el::silu(x);
    case Op::Tanh: return el::tanh(x);
    case Op::Gelu: return el::gelu(x, attrs_as<schema::GeluAttrsT>(node).tanh_approximation);
    case Op::Erf: return el::erf(x);
    case Op::Softplus: return el::log1p_exp(x);
    case Op::Sqrt: return std::sqrt(x);
    case Op::Exp: return el::exp(x);
    case Op::Log: return el::log(x);
    case Op::Neg: return -x;
    case Op::Abs: return std::fabs(x);
    case Op::Reciprocal: return 1 / x;
    case Op::Floor: return std::floor(x);
    case Op::Ceil: return std::ceil(x);
    case Op::Round: return std::nearbyint(x);
    case Op::Sign: return x > 0 ? 1 : x < 0 ? -1 : 0;
    case Op::Sin: return el::sin(x);
    case Op::Cos: return el::cos(x);
    default: return std::nullopt;
  }
}

Result<bool> table(Execution& e, const Node& node) {
  const auto x = e.operand(node, 0);
  if (!is_activation(e, x)) return false;
  const auto t = e.target(node);
  if (!t || !t->between.empty()) return false;
  int8_t values[256];
  for (int q = -128; q <= 127; ++q) {
    const auto y = unary(node, double(q - x->zero_point) * double(x->scale), e);
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
  if (!is_activation(e, x) || !t || !has_data_from_the_file(e, node.inputs[1])) return false;
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
  if (!is_activation(e, x) || !t) return false;
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
  if (!is_activation(e, x) || !t) return false;
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
  if (!is_activation(e, x) || !t || attrs.mode == schema::ResizeMode::Nearest) return false;
  InferContext context(e.graph, node);
  context.outputs.resize(1);
  LQ_RETURN_IF_ERROR(find_op(Op::Resize)->infer(context));
  const Shape out = context.outputs[0].shape;
  LQ_ASSIGN_OR_RETURN(const std::vector<int32_t> sums, resize_sums(e.graph, node, e.tensor(x->id), out, x->zero_point));
  const float m = float(double(x->scale) / (double(t->scale) * resize_unit(e.tensor(x->id).shape, out)));
  finish(e, *t, out, [&](int64_t i) { return requantize(sums[size_t(i)], m, t->zero_point, t->qmin, t->qmax); });
  return true;
}

}  // namespace

Result<bool> apply_integer_rule(Execution& e, const Node& node) {
  if (node.outputs.empty() || node.outputs[0] == kNoTensor) return false;
  switch (node.op) {
    case Op::Conv: case Op::ConvTranspose: case Op::Gemm: case Op::MatMul: return product(e, node);
    case Op::Add: case Op::Sub: case Op::Mul: return binary(e, node);
    case Op::PRelu: return prelu(e, node);
    case Op::AveragePool: case Op::GlobalAveragePool: return average_pool(e, node);
    case Op::ReduceMean: return reduce_mean(e, node);
    case Op::Resize: return resize(e, node);
    default: return table(e, node);
  }
}

}  // namespace lq::reference
