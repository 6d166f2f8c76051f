// Pad. Constant: fill, then copy the part of x that is kept. Reflect, edge and wrap: a gather with one index table an
// axis.
#include <cstring>

#include "numerics/quantize.h"
#include "runtime/ops/blocked.h"
#include "runtime/ops/data_copy.h"

namespace lq {
namespace {

constexpr int64_t kMaxPad = int64_t(1) << 32;  // no legal extent comes near it; keeps index sums far from overflow

// pads_begin of each axis of x (0 for axes not named); the end follows from the output's shape.
Result<std::vector<int64_t>> begin_pads(const OpPrepare& p) {
  const size_t rank = p.input(0).shape.size();
  const auto pads = constant_ints(p.graph, p.node.input(1)), axes = constant_ints(p.graph, p.node.input(3));
  if (!pads) return invalid_argument("pads must be known when the session is planned");
  const size_t count = axes ? axes->size() : rank;
  if (pads->size() != 2 * count) return invalid_argument("Pad needs two pads for each axis");
  std::vector<int64_t> begin(rank, 0);
  for (size_t i = 0; i < count; ++i) {
    const int64_t named = axes ? (*axes)[i] : int64_t(i);
    if (named < -int64_t(rank) || named >= int64_t(rank)) return invalid_argument("axis of Pad out of range");
    if ((*pads)[i] < -kMaxPad || (*pads)[i] > kMaxPad) return invalid_argument("a pad is out of range");
    begin[front_axis(named, rank)] = (*pads)[i];
  }
  return begin;
}

// The input index that output index i − begin stands for.
int64_t source_index(schema::PadMode mode, int64_t i, int64_t size) {
  if (mode == schema::PadMode::Edge) return std::clamp<int64_t>(i, 0, size - 1);
  if (mode == schema::PadMode::Wrap) return ((i % size) + size) % size;
  const int64_t period = std::max<int64_t>(1, 2 * (size - 1));  // reflect: 0 1 2 3 2 1 | 0 1 …
  const int64_t at = ((i % period) + period) % period;
  return at < size ? at : period - at;
}

Status prepare_indexed(OpPrepare& p, schema::PadMode mode, const std::vector<int64_t>& begin) {
  const Shape x = storage_shape(p.input(0)), y = storage_shape(p.output(0));
  LQ_RETURN_IF_ERROR(check_axis_gather(y));
  std::vector<std::vector<int64_t>> indices(x.size());
  for (size_t d = 0; d < x.size(); ++d) {
    if (x[d] == 0 && y[d] != 0) return invalid_argument("cannot pad an empty axis by its own values");
    for (int64_t i = 0; i < y[d]; ++i) indices[d].push_back(source_index(mode, i - begin[d], x[d]));
  }
  AxisGatherParams& params = p.make_params<AxisGatherParams>();
  make_axis_gather(x, indices, params);
  return finish_axis_gather(p, params, "pad");
}

struct PadParams : CopyParams {
  RunFn copy = nullptr;
  BlockedShape y;  // of a blocked output
  uint8_t lanes = 0;
};

// The border's value is not what lanes behind the last channel hold.
template <typename T>
Status run_pad_blocked(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<PadParams>();
  LQ_RETURN_IF_ERROR(params.copy(step, context));
  if constexpr (sizeof(T) == 1) {
    restore_lanes(context.output<T>(step, 0), params.y, params.lanes);
  } else {
    restore_lanes(context.output<T>(step, 0), params.y);
  }
  return {};
}

// What fills the border of x: step input 2, or bytes known now.
Status set_fill(OpPrepare& p, CopyParams& params) {
  const Tensor& x = p.input(0);
  params.fill = true;
  const bool is_short = x.quant && x.dtype == DType::Int16;
  if (!is_quantized(x) && !is_short) {
    if (!p.has_input(2)) return {};  // zero
    if (p.input(2).dtype != x.dtype || element_count(p.input(2).shape) != 1) {
      return invalid_argument("Pad's value must be a scalar of the input's type");
    }
    params.fill_input = 2;
    return {};
  }
  const QuantParams& q = *p.output(0).quant;  // as the file has them: x's may be narrowed by a folded activation
  float value = 0;
  if (p.has_input(2)) {
    const Tensor& v = p.input(2);
    if (!v.is_constant() || element_count(v.shape) != 1)
      return invalid_argument("the value of a quantized Pad must be a constant scalar");
    if (v.dtype == DType::Float32) {
      std::memcpy(&value, v.data.data(), sizeof value);
    } else if (is_quantized(v)) {
      value = dequantize(*v.data.as<int8_t>(), scale_at(*v.quant, 0), zero_point_at(*v.quant, 0));
    } else {
      return invalid_argument("the value of a quantized Pad must be float or quantized");
    }
  }
  const int32_t fill = quantize(value, scale_at(q, 0), zero_point_at(q, 0), q.qmin, q.qmax);
  std::memcpy(params.fill_bytes, &fill, dtype_size(x.dtype));  // little-endian: the low bytes
  return {};
}

}  // namespace

Status prepare_pad(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  LQ_ASSIGN_OR_RETURN(std::vector<int64_t> begin, begin_pads(p));
  const bool blocked = is_blocked(x);
  if (x.blocked_axis != y.blocked_axis) return internal_error("Pad to another layout");
  if (blocked) {
    if (begin[1] != 0 || x.shape[1] != y.shape[1]) return internal_error("Pad of the channels in blocked layout");
    begin.push_back(0);  // the lanes
  }
  const schema::PadMode mode = attrs_as<schema::PadAttrsT>(p.node).mode;
  if (mode != schema::PadMode::Constant) return prepare_indexed(p, mode, begin);
  // The kept part: output indices [max(begin, 0), min(begin + size, out)) read x from max(−begin, 0) on.
  PadParams& params = p.make_params<PadParams>();
  CopyPart part;
  const Shape in = storage_shape(x), out = storage_shape(y);
  const std::vector<int64_t> to = row_major_strides(out), from = row_major_strides(in);
  Shape dims(in.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t first = std::clamp<int64_t>(begin[d], 0, out[d]);
    dims[d] = std::max<int64_t>(0, std::min(begin[d] + in[d], out[d]) - first);
    part.to_base += first * to[d];
    part.from_base += std::clamp<int64_t>(-begin[d], 0, in[d]) * from[d];
  }
  if (dims != out) LQ_RETURN_IF_ERROR(set_fill(p, params));
  LQ_RETURN_IF_ERROR(add_copy(params, part, dims, to, from));
  LQ_RETURN_IF_ERROR(finish_copy(p, params, "pad"));
  if (blocked && params.fill) {
    params.y = blocked_shape(y.shape);
    params.lanes = uint8_t(lane_fill(y));
    params.copy = p.step.run;
    p.step.run = y.dtype == DType::Int8 ? run_pad_blocked<uint8_t> : run_pad_blocked<float>;
  }
  return {};
}

}  // namespace lq
