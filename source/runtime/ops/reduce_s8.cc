#include "runtime/ops/reduce_s8.h"

#include "kernels/elementwise_inline.h"
#include "runtime/ops/blocked.h"
#include "runtime/ops/quantized.h"

namespace lq {
namespace {

struct ReduceS8Params {
  const ElementwiseKernels* kernels = nullptr;
  StridedLoop<1> kept, reduced;  // x offsets of the kept and of the reduced axes; kept in the output's order
  int32_t zero_x = 0;
  int64_t n = 1;
  float multiplier = 0;
  RoundArgs round = {};
  bool x_blocked = false, y_blocked = false;
  BlockedShape x, y;
  uint8_t fill = 0;
  size_t y_scratch = 0;        // linear copies: x at 0, y here
  PoolS8Fn average = nullptr;  // blocked x, mean over exactly the spatial axes
};

int8_t finish(const ReduceS8Params& p, int32_t sum) {
  return int8_t(round_clamped(float(sum) * p.multiplier, p.round));
}

/// Linear to linear: one output after another.
void reduce_linear(const ReduceS8Params& p, const RunContext& context, const int8_t* x, int8_t* y) {
  parallel(context, p.kept.count, std::max<int64_t>(1, kElementGrain / p.n), [&](int64_t begin, int64_t end, int) {
    int8_t* out = y + begin;
    const int64_t kept_step = p.kept.strides[0][p.kept.rank - 1], step = p.reduced.strides[0][p.reduced.rank - 1];
    for_rows(p.kept, begin, end, [&](const int64_t* at, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const int8_t* base = x + at[0] + i * kept_step;
        int32_t sum = 0;
        for_rows(p.reduced, 0, p.n, [&](const int64_t* r, int64_t m) {
          const int8_t* v = base + r[0];
          for (int64_t k = 0; k < m; ++k) sum += v[k * step] - p.zero_x;
        });
        *out++ = finish(p, sum);
      }
    });
  });
}

Status run_reduce(const Step& step, const RunContext& context) {
  const ReduceS8Params& p = step.params_as<ReduceS8Params>();
  const int8_t* x = context.input<int8_t>(step, 0);
  int8_t* y = context.output<int8_t>(step, 0);
  if (p.x_blocked) {
    tensor_to_linear(*p.kernels, 1, x, context.scratch, p.x);
    x = reinterpret_cast<const int8_t*>(context.scratch);
  }
  int8_t* out = p.y_blocked ? reinterpret_cast<int8_t*>(context.scratch + p.y_scratch) : y;
  reduce_linear(p, context, x, out);
  if (p.y_blocked) tensor_to_blocked(*p.kernels, 1, out, y, p.y, p.fill);
  return {};
}

/// Blocked x, spatial mean: a global average pool of each plane; y is [N, C] or [N, C, 1…], linear or blocked.
Status run_spatial(const Step& step, const RunContext& context) {
  const ReduceS8Params& p = step.params_as<ReduceS8Params>();
  const int8_t* x = context.input<int8_t>(step, 0);
  int8_t* y = context.output<int8_t>(step, 0);
  const int32_t spatial = int32_t(p.x.spatial);
  static constexpr PoolTaps kRow = {0, 1, 1, 0};
  const PoolTaps col = {0, spatial, spatial, 0};
  const PoolArgs args = {spatial, 1, 1, 1, &kRow, &col, &p.multiplier, 1, p.zero_x, p.round};
  const int64_t grain = std::max<int64_t>(1, kElementGrain / (kBlock * p.x.spatial));
  parallel(context, p.x.n * p.x.blocks, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / p.x.blocks, block = i % p.x.blocks;
      int8_t mean[kBlock];
      p.average(x + i * p.x.spatial * kBlock, mean, 0, 1, args);
      int8_t* out = p.y_blocked ? y + i * kBlock : y + n * p.x.c + block * kBlock;
      std::memcpy(out, mean, size_t(channels_in(p.x, block)));
    }
  });
  if (p.y_blocked) restore_lanes(reinterpret_cast<uint8_t*>(y), p.y, p.fill);
  return {};
}

