// Resize. Nearest is a gather with one index table an axis (any type, either layout). Linear and cubic float: one pass
// an axis that changes, from the last axis to the first; each pass y = w0·x0 + w1·x1 + …, taps in ascending order,
// single float operations, w the double weight of numerics/resample.h rounded once. Axes of scale 1 are copied.
#include <algorithm>
#include <cstring>

#include "graph/built_ops.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/data_copy.h"
#include "runtime/ops/resize_axes.h"
#include "runtime/ops/resize_s8.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

// One axis of the storage seen as [outer, axis, inner].
struct ResizePass {
  int64_t outer = 1, in = 1, out = 1, inner = 1;
  int taps = 0;
  std::vector<int32_t> index;  // [out, taps]
  std::vector<float> weight;   // [out, taps]
};

// TfCropAndResize: positions along one axis of the output [outer, outside.size(), inner] that lie outside the input.
struct OutsideAxis {
  int64_t outer = 1, inner = 1;
  std::vector<uint8_t> outside;
};

struct ResizeParams : NamedParams {
  std::vector<ResizePass> passes;  // in order of execution
  std::vector<OutsideAxis> outside;
  size_t scratch_offset[2] = {0, 0};  // results of all passes but the last, alternating
  size_t bytes = 0;                   // without passes: a copy
  float extrapolation = 0;
  bool blocked = false;
  int64_t batch = 0, channels = 0, spatial = 0;
};

void run_pass(const ResizePass& pass, const float* x, float* y, const RunContext& context) {
  const int64_t grain = std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, pass.inner * pass.taps));
  parallel(context, pass.outer * pass.out, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t o = unit % pass.out;
      const float* from = x + unit / pass.out * pass.in * pass.inner;
      const int32_t* index = pass.index.data() + o * pass.taps;
      const float* weight = pass.weight.data() + o * pass.taps;
      float* to = y + unit * pass.inner;
      const float* first = from + index[0] * pass.inner;
      for (int64_t i = 0; i < pass.inner; ++i) to[i] = weight[0] * first[i];
      for (int t = 1; t < pass.taps; ++t) {
        const float* row = from + index[t] * pass.inner;
        const float w = weight[t];
        for (int64_t i = 0; i < pass.inner; ++i) to[i] = to[i] + w * row[i];
      }
    }
  });
}

// Positions outside the input take the extrapolation value, whatever was computed for them.
template <typename T>
void extrapolate(const std::vector<OutsideAxis>& axes, T value, T* y) {
  for (const OutsideAxis& axis : axes) {
    const int64_t size = int64_t(axis.outside.size());
    for (int64_t i = 0; i < axis.outer * size; ++i) {
      if (axis.outside[size_t(i % size)]) std::fill(y + i * axis.inner, y + (i + 1) * axis.inner, value);
    }
  }
}

void add_outside(const Shape& storage_out, size_t at, std::vector<uint8_t> outside, std::vector<OutsideAxis>& axes) {
  if (std::find(outside.begin(), outside.end(), 1) == outside.end()) return;
  axes.push_back(
      {dims_product(storage_out, 0, at), dims_product(storage_out, at + 1, storage_out.size()), std::move(outside)});
}

Status run_resize(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<ResizeParams>();
  const float* x = context.input<float>(step, 0);
  float* y = context.output<float>(step, 0);
  if (params.passes.empty()) {
    if (params.bytes != 0) std::memcpy(y, x, params.bytes);
    return {};
  }
  for (size_t i = 0; i < params.passes.size(); ++i) {
    const bool last = i + 1 == params.passes.size();
    float* to = last ? y : reinterpret_cast<float*>(context.scratch + params.scratch_offset[i % 2]);
    run_pass(params.passes[i], x, to, context);
    x = to;
  }
  extrapolate(params.outside, params.extrapolation, y);
  if (params.blocked) clear_padding_lanes(y, sizeof(float), params.batch, params.channels, params.spatial);
  return {};
}

// Adds the pass along storage axis `at`; `storage` is the extents before it and becomes those after it.
Status add_pass(const ResampleAxis& axis, const ResampleKernel& kernel, size_t at, const Shape& storage_out,
                Shape& storage, ResizeParams& params) {
  LQ_ASSIGN_OR_RETURN(ResampleTaps taps, resample_taps(axis, kernel));
  ResizePass& pass = params.passes.emplace_back();
  pass.outer = dims_product(storage, 0, at);
  pass.inner = dims_product(storage, at + 1, storage.size());
  pass.in = axis.in;
  pass.out = axis.out;
  pass.taps = taps.taps;
  pass.index = std::move(taps.index);
  pass.weight.assign(taps.real.begin(), taps.real.end());
  add_outside(storage_out, at, std::move(taps.outside), params.outside);
  storage[at] = axis.out;
  if (element_count(storage) < 0) return unsupported("an intermediate result is too large");
  return {};
}

