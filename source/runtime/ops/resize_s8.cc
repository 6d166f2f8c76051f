#include "runtime/ops/resize_s8.h"

#include <cmath>

#include "kernels/elementwise_inline.h"
#include "runtime/ops/blocked.h"
#include "runtime/ops/quantized.h"
#include "runtime/ops/resize_axes.h"

namespace lq {
namespace {

using schema::ResizeMode;

struct ResizeS8Params {
  const ElementwiseKernels* kernels = nullptr;
  bool nearest = false;
  std::vector<ResampleTaps> taps;  // by axis; nearest: one tap each, weight unused
  std::vector<int64_t> in, out, strides;
  int64_t outputs = 1;
  int32_t zero_x = 0;
  float multiplier = 1;
  RoundArgs round = {};
  int8_t extrapolation = 0;
  bool x_blocked = false, y_blocked = false;
  BlockedShape x, y;
  uint8_t fill = 0;
  size_t y_scratch = 0;  // linear copies: x at 0, y here
  ResizeArgs args = {};  // blocked path
  ResizeFn run = nullptr;
};

bool is_outside(const ResizeS8Params& p, size_t axis, int64_t at) {
  return !p.taps[axis].outside.empty() && p.taps[axis].outside[size_t(at)] != 0;
}

/// Σ over the taps of axes [axis, rank) of the weights' product times (q − zp); exact in int64.
int64_t weighted_sum(const ResizeS8Params& p, const int8_t* x, const int64_t* at, size_t axis, int64_t offset) {
  if (axis == p.taps.size()) return x[offset] - p.zero_x;
  const ResampleTaps& t = p.taps[axis];
  int64_t sum = 0;
  for (int k = 0; k < t.taps; ++k) {
    const size_t i = size_t(at[axis]) * size_t(t.taps) + size_t(k);
    sum += int64_t(t.weight[i]) * weighted_sum(p, x, at, axis + 1, offset + t.index[i] * p.strides[axis]);
  }
  return sum;
}

int8_t resized_value(const ResizeS8Params& p, const int8_t* x, const int64_t* at) {
  int64_t offset = 0;
  for (size_t a = 0; a < p.taps.size(); ++a) {
    if (is_outside(p, a, at[a])) return p.extrapolation;
    if (p.nearest) offset += p.taps[a].index[size_t(at[a])] * p.strides[a];
  }
  if (p.nearest) return x[offset];
  return int8_t(round_clamped(float(weighted_sum(p, x, at, 0, 0)) * p.multiplier, p.round));
}

/// Linear to linear, any rank.
void resize_linear(const ResizeS8Params& p, const RunContext& context, const int8_t* x, int8_t* y) {
  parallel(context, p.outputs, kElementGrain / 16, [&](int64_t begin, int64_t end, int) {
    int64_t at[kMaxLoopDims];
    for (int64_t a = int64_t(p.out.size()) - 1, rest = begin; a >= 0; --a) {
      at[a] = rest % p.out[size_t(a)];
      rest /= p.out[size_t(a)];
    }
    for (int64_t i = begin; i < end; ++i) {
      y[i] = resized_value(p, x, at);
      for (size_t a = p.out.size(); a-- > 0;) {
        if (++at[a] < p.out[a]) break;
        at[a] = 0;
      }
    }
  });
}

Status run_linear(const Step& step, const RunContext& context) {
  const ResizeS8Params& p = step.params_as<ResizeS8Params>();
  const int8_t* x = context.input<int8_t>(step, 0);
  int8_t* y = context.output<int8_t>(step, 0);
  if (p.x_blocked) {
    tensor_to_linear(*p.kernels, 1, x, context.scratch, p.x);
    x = reinterpret_cast<const int8_t*>(context.scratch);
  }
  int8_t* out = p.y_blocked ? reinterpret_cast<int8_t*>(context.scratch + p.y_scratch) : y;
  resize_linear(p, context, x, out);
  if (p.y_blocked) tensor_to_blocked(*p.kernels, 1, out, y, p.y, p.fill);
  return {};
}

/// Nearest on blocked planes: eight bytes a position.
void nearest_rows(const int8_t* x, int8_t* y, int32_t begin, int32_t end, const ResizeArgs& a) {
  for (int32_t oh = begin; oh < end; ++oh) {
    const int8_t* line = x + int64_t(a.rows.index[oh]) * a.in_w * kBlock;
    int8_t* out = y + int64_t(oh) * a.out_w * kBlock;
    const bool outside_row = a.rows.outside != nullptr && a.rows.outside[oh] != 0;
    for (int32_t ow = 0; ow < a.out_w; ++ow, out += kBlock) {
      if (outside_row || (a.cols.outside != nullptr && a.cols.outside[ow] != 0)) {
        std::memset(out, a.extrapolation, kBlock);
      } else {
        std::memcpy(out, line + int64_t(a.cols.index[ow]) * kBlock, kBlock);
      }
    }
  }
}

Status run_blocked(const Step& step, const RunContext& context) {
  const ResizeS8Params& p = step.params_as<ResizeS8Params>();
  const int8_t* x = context.input<int8_t>(step, 0);
  int8_t* y = context.output<int8_t>(step, 0);
  const int64_t rows = p.y.spatial / p.args.out_w;
  const int64_t grain = std::max<int64_t>(1, kElementGrain / (kBlock * p.args.out_w));
  parallel(context, p.y.n * p.y.blocks * rows, grain, [&](int64_t begin, int64_t end, int) {
    while (begin < end) {
      const int64_t plane = begin / rows, first = begin % rows, count = std::min(end - begin, rows - first);
      p.run(x + plane * p.x.spatial * kBlock, y + plane * p.y.spatial * kBlock, int32_t(first), int32_t(first + count),
            p.args);
      begin += count;
    }
  });
  restore_lanes(reinterpret_cast<uint8_t*>(y), p.y, p.fill);
  return {};
}

ResizeAxis axis_args(const ResampleTaps& t) {
  return {t.taps, t.index.data(), t.weight.data(), t.outside.empty() ? nullptr : t.outside.data()};
}

/// Taps of every axis. An untouched axis has one tap of weight 1, or of 2048 where the blocked kernel wants two Q11
/// axes: m undoes either exactly.
Status fill_taps(ResizeS8Params& params, const schema::ResizeAttrsT& attrs, const std::vector<ResampleAxis>& axes,
                 bool planes) {
  const ResampleKernel kernel = resize_kernel(attrs);
  for (size_t i = 0; i < axes.size(); ++i) {
    ResampleTaps t;
    if (!params.nearest && !is_identity(axes[i])) {
      LQ_ASSIGN_OR_RETURN(t, resample_taps(axes[i], kernel));
      params.taps.push_back(std::move(t));
      continue;
    }
    t.taps = 1;
    const bool crop = axes[i].mode == schema::CoordinateMode::TfCropAndResize;
    for (int64_t x = 0; x < axes[i].out; ++x) {
      LQ_ASSIGN_OR_RETURN(const Fraction c, source_coordinate(axes[i], x));
      t.index.push_back(int32_t(is_identity(axes[i]) ? x : nearest_index(c, attrs.nearest_mode, axes[i].in)));
      t.weight.push_back(planes && i >= 2 ? 2048 : 1);
      if (crop) t.outside.push_back(c.num < 0 || floor_of({c.num - 1, c.den}) + 1 > axes[i].in - 1 ? 1 : 0);
    }
    params.taps.push_back(std::move(t));
  }
  return {};
}

/// True if int32 holds every Σ w·(q − zp).
bool fits_int32(const ResizeS8Params& params) {
  double bound = double(std::max(127 - params.zero_x, params.zero_x + 128));
  for (const ResampleTaps& t : params.taps) {
    double largest = 0;
    for (size_t i = 0; i < t.weight.size(); i += size_t(t.taps)) {
      double sum = 0;
      for (int k = 0; k < t.taps; ++k) sum += std::fabs(double(t.weight[i + size_t(k)]));
      largest = std::max(largest, sum);
    }
    bound *= largest;
  }
  return bound <= 2147483647.0;
}

void set_blocked(OpPrepare& p, ResizeS8Params& params, const Shape& x, const Shape& y) {
  static constexpr int32_t kZero = 0, kUnit = 2048;
  const size_t rank = x.size();
  ResizeArgs& a = params.args;
  a.in_w = int32_t(x[rank - 1]);
  a.out_w = int32_t(y[rank - 1]);
  a.rows = rank == 4 ? axis_args(params.taps[2]) : ResizeAxis{1, &kZero, &kUnit, nullptr};
  a.cols = axis_args(params.taps[rank - 1]);
  a.zero_x = params.zero_x;
  a.multiplier = rank == 4 ? params.multiplier : params.multiplier / 2048;  // the single row weighs 2048
  a.extrapolation = params.extrapolation;
  a.round = params.round;
  const Kernel<ResizeFn>& kernel = params.kernels->resize_s8;
  params.run = params.nearest ? nearest_rows : kernel.run;
  if (params.nearest) {
    p.set("resize_nearest_s8__scalar", Isa::kScalar, run_blocked);
  } else {
    p.set(kernel.name, kernel.isa, run_blocked);
  }
}

}  // namespace

Status prepare_resize_s8(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  const schema::ResizeAttrsT& attrs = attrs_as<schema::ResizeAttrsT>(p.node);
  LQ_RETURN_IF_ERROR(expect_per_tensor_s8(x));
  LQ_RETURN_IF_ERROR(expect_per_tensor_s8(y));
  if (x.shape.size() > kMaxLoopDims) return unsupported("Resize of more than 16 axes");
  LQ_ASSIGN_OR_RETURN(const std::vector<ResampleAxis> axes, resize_axes(p));
  ResizeS8Params& params = p.make_params<ResizeS8Params>();
  params.kernels = &elementwise_kernels(p.isa);
  params.nearest = attrs.mode == ResizeMode::Nearest;
  const size_t rank = x.shape.size();
  const bool planes = is_blocked(x) && is_blocked(y) && (rank == 3 || rank == 4) && is_identity(axes[0]) &&
                      is_identity(axes[1]) && element_count(y.shape) > 0;
  LQ_RETURN_IF_ERROR(fill_taps(params, attrs, axes, planes));
  params.in = x.shape;
  params.out = y.shape;
  params.strides = row_major_strides(x.shape);
  params.outputs = element_count(y.shape);
  params.zero_x = zero_of(x);
  params.round = round_args(*y.quant);
  params.extrapolation =
      int8_t(quantize(attrs.extrapolation_value, scale_of(y), zero_of(y), y.quant->qmin, y.quant->qmax));
  params.x_blocked = is_blocked(x);
  params.y_blocked = is_blocked(y);
  params.fill = uint8_t(lane_fill(y));
  double weight_unit = 1;
  for (size_t i = 0; i < rank; ++i) weight_unit *= is_identity(axes[i]) && !(planes && i >= 2) ? 1 : 2048;
  params.multiplier = float(double(scale_of(x)) / (double(scale_of(y)) * weight_unit));
  if (params.x_blocked) params.x = blocked_shape(x.shape);
  if (params.y_blocked) params.y = blocked_shape(y.shape);
  if (planes && (params.nearest || fits_int32(params))) {
    set_blocked(p, params, x.shape, y.shape);
    return {};
  }
  if (params.x_blocked) p.step.scratch_bytes = size_t(element_count(x.shape));
  if (params.y_blocked) {
    params.y_scratch = align_up(p.step.scratch_bytes);
    p.step.scratch_bytes = params.y_scratch + size_t(params.outputs);
  }
  p.set(params.nearest ? "resize_nearest_s8_any__scalar" : "resize_s8_any__scalar", Isa::kScalar, run_linear);
  return {};
}

}  // namespace lq