/// Which axes are reduced: input 1, or all (none with noop_with_empty_axes).
Result<std::vector<bool>> reduced_axes(const OpPrepare& p, size_t rank) {
  std::vector<int64_t> axes;
  if (p.has_input(1)) {
    const std::optional<std::vector<int64_t>> value = constant_ints(p.graph, p.node.inputs[1]);
    if (!value) return unsupported("int8 ReduceMean needs constant axes");
    axes = *value;
  }
  const bool all = axes.empty() && !attrs_as<schema::ReduceAttrsT>(p.node).noop_with_empty_axes;
  std::vector<bool> reduced(rank, all);
  for (int64_t axis : axes) {
    LQ_ASSIGN_OR_RETURN(const int a, normalize_axis(axis, rank));
    reduced[size_t(a)] = true;
  }
  return reduced;
}

Status plan_loops(ReduceS8Params& params, const Shape& shape, const std::vector<bool>& reduced) {
  const std::vector<int64_t> strides = row_major_strides(shape);
  Shape kept_dims, reduced_dims;
  std::vector<int64_t> kept_strides, reduced_strides;
  for (size_t i = 0; i < shape.size(); ++i) {
    (reduced[i] ? reduced_dims : kept_dims).push_back(shape[i]);
    (reduced[i] ? reduced_strides : kept_strides).push_back(strides[i]);
  }
  LQ_RETURN_IF_ERROR(make_loop<1>(kept_dims, {kept_strides}, params.kept));
  LQ_RETURN_IF_ERROR(make_loop<1>(reduced_dims, {reduced_strides}, params.reduced));
  params.n = params.reduced.count;
  return {};
}

}  // namespace

Status prepare_reduce_mean_s8(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  LQ_RETURN_IF_ERROR(expect_per_tensor_s8(x));
  LQ_RETURN_IF_ERROR(expect_per_tensor_s8(y));
  LQ_ASSIGN_OR_RETURN(const std::vector<bool> reduced, reduced_axes(p, x.shape.size()));
  ReduceS8Params& params = p.make_params<ReduceS8Params>();
  LQ_RETURN_IF_ERROR(plan_loops(params, x.shape, reduced));
  if (params.n < 1) return invalid_argument("mean over no element");
  if (params.n > int64_t(1) << 23) return unsupported("int8 mean over more than 2^23 elements");  // 2^23·255 < 2^31
  params.kernels = &elementwise_kernels(p.isa);
  params.zero_x = zero_of(x);
  params.multiplier = float(double(scale_of(x)) / (double(scale_of(y)) * double(params.n)));
  params.round = round_args(*y.quant);
  params.x_blocked = is_blocked(x);
  params.y_blocked = is_blocked(y);
  if (params.x_blocked) params.x = blocked_shape(x.shape);
  if (params.y_blocked) params.y = blocked_shape(y.shape);
  params.fill = uint8_t(lane_fill(y));
  bool spatial_only = params.x_blocked && !reduced[0] && !reduced[1];
  for (size_t i = 2; i < reduced.size(); ++i) spatial_only = spatial_only && reduced[i];
  if (spatial_only) {
    const Kernel<PoolS8Fn>& kernel = params.kernels->average_pool_s8;
    params.average = kernel.run;
    p.set(kernel.name, kernel.isa, run_spatial);
    return {};
  }
  if (params.x_blocked) p.step.scratch_bytes = size_t(element_count(x.shape));
  if (params.y_blocked) {
    params.y_scratch = align_up(p.step.scratch_bytes);
    p.step.scratch_bytes = params.y_scratch + size_t(element_count(y.shape));
  }
  p.set("reduce_mean_s8__scalar", Isa::kScalar, run_reduce);
  return {};
}

}  // namespace lq
