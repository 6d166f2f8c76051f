// int8 Add, Sub, Mul, PRelu: multipliers of the rules, then broadcasting onto the kernels.
#include "runtime/ops/elementwise_s8.h"

#include "runtime/ops/broadcast_s8.h"
#include "runtime/ops/quantized.h"

namespace lq {
namespace {

struct BinaryS8Params {
  BroadcastS8 plan;
  BinaryArgs args = {};
  BinaryFn run = nullptr;
};

Status run_binary(const Step& step, const RunContext& context) {
  const BinaryS8Params& p = step.params_as<BinaryS8Params>();
  const auto* a = static_cast<const int8_t*>(operand_data(p.plan.a, 1, context.input<int8_t>(step, 0), context));
  const auto* b = static_cast<const int8_t*>(operand_data(p.plan.b, 1, context.input<int8_t>(step, 1), context));
  if (p.plan.swapped) std::swap(a, b);
  run_broadcast_s8(
      p.plan, context, a, b, context.output<int8_t>(step, 0),
      [&](const int8_t* u, const int8_t* v, int v_step, int8_t* y, int64_t n) { p.run(u, v, v_step, y, n, p.args); });
  return {};
}

void binary_piece(const Step& step, const RunContext& context, int64_t at, int64_t n) {
  const BinaryS8Params& p = step.params_as<BinaryS8Params>();
  const int8_t *a = context.input<int8_t>(step, 0), *b = context.input<int8_t>(step, 1);
  if (p.plan.swapped) std::swap(a, b);
  int8_t* y = context.output<int8_t>(step, 0);
  p.run(a + at, b + at, kBlock, y + at, n, p.args);
  restore_lanes_of_piece(reinterpret_cast<uint8_t*>(y), p.plan.y, p.plan.fill, at, n);
}

Status prepare_binary(OpPrepare& p, float mul_a, float mul_b, const Kernel<BinaryFn>& kernel) {
  BinaryS8Params& params = p.make_params<BinaryS8Params>();
  LQ_RETURN_IF_ERROR(plan_broadcast_s8(p, params.plan));
  params.args = {zero_of(p.input(0)), zero_of(p.input(1)), mul_a, mul_b, round_args(*p.output(0).quant)};
  if (params.plan.swapped) {  // both rules give the same bits with the operands exchanged
    std::swap(params.args.zero_a, params.args.zero_b);
    std::swap(params.args.mul_a, params.args.mul_b);
  }
  params.run = kernel.run;
  p.set(kernel.name, kernel.isa, run_binary);
  const BroadcastS8& plan = params.plan;
  const bool alike =
      plan.loop.rank == 1 && plan.mode == BroadcastS8::Mode::kAlong && !plan.a.expanded && !plan.b.expanded;
  if (plan.y_blocked && alike) p.step.piece = binary_piece;
  return {};
}

Status expect_all_s8(OpPrepare& p) {
  LQ_RETURN_IF_ERROR(expect_per_tensor_s8(p.input(0)));
  LQ_RETURN_IF_ERROR(expect_per_tensor_s8(p.input(1)));
  return expect_per_tensor_s8(p.output(0));
}

struct PReluS8Params {
  BroadcastS8 plan;
  std::vector<float> negative;  // m of acc < 0, shaped as the slope
  RescaleArgs args = {};
  PReluFn run = nullptr;
};

Status run_prelu(const Step& step, const RunContext& context) {
  const PReluS8Params& p = step.params_as<PReluS8Params>();
  const int8_t* x = context.input<int8_t>(step, 0);
  const auto* negative = static_cast<const float*>(operand_data(p.plan.b, sizeof(float), p.negative.data(), context));
  run_broadcast_s8(
      p.plan, context, x, negative, context.output<int8_t>(step, 0),
      [&](const int8_t* u, const float* v, int v_step, int8_t* y, int64_t n) { p.run(u, v, v_step, y, n, p.args); });
  return {};
}

}  // namespace

// t = float(q_a − z_a)·(s_a/s_y) ± float(q_b − z_b)·(s_b/s_y). Sub negates b's multiplier: the product changes its sign
// only.
Status prepare_add_sub_s8(OpPrepare& p) {
  LQ_RETURN_IF_ERROR(expect_all_s8(p));
  const float s_y = scale_of(p.output(0));
  const float mul_b = rescale_multiplier(scale_of(p.input(1)), s_y);
  return prepare_binary(p, rescale_multiplier(scale_of(p.input(0)), s_y), p.node.op == Op::Sub ? -mul_b : mul_b,
                        elementwise_kernels(p.isa).add);
}

// R on (q_a − z_a)(q_b − z_b), m = s_a·s_b/s_y. Both multipliers are m, so that exchanging the operands changes
// nothing.
Status prepare_mul_s8(OpPrepare& p) {
  LQ_RETURN_IF_ERROR(expect_all_s8(p));
  const float m = requantize_multiplier(scale_of(p.input(0)), scale_of(p.input(1)), scale_of(p.output(0)));
  return prepare_binary(p, m, m, elementwise_kernels(p.isa).mul);
}

// acc = q − zp: R with m = s_x/s_y where acc >= 0 and slope·s_x/s_y where acc < 0.
Status prepare_prelu_s8(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  LQ_RETURN_IF_ERROR(expect_per_tensor_s8(x));
  LQ_RETURN_IF_ERROR(expect_per_tensor_s8(y));
  const std::optional<std::vector<float>> slope = constant_floats(p.graph, p.node.inputs[1]);
  if (!slope) return unsupported("int8 PRelu needs a constant float slope");
  PReluS8Params& params = p.make_params<PReluS8Params>();
  for (float s : *slope) params.negative.push_back(requantize_multiplier(scale_of(x), s, scale_of(y)));
  LQ_RETURN_IF_ERROR(plan_broadcast_s8(p, params.plan));
  if (params.plan.swapped) return internal_error("PRelu's slope does not broadcast to its input");
  OperandS8& slopes = params.plan.b;
  if (slopes.expanded)
    expand_operand(slopes, sizeof(float), params.negative.data(), slopes.packed.data());  // multipliers, not slopes
  params.args = {zero_of(x), rescale_multiplier(scale_of(x), scale_of(y)), round_args(*y.quant)};
  const Kernel<PReluFn>& kernel = elementwise_kernels(p.isa).prelu;
  params.run = kernel.run;
  p.set(kernel.name, kernel.isa, run_prelu);
  return {};
}

}  // namespace lq
