// BatchNormalization, InstanceNormalization, LayerNormalization in float32: y = (x − mean) / sqrt(var + eps) · scale +
// bias, single IEEE operations in that order; mean = Σx / n and var = Σ(x − mean)² / n in the order of partial_sums.h.
#include "runtime/ops/norm.h"

#include <cmath>

#include "runtime/ops/dtype_dispatch.h"
#include "runtime/ops/partial_sums.h"
#include "runtime/ops/strided.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

struct NormParams : NamedParams {
  int64_t rows = 0;  // BatchNormalization, InstanceNormalization: N·C; LayerNormalization: product of the leading axes
  int64_t size = 0;  // elements of a row
  int64_t channels = 1;
  float epsilon = 0;
  StridedLoop<3> affine;  // LayerNormalization: [0] x and y in the row, [1] scale, [2] bias
};

struct Moments {
  float mean, deviation;
};

Moments moments_of(const float* x, int64_t n, float epsilon) {
  const float mean = sum_of(x, n, [](float v) { return v; }) / float(n);
  const float variance = sum_of(x, n,
                                [mean](float v) {
                                  const float d = v - mean;
                                  return d * d;
                                }) /
                         float(n);
  return {mean, std::sqrt(variance + epsilon)};
}

void normalize_row(const float* x, float* y, int64_t n, Moments m, float scale, float bias) {
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m.mean) / m.deviation * scale + bias;
}

int64_t row_grain(const NormParams& params) {
  return std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, params.size));
}

Status run_batch_norm(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<NormParams>();
  const float* x = context.input<float>(step, 0);
  const float *scale = context.input<float>(step, 1), *bias = context.input<float>(step, 2);
  const float *mean = context.input<float>(step, 3), *variance = context.input<float>(step, 4);
  float* y = context.output<float>(step, 0);
  parallel(context, params.rows, row_grain(params), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t c = row % params.channels, at = row * params.size;
      normalize_row(x + at, y + at, params.size, {mean[c], std::sqrt(variance[c] + params.epsilon)}, scale[c], bias[c]);
    }
  });
  return {};
}

Status run_instance_norm(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<NormParams>();
  const float* x = context.input<float>(step, 0);
  const float *scale = context.input<float>(step, 1), *bias = context.input<float>(step, 2);
  float* y = context.output<float>(step, 0);
  parallel(context, params.rows, row_grain(params), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t c = row % params.channels, at = row * params.size;
      normalize_row(x + at, y + at, params.size, moments_of(x + at, params.size, params.epsilon), scale[c], bias[c]);
    }
  });
  return {};
}

Status run_layer_norm(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<NormParams>();
  const float* x = context.input<float>(step, 0);
  const float *scale = context.input<float>(step, 1), *bias = context.input<float>(step, 2);
  float* y = context.output<float>(step, 0);
  const StridedLoop<3>& loop = params.affine;
  const int64_t scale_stride = loop.strides[1][loop.rank - 1], bias_stride = loop.strides[2][loop.rank - 1];
  parallel(context, params.rows, row_grain(params), [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const float* from = x + row * params.size;
      float* to = y + row * params.size;
      const Moments m = moments_of(from, params.size, params.epsilon);
      for_rows(loop, 0, params.size, [&](const int64_t* at, int64_t n) {
        const float* s = scale + at[1];
        for (int64_t i = 0; i < n; ++i) {
          const float v = (from[at[0] + i] - m.mean) / m.deviation * s[i * scale_stride];
          to[at[0] + i] = bias ? v + bias[at[2] + i * bias_stride] : v;
        }
      });
    }
  });
  return {};
}

Status check_tensors(const OpPrepare& p) {
  for (TensorId id : p.node.inputs) {
    if (id == kNoTensor) continue;
    if (p.graph.tensor(id).blocked_axis != -1) return internal_error("blocked tensor at a linear operator");
    if (p.graph.tensor(id).dtype != p.input(0).dtype) return invalid_argument("all inputs must have the same type");
  }
  return {};
}

Status prepare_channel_norm(OpPrepare& p) {
  LQ_RETURN_IF_ERROR(check_tensors(p));
  const Shape& x = p.input(0).shape;
  NormParams& params = p.make_params<NormParams>();
  params.epsilon = attrs_as<schema::NormAttrsT>(p.node).epsilon;
  if (x.empty()) return invalid_argument("needs an input with channels");
  params.channels = x.size() < 2 ? 1 : x[1];  // a 1-D input is [N] with one channel
  for (size_t i = 1; i < p.node.inputs.size(); ++i) {
    if (element_count(p.input(i).shape) != params.channels)
      return invalid_argument("parameters do not match the channels");
  }
  params.rows = x[0] * params.channels;
  params.size = dims_product(x, std::min<size_t>(2, x.size()), x.size());
  const bool is_float = p.input(0).dtype == DType::Float32;
  if (p.node.op == Op::BatchNormalization) {
    return set_kernel(p, params, "batch_norm", p.input(0).dtype, is_float ? &run_batch_norm : nullptr);
  }
  return set_kernel(p, params, "instance_norm", p.input(0).dtype, is_float ? &run_instance_norm : nullptr);
}

Status prepare_layer_norm(OpPrepare& p) {
  LQ_RETURN_IF_ERROR(check_tensors(p));
  const Shape& x = p.input(0).shape;
  NormParams& params = p.make_params<NormParams>();
  const auto& attrs = attrs_as<schema::NormAttrsT>(p.node);
  params.epsilon = attrs.epsilon;
  const size_t axis = front_axis(attrs.axis, x.size());
  const Shape row(x.begin() + int64_t(axis), x.end());
  params.rows = dims_product(x, 0, axis);
  params.size = dims_product(row, 0, row.size());
  std::vector<int64_t> bias(row.size(), 0);
  if (p.has_input(2)) bias = broadcast_strides(p.input(2).shape, row);
  LQ_RETURN_IF_ERROR(
      make_loop<3>(row, {row_major_strides(row), broadcast_strides(p.input(1).shape, row), bias}, params.affine));
  return set_kernel(p, params, "layer_norm", p.input(0).dtype,
                    p.input(0).dtype == DType::Float32 ? &run_layer_norm : nullptr);
}

const OpRow kRows[] = {
    {Op::BatchNormalization, &prepare_channel_norm},
    {Op::InstanceNormalization, &prepare_channel_norm},
    {Op::LayerNormalization, &prepare_layer_norm},
    {Op::Softmax, &prepare_softmax},
    {Op::LogSoftmax, &prepare_softmax},
};

}  // namespace

const OpRowTable kNormRows = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
