// MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool: geometry as taps an output position, and the blocked 1-D and
// 2-D path.
#include "graph/built_ops.h"
#include "runtime/ops/pool_params.h"
#include "runtime/ops/quantized.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

bool is_average(Op op) { return op == Op::AveragePool || op == Op::GlobalAveragePool; }
bool is_global(Op op) { return op == Op::GlobalAveragePool || op == Op::GlobalMaxPool; }

/// Taps of output `o`: those inside the image; the divisor counts those inside the padded image too if asked. In
/// ceil_mode a last window may hang over the padding's end: what hangs over counts nowhere.
PoolTaps taps_of(const WindowGeometry& g, size_t axis, int64_t in, int64_t o, bool count_include_pad) {
  const int64_t start = o * g.strides[axis] - g.pads_begin[axis];
  PoolTaps t = {0, 0, 0, 0};
  for (int64_t k = 0; k < g.kernel[axis]; ++k) {
    const int64_t at = start + k * g.dilations[axis];
    if (at >= in + g.pads_end[axis]) break;
    if (at >= 0 && at < in && t.count++ == 0) t.first = int32_t(at);
    ++t.divisor;
  }
  if (!count_include_pad) t.divisor = t.count;
  return t;
}

/// The geometry of a global pool: one window over everything.
WindowGeometry global_geometry(const Shape& x) {
  WindowGeometry g;
  for (size_t i = 2; i < x.size(); ++i) {
    g.kernel.push_back(x[i]);
    g.output.push_back(1);
  }
  const size_t n = g.kernel.size();
  g.strides.assign(n, 1);
  g.dilations.assign(n, 1);
  g.pads_begin.assign(n, 0);
  g.pads_end.assign(n, 0);
  return g;
}

Status fill_taps(PoolParams& params, const WindowGeometry& g, bool count_include_pad) {
  for (size_t axis = 0; axis < g.kernel.size(); ++axis) {
    std::vector<PoolTaps> taps;
    std::vector<int32_t> divisors;
    for (int64_t o = 0; o < g.output[axis]; ++o) {
      PoolTaps t = taps_of(g, axis, params.in[axis], o, count_include_pad);
      if (t.count == 0) return invalid_argument("a pooling window sees nothing but padding");
      const auto found = std::find(divisors.begin(), divisors.end(), t.divisor);
      t.slot = int32_t(found - divisors.begin());
      if (found == divisors.end()) divisors.push_back(t.divisor);
      taps.push_back(t);
    }
    params.slots.push_back(int64_t(divisors.size()));
    params.taps.push_back(std::move(taps));
  }
  return {};
}

/// m by divisor: float(double(s_x) / (double(s_y)·n)), n the product of the axes' divisors.
Status fill_multipliers(PoolParams& params, const Tensor& x, const Tensor& y) {
  std::vector<int64_t> n = {1};
  for (const std::vector<PoolTaps>& taps : params.taps) {
    std::vector<int64_t> distinct, next;
    for (const PoolTaps& t : taps) {
      if (size_t(t.slot) == distinct.size()) distinct.push_back(t.divisor);
    }
    for (int64_t a : n) {
      for (int64_t b : distinct) next.push_back(a * b);
    }
    n = std::move(next);
  }
  for (int64_t d : n) {
    if (d > int64_t(1) << 23) return unsupported("int8 average over more than 2^23 elements");  // 2^23·255 < 2^31
    params.multiplier.push_back(float(double(scale_of(x)) / (double(scale_of(y)) * double(d))));
  }
  return {};
}

Status run_blocked(const Step& step, const RunContext& context) {
  const PoolParams& p = step.params_as<PoolParams>();
  const int64_t planes = p.x.n * p.x.blocks, rows = p.y.spatial / p.args.out_w;
  const int64_t in_plane = p.x.spatial * kBlock, out_plane = p.y.spatial * kBlock;
  // Work of an output row: its windows; a global pool's single row weighs the whole plane.
  const int64_t row_work = std::max<int64_t>(1, (p.x.spatial / rows + p.args.out_w) * kBlock);
  const auto each = [&](auto* fn, const auto* x, auto* y) {
    parallel(context, planes * rows, std::max<int64_t>(1, kElementGrain / row_work),
             [&](int64_t begin, int64_t end, int) {
               while (begin < end) {
                 const int64_t plane = begin / rows, first = begin % rows, count = std::min(end - begin, rows - first);
                 fn(x + plane * in_plane, y + plane * out_plane, int32_t(first), int32_t(first + count), p.args);
                 begin += count;
               }
             });
  };
  if (p.s8 != nullptr) {
    each(p.s8, context.input<int8_t>(step, 0), context.output<int8_t>(step, 0));
    restore_lanes(context.output<uint8_t>(step, 0), p.y, p.fill);
  } else {
    each(p.f32, context.input<float>(step, 0), context.output<float>(step, 0));
    restore_lanes(context.output<float>(step, 0), p.y);
  }
  return {};
}

