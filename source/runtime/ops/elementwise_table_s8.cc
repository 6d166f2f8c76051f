// The table rule: q ↦ Quantize(float(f(double(q − zp)·double(s)))), f in double, for every unary operator with an int8
// form.
#include <cmath>
#include <limits>

#include "numerics/elementary.h"
#include "runtime/ops/blocked.h"
#include "runtime/ops/elementwise_s8.h"
#include "runtime/ops/quantized.h"

namespace lq {
namespace {

struct TableParams {
  uint8_t table[256];
  TableFn run = nullptr;
  int64_t storage = 0;
  bool blocked = false;
  BlockedShape shape;
  uint8_t fill = 0;
};

Status run_table(const Step& step, const RunContext& context) {
  const TableParams& p = step.params_as<TableParams>();
  const uint8_t* x = context.input<uint8_t>(step, 0);
  uint8_t* y = context.output<uint8_t>(step, 0);
  parallel(context, p.storage, kElementGrain,
           [&](int64_t begin, int64_t end, int) { p.run(x + begin, y + begin, end - begin, p.table); });
  if (p.blocked) restore_lanes(y, p.shape, p.fill);
  return {};
}

void table_piece(const Step& step, const RunContext& context, int64_t at, int64_t n) {
  const TableParams& p = step.params_as<TableParams>();
  uint8_t* y = context.output<uint8_t>(step, 0);
  p.run(context.input<uint8_t>(step, 0) + at, y + at, n, p.table);
  restore_lanes_of_piece(y, p.shape, p.fill, at, n);
}

/// f of the operator; `known` false where it has no table form.
double apply(Op op, const Node& node, const ValueRange& clip, double x, bool& known) {
  namespace el = elementary;
  const schema::ActivationAttrsT& a = attrs_as<schema::ActivationAttrsT>(node);
  switch (op) {
    case Op::Relu:
      return x > 0 ? x : 0;
    case Op::LeakyRelu:
      return el::leaky_relu(x, double(a.alpha));
    case Op::Clip: {
      const double low = x > double(clip.min) ? x : double(clip.min);  // max first, as ONNX: min > max gives max
      return low < double(clip.max) ? low : double(clip.max);
    }
    case Op::Elu:
      return el::elu(x, double(a.alpha));
    case Op::Selu:
      return el::selu(x, double(a.alpha), double(a.gamma));
    case Op::Sigmoid:
      return el::sigmoid(x);
    case Op::HardSigmoid:
      return el::hard_sigmoid(x, double(a.alpha), double(a.beta));
    case Op::HardSwish:
      return el::hard_swish(x);
    case Op::Silu:
      return el::silu(x);
    case Op::Tanh:
      return el::tanh(x);
    case Op::Gelu:
      return el::gelu(x, attrs_as<schema::GeluAttrsT>(node).tanh_approximation);
    case Op::Erf:
      return el::erf(x);
    case Op::Softplus:
      return el::log1p_exp(x);
    case Op::Sqrt:
      return std::sqrt(x);
    case Op::Exp:
      return el::exp(x);
    case Op::Log:
      return el::log(x);
    case Op::Neg:
      return -x;
    case Op::Abs:
      return std::fabs(x);
    case Op::Reciprocal:
      return 1 / x;
    case Op::Floor:
      return std::floor(x);
    case Op::Ceil:
      return std::ceil(x);
    case Op::Round:
      return std::nearbyint(x);
    case Op::Sign:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case Op::Sin:
      return el::sin(x);
    case Op::Cos:
      return el::cos(x);
    case Op::Identity:
      return x;
    default:
      known = false;
      return 0;
  }
}

/// Clip's bounds: constant scalars, absent ones are infinite.
Status clip_bounds(const OpPrepare& p, ValueRange& clip) {
  clip = {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
  for (size_t i = 1; i <= 2; ++i) {
    if (!p.has_input(i)) continue;
    const std::optional<std::vector<float>> value = constant_floats(p.graph, p.node.inputs[i]);
    if (!value || value->size() != 1) return unsupported("int8 Clip needs constant scalar bounds");
    (i == 1 ? clip.min : clip.max) = (*value)[0];
  }
  return {};
}

}  // namespace

Status prepare_table_s8(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  LQ_RETURN_IF_ERROR(expect_per_tensor_s8(x));
  LQ_RETURN_IF_ERROR(expect_per_tensor_s8(y));
  if (is_blocked(x) != is_blocked(y)) return internal_error("input and output differ in layout");
  ValueRange clip;
  if (p.node.op == Op::Clip) LQ_RETURN_IF_ERROR(clip_bounds(p, clip));
  TableParams& params = p.make_params<TableParams>();
  const QuantParams& q = *y.quant;
  for (int32_t v = -128; v <= 127; ++v) {
    bool known = true;
    const double f = apply(p.node.op, p.node, clip, double(v - zero_of(x)) * double(scale_of(x)), known);
    if (!known) return unsupported(std::string(op_name(p.node.op)) + " has no int8 form");
    params.table[uint8_t(v)] = uint8_t(quantize(float(f), scale_of(y), zero_of(y), q.qmin, q.qmax));
  }
  const Kernel<TableFn>& kernel = elementwise_kernels(p.isa).table;
  params.run = kernel.run;
  params.storage = storage_elements(y);
  params.blocked = is_blocked(y);
  if (params.blocked) params.shape = blocked_shape(y.shape);
  params.fill = uint8_t(lane_fill(y));
  p.set(kernel.name, kernel.isa, run_table);
  if (params.blocked) p.step.piece = table_piece;
  return {};
}

}  // namespace lq
