// Elementwise float operators: one and two inputs.
#include <cmath>

#include "numerics/elementary.h"
#include "reference/values.h"

namespace lq::reference {

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

std::optional<double> unary_value(const Node& node, double x, const Execution& e) {
  namespace el = elementary;
  const auto& a = attrs_as<schema::ActivationAttrsT>(node);
  switch (node.op) {
    case Op::Relu: return x > 0 ? x : 0;
    case Op::Clip: {
      const auto bounds = e.clamp_bounds(node);
      if (!bounds) return std::nullopt;
      return std::min(std::max(x, double(bounds->min)), double(bounds->max));
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

namespace {

Result<bool> binary(Execution& e, const Node& node) {
  const Tensor a = e.tensor(node.inputs[0]), b = e.tensor(node.inputs[1]);
  if (b.dtype != DType::Float32) return false;
  LQ_ASSIGN_OR_RETURN(const Shape out, broadcast(a.shape, b.shape));
  float* y = e.make<float>(node.outputs[0], DType::Float32, out);
  for (int64_t i = 0; i < element_count(out); ++i) {
    const float u = a.data.as<float>()[broadcast_index(i, out, a.shape)], v = b.data.as<float>()[broadcast_index(i, out, b.shape)];
    switch (node.op) {
      case Op::Add: y[i] = u + v; break;
      case Op::Sub: y[i] = u - v; break;
      case Op::Mul: y[i] = u * v; break;
      case Op::Div: y[i] = u / v; break;
      default: y[i] = u < 0 ? u * v : u; break;  // PRelu
    }
  }
  return true;
}

}  // namespace

Result<bool> apply_float_elementwise(Execution& e, const Node& node) {
  switch (node.op) {
    case Op::Add: case Op::Sub: case Op::Mul: case Op::Div: case Op::PRelu: return binary(e, node);
    default: break;
  }
  if (node.op == Op::Clip || !unary_value(node, 0.5, e)) return false;  // a Clip may have bounds known at run time only
  const Tensor x = e.tensor(node.inputs[0]);
  float* y = e.make<float>(node.outputs[0], DType::Float32, x.shape);
  for (int64_t i = 0; i < element_count(x.shape); ++i) y[i] = float(*unary_value(node, double(x.data.as<float>()[i]), e));
  return true;
}

}  // namespace lq::reference