/// The AVX2-able path: 1-D or 2-D, both sides blocked, float or int8, no indices.
Status prepare_blocked(OpPrepare& p, PoolParams& params) {
  static constexpr PoolTaps kSingleRow[] = {{0, 1, 1, 0}};
  const ElementwiseKernels& k = elementwise_kernels(p.isa);
  const size_t rank = params.taps.size();
  PoolArgs& a = params.args;
  a.in_w = int32_t(params.in[rank - 1]);
  a.out_w = int32_t(params.out[rank - 1]);
  a.dilation_w = int32_t(params.dilations[rank - 1]);
  a.dilation_h = rank == 2 ? int32_t(params.dilations[0]) : 1;
  a.rows = rank == 2 ? params.taps[0].data() : kSingleRow;
  a.cols = params.taps[rank - 1].data();
  a.multiplier = params.multiplier.data();
  a.col_slots = int32_t(params.slots[rank - 1]);
  a.zero_x = params.zero_x;
  a.round = params.round;
  if (p.input(0).dtype == DType::Float32) {
    const Kernel<PoolF32Fn>& kernel = params.average ? k.average_pool_f32 : k.max_pool_f32;
    params.f32 = kernel.run;
    p.set(kernel.name, kernel.isa, run_blocked);
  } else {
    const Kernel<PoolS8Fn>& kernel = params.average ? k.average_pool_s8 : k.max_pool_s8;
    params.s8 = kernel.run;
    p.set(kernel.name, kernel.isa, run_blocked);
  }
  return {};
}

Status prepare_pool(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  if (x.shape.size() < 3) return invalid_argument("pooling needs [N,C,spatial…], got " + shape_string(x.shape));
  const schema::PoolAttrsT& attrs = attrs_as<schema::PoolAttrsT>(p.node);
  const Op op = p.node.op;
  WindowGeometry g;
  if (is_global(op)) {
    g = global_geometry(x.shape);
  } else {
    LQ_ASSIGN_OR_RETURN(g, pool_geometry(attrs, x.shape));
  }
  PoolParams& params = p.make_params<PoolParams>();
  params.average = is_average(op);
  params.in.assign(x.shape.begin() + 2, x.shape.end());
  params.out = g.output;
  params.dilations = g.dilations;
  params.x = blocked_shape(x.shape);
  params.y = blocked_shape(y.shape);
  params.x_blocked = is_blocked(x);
  params.y_blocked = is_blocked(y);
  params.column_major = attrs.storage_order == 1;
  params.fill = uint8_t(lane_fill(y));
  LQ_RETURN_IF_ERROR(fill_taps(params, g, op == Op::AveragePool && attrs.count_include_pad));
  if (params.average && x.dtype == DType::Int8) {
    LQ_RETURN_IF_ERROR(expect_per_tensor_s8(x));
    LQ_RETURN_IF_ERROR(expect_per_tensor_s8(y));
    params.zero_x = zero_of(x);
    params.round = round_args(*y.quant);
    LQ_RETURN_IF_ERROR(fill_multipliers(params, x, y));
  }
  const bool indices = op == Op::MaxPool && p.has_output(1);
  if (indices) params.indices_blocked = is_blocked(p.output(1));
  const bool kernel_type = x.dtype == DType::Float32 || x.dtype == DType::Int8;
  if (params.x_blocked && params.y_blocked && !indices && kernel_type && params.taps.size() <= 2)
    return prepare_blocked(p, params);
  return prepare_pool_strided(p, params);
}

constexpr OpRow kRows[] = {{Op::MaxPool, built<Op::MaxPool>(&prepare_pool)},
                           {Op::AveragePool, built<Op::AveragePool>(&prepare_pool)},
                           {Op::GlobalAveragePool, built<Op::GlobalAveragePool>(&prepare_pool)},
                           {Op::GlobalMaxPool, built<Op::GlobalMaxPool>(&prepare_pool)}};

}  // namespace

const OpRowTable kPoolRows = {kRows, int(std::size(kRows))};

}  // namespace lq
