// Softmax: e = float(exp(double(x − max))), y = e / Σe. LogSoftmax: y = (x − max) − float(log(double(Σe))). Σ in the
// order of partial_sums.h. Over one axis of [outer, axis, inner].
#include <limits>

#include "numerics/elementary.h"
#include "runtime/ops/dtype_dispatch.h"
#include "runtime/ops/norm.h"
#include "runtime/ops/partial_sums.h"
#include "runtime/ops/strided.h"

namespace lq {
namespace {

constexpr int kWidth = 16;  // columns done side by side when inner > 1, so that reads stay contiguous

struct SoftmaxParams : NamedParams {
  int64_t outer = 1, axis = 1, inner = 1;
  bool log = false;
};

float exp_of(float v) { return float(elementary::exp(double(v))); }
float log_of(float v) { return float(elementary::log(double(v))); }

// Columns [0, width) of an [axis, inner] matrix.
void softmax_columns(const SoftmaxParams& params, const float* x, float* y, int width) {
  float max[kWidth], partial[8][kWidth] = {}, sum[kWidth];
  std::fill(max, max + kWidth, -std::numeric_limits<float>::infinity());
  for (int64_t a = 0; a < params.axis; ++a) {
    for (int k = 0; k < width; ++k) max[k] = x[a * params.inner + k] > max[k] ? x[a * params.inner + k] : max[k];
  }
  for (int64_t a = 0; a < params.axis; ++a) {
    const float* from = x + a * params.inner;
    float* to = y + a * params.inner;
    for (int k = 0; k < width; ++k) {
      const float e = exp_of(from[k] - max[k]);
      partial[a % 8][k] += e;
      if (!params.log) to[k] = e;
    }
  }
  for (int k = 0; k < width; ++k) {
    const float column[8] = {partial[0][k], partial[1][k], partial[2][k], partial[3][k],
                             partial[4][k], partial[5][k], partial[6][k], partial[7][k]};
    sum[k] = params.log ? log_of(join_sum(column)) : join_sum(column);
  }
  for (int64_t a = 0; a < params.axis; ++a) {
    const float* from = x + a * params.inner;
    float* to = y + a * params.inner;
    if (params.log) {
      for (int k = 0; k < width; ++k) to[k] = (from[k] - max[k]) - sum[k];
    } else {
      for (int k = 0; k < width; ++k) to[k] = to[k] / sum[k];
    }
  }
}

Status run_softmax(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<SoftmaxParams>();
  const float* x = context.input<float>(step, 0);
  float* y = context.output<float>(step, 0);
  const int64_t groups = (params.inner + kWidth - 1) / kWidth;
  const int64_t grain =
      std::max<int64_t>(1, 1024 / std::max<int64_t>(1, params.axis * std::min<int64_t>(kWidth, params.inner)));
  parallel(context, params.outer * groups, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % groups * kWidth;
      const int64_t at = unit / groups * params.axis * params.inner + column;
      softmax_columns(params, x + at, y + at, int(std::min<int64_t>(kWidth, params.inner - column)));
    }
  });
  return {};
}

}  // namespace

Status prepare_softmax(OpPrepare& p) {
  const Tensor& x = p.input(0);
  if (x.blocked_axis != -1 || p.output(0).blocked_axis != -1)
    return internal_error("blocked tensor at a linear operator");
  SoftmaxParams& params = p.make_params<SoftmaxParams>();
  params.log = p.node.op == Op::LogSoftmax;
  if (!x.shape.empty()) {
    const size_t axis = front_axis(attrs_as<schema::AxisAttrsT>(p.node).axis, x.shape.size());
    params.outer = dims_product(x.shape, 0, axis);
    params.axis = x.shape[axis];
    params.inner = dims_product(x.shape, axis + 1, x.shape.size());
  }
  return set_kernel(p, params, params.log ? "log_softmax" : "softmax", x.dtype,
                    x.dtype == DType::Float32 ? &run_softmax : nullptr);
}

}  // namespace lq