Status prepare_interpolation(OpPrepare& p, const std::vector<ResampleAxis>& axes) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  const auto& attrs = attrs_as<schema::ResizeAttrsT>(p.node);
  ResizeParams& params = p.make_params<ResizeParams>();
  params.extrapolation = attrs.extrapolation_value;
  params.bytes = size_t(storage_elements(y)) * dtype_size(y.dtype);
  params.blocked = y.blocked_axis == 1;
  if (params.blocked) {
    params.batch = y.shape[0];
    params.channels = y.shape[1];
    params.spatial = dims_product(y.shape, 2, y.shape.size());
    if (!is_identity(axes[1])) return internal_error("Resize of the channels in blocked layout");
  }
  if (element_count(y.shape) != 0) {
    Shape storage = storage_shape(x);
    const ResampleKernel kernel = resize_kernel(attrs);
    std::vector<size_t> bytes;  // of each pass' result
    for (size_t at = axes.size(); at-- > 0;) {
      if (is_identity(axes[at])) continue;
      LQ_RETURN_IF_ERROR(add_pass(axes[at], kernel, at, storage_shape(y), storage, params));
      bytes.push_back(size_t(dims_product(storage, 0, storage.size())) * sizeof(float));
    }
    size_t largest[2] = {0, 0};
    for (size_t i = 0; i + 1 < bytes.size(); ++i) largest[i % 2] = std::max(largest[i % 2], align_up(bytes[i]));
    params.scratch_offset[1] = largest[0];
    p.step.scratch_bytes = largest[0] + largest[1];
  }
  const char* name = attrs.mode == schema::ResizeMode::Cubic ? "resize_cubic" : "resize_linear";
  return set_kernel(p, params, name, x.dtype, x.dtype == DType::Float32 ? &run_resize : nullptr);
}

// Nearest with positions outside the input: the gather, then the extrapolation value over them (float32 only; the int8
// form of that is prepare_resize_s8's).
struct NearestParams : AxisGatherParams {
  RunFn gather = nullptr;
  std::vector<OutsideAxis> outside;
  float extrapolation = 0;
  int64_t batch = 0, channels = 0, spatial = 0;  // of a blocked tensor
};

Status run_nearest_crop(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<NearestParams>();
  LQ_RETURN_IF_ERROR(params.gather(step, context));
  float* y = context.output<float>(step, 0);
  extrapolate(params.outside, params.extrapolation, y);
  clear_padding_lanes(y, sizeof(float), params.batch, params.channels, params.spatial);
  return {};
}

Status finish_nearest(OpPrepare& p, NearestParams& params) {
  LQ_RETURN_IF_ERROR(finish_axis_gather(p, params, "resize_nearest"));
  if (params.outside.empty()) return {};
  const Tensor& y = p.output(0);
  params.extrapolation = attrs_as<schema::ResizeAttrsT>(p.node).extrapolation_value;
  params.gather = p.step.run;
  if (y.blocked_axis == 1) {
    params.batch = y.shape[0];
    params.channels = y.shape[1];
    params.spatial = dims_product(y.shape, 2, y.shape.size());
  }
  return set_kernel(p, params, "resize_nearest_crop", y.dtype, y.dtype == DType::Float32 ? &run_nearest_crop : nullptr);
}

// True for a coordinate below 0 or above in − 1.
bool is_outside(Fraction c, int64_t in) { return c.num < 0 || floor_of({c.num - 1, c.den}) >= in - 1; }

Status prepare_nearest(OpPrepare& p, const std::vector<ResampleAxis>& axes) {
  const Tensor& x = p.input(0);
  const auto& attrs = attrs_as<schema::ResizeAttrsT>(p.node);
  const Shape storage = storage_shape(x);
  LQ_RETURN_IF_ERROR(check_axis_gather(p.output(0).shape));
  std::vector<std::vector<int64_t>> indices(storage.size());
  NearestParams& params = p.make_params<NearestParams>();
  for (size_t d = 0; d < storage.size(); ++d) {
    const bool lanes = d == axes.size();
    if (lanes || is_identity(axes[d])) {
      for (int64_t i = 0; i < storage[d]; ++i) indices[d].push_back(i);
      continue;
    }
    if (x.blocked_axis == 1 && d == 1) return internal_error("Resize of the channels in blocked layout");
    std::vector<uint8_t> outside(size_t(axes[d].out), 0);
    for (int64_t i = 0; i < axes[d].out && axes[d].in > 0; ++i) {
      LQ_ASSIGN_OR_RETURN(const Fraction c, source_coordinate(axes[d], i));
      indices[d].push_back(nearest_index(c, attrs.nearest_mode, axes[d].in));
      outside[size_t(i)] = axes[d].mode == schema::CoordinateMode::TfCropAndResize && is_outside(c, axes[d].in);
    }
    add_outside(storage_shape(p.output(0)), d, std::move(outside), params.outside);
  }
  make_axis_gather(storage, indices, params);
  return finish_nearest(p, params);
}

Status prepare_resize(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const auto& attrs = attrs_as<schema::ResizeAttrsT>(p.node);
  const bool same_layout = x.blocked_axis == p.output(0).blocked_axis;
  const bool moves_only = attrs.mode == schema::ResizeMode::Nearest && same_layout;
  const bool crop = attrs.coordinate_mode == schema::CoordinateMode::TfCropAndResize;
  if constexpr (any_form_built<kFormInt8, Op::Resize>()) {
    if (is_quantized(x) && (!moves_only || crop)) return prepare_resize_s8(p);
  }
  if (!same_layout) return internal_error("input and output differ in layout");
  LQ_ASSIGN_OR_RETURN(const std::vector<ResampleAxis> axes, resize_axes(p));
  return moves_only ? prepare_nearest(p, axes) : prepare_interpolation(p, axes);
}

const OpRow kRows[] = {{Op::Resize, &prepare_resize}};

}  // namespace

const OpRowTable kResizeRows = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
