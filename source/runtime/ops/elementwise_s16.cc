// The rules of Add, Sub and Mul on int16: int8 operands are widened to q − zp a piece at a time, int8 results narrowed.
#include "runtime/ops/elementwise_s16.h"

#include "kernels/s16_kernels.h"
#include "numerics/quantize.h"
#include "runtime/ops/broadcast_s8.h"
#include "runtime/ops/quantized.h"

namespace lq {
namespace {

constexpr int64_t kPiece = 1024;  // elements converted at once: three buffers of them fit a first-level cache

struct BinaryS16Params {
  BroadcastS8 plan;
  BinaryArgs args = {};  // zero points 0
  int32_t zero_a = 0, zero_b = 0, zero_y = 0;
  BinaryS16Fn run = nullptr;
  const S16Kernels* kernels = nullptr;
};

/// q − zp as int16: the values themselves, or `buffer`.
const int16_t* widened(const int16_t* x, int64_t, int32_t, const S16Kernels&, int16_t*) { return x; }
const int16_t* widened(const int8_t* x, int64_t n, int32_t zero_point, const S16Kernels& k, int16_t* buffer) {
  k.widen.run(x, buffer, n, zero_point);
  return buffer;
}

template <typename A, typename B, typename Y>
void run_pieces(const BinaryS16Params& p, const A* a, const B* b, int b_step, Y* y, int64_t n) {
  int16_t wide_a[kPiece], wide_b[kPiece], wide_y[kPiece];
  for (int64_t at = 0; at < n; at += kPiece) {
    const int64_t count = std::min(kPiece, n - at);
    const int16_t* u = widened(a + at, count, p.zero_a, *p.kernels, wide_a);
    const int16_t* v = b_step == 0 ? widened(b, kBlock, p.zero_b, *p.kernels, wide_b)
                                   : widened(b + at, count, p.zero_b, *p.kernels, wide_b);
    if constexpr (std::is_same_v<Y, int16_t>) {
      p.run(u, v, b_step, y + at, count, p.args);
    } else {
      p.run(u, v, b_step, wide_y, count, p.args);
      p.kernels->narrow.run(wide_y, y + at, count, p.zero_y);
    }
  }
}

template <typename A, typename B, typename Y>
Status run_binary(const Step& step, const RunContext& context) {
  const BinaryS16Params& p = step.params_as<BinaryS16Params>();
  // A and B are the kernel's operands; `swapped`: the node has them the other way round.
  const size_t first = p.plan.swapped ? 1 : 0;
  const OperandS8 &oa = p.plan.swapped ? p.plan.b : p.plan.a, &ob = p.plan.swapped ? p.plan.a : p.plan.b;
  const auto* a = static_cast<const A*>(operand_data(oa, sizeof(A), context.input<A>(step, first), context));
  const auto* b = static_cast<const B*>(operand_data(ob, sizeof(B), context.input<B>(step, 1 - first), context));
  run_broadcast_s8(p.plan, context, a, b, context.output<Y>(step, 0),
                   [&](const A* u, const B* v, int b_step, Y* y, int64_t n) { run_pieces(p, u, v, b_step, y, n); });
  return {};
}

template <typename A, typename B>
RunFn run_into(DType y) {
  return y == DType::Int16 ? run_binary<A, B, int16_t> : run_binary<A, B, int8_t>;
}
template <typename A>
RunFn run_with(DType b, DType y) {
  return b == DType::Int16 ? run_into<A, int16_t>(y) : run_into<A, int8_t>(y);
}

Status expect_operand(const Tensor& t) {
  const bool type = t.dtype == DType::Int8 || t.dtype == DType::Int16;
  if (type && t.quant && t.quant->scale.size() == 1 && (t.dtype == DType::Int8 || zero_of(t) == 0)) return {};
  return unsupported("tensor '" + t.name + "' is " + dtype_name(t.dtype) +
                     (t.quant ? "" : " without quantization parameters") +
                     ", this operator's int16 form wants int8, or int16 with zero point 0, and one scale");
}

Status prepare_binary(OpPrepare& p, float mul_a, float mul_b, const Kernel<BinaryS16Fn>& kernel) {
  const Tensor &y = p.output(0), *a = &p.input(0), *b = &p.input(1);
  BinaryS16Params& params = p.make_params<BinaryS16Params>();
  LQ_RETURN_IF_ERROR(plan_broadcast_s8(p, params.plan));
  if (params.plan.swapped) std::swap(a, b), std::swap(mul_a, mul_b);  // both rules give the same bits
  params.args = {0, 0, mul_a, mul_b, round_args(*y.quant)};
  params.args.round.zero_point = 0;
  params.zero_a = zero_of(*a), params.zero_b = zero_of(*b), params.zero_y = zero_of(y);
  params.run = kernel.run;
  params.kernels = &s16_kernels(p.isa);
  p.set(kernel.name, kernel.isa,
        a->dtype == DType::Int16 ? run_with<int16_t>(b->dtype, y.dtype) : run_with<int8_t>(b->dtype, y.dtype));
  return {};
}

Status expect_operands(OpPrepare& p) {
  LQ_RETURN_IF_ERROR(expect_operand(p.input(0)));
  LQ_RETURN_IF_ERROR(expect_operand(p.input(1)));
  return expect_operand(p.output(0));
}

}  // namespace

bool has_int16_values(const OpPrepare& p) {
  const auto is_short = [](const Tensor& t) { return t.dtype == DType::Int16 && t.quant.has_value(); };
  return is_short(p.input(0)) || is_short(p.input(1)) || is_short(p.output(0));
}

// The formulas of elementwise_s8.cc.
Status prepare_add_sub_s16(OpPrepare& p) {
  LQ_RETURN_IF_ERROR(expect_operands(p));
  const float s_y = scale_of(p.output(0));
  const float mul_b = rescale_multiplier(scale_of(p.input(1)), s_y);
  return prepare_binary(p, rescale_multiplier(scale_of(p.input(0)), s_y), p.node.op == Op::Sub ? -mul_b : mul_b,
                        s16_kernels(p.isa).add);
}

Status prepare_mul_s16(OpPrepare& p) {
  LQ_RETURN_IF_ERROR(expect_operands(p));
  const float m = requantize_multiplier(scale_of(p.input(0)), scale_of(p.input(1)), scale_of(p.output(0)));
  return prepare_binary(p, m, m, s16_kernels(p.isa).mul);
}

}  // namespace lq
