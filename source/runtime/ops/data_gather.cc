// Gather: y[outer, i…, inner] = x[outer, indices[i…], inner]. Indices are data: each is checked in the run.
#include <cstring>

#include "runtime/ops/channel_move.h"
#include "runtime/ops/data_copy.h"

namespace lq {
namespace {

struct GatherParams : NamedParams {
  int64_t outer = 1, axis = 1, count = 1;  // `axis`: its size; `count`: number of indices
  size_t inner_bytes = 1;
};

template <typename Index>
Status run_gather(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<GatherParams>();
  const uint8_t* x = context.input<uint8_t>(step, 0);
  const Index* indices = context.input<Index>(step, 1);
  uint8_t* y = context.output<uint8_t>(step, 0);
  for (int64_t i = 0; i < params.count; ++i) {
    const int64_t at = int64_t(indices[i]);
    if (at < -params.axis || at >= params.axis) {
      return invalid_argument("index " + std::to_string(at) + " is outside the axis of " + std::to_string(params.axis) +
                              " elements");
    }
  }
  const size_t inner = params.inner_bytes;
  const int64_t grain = std::max<int64_t>(1, 4 * kElementGrain / int64_t(inner + 1));
  parallel(context, params.outer * params.count, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t index = int64_t(indices[unit % params.count]);
      const int64_t row = unit / params.count * params.axis + (index < 0 ? index + params.axis : index);
      std::memcpy(y + size_t(unit) * inner, x + size_t(row) * inner, inner);
    }
  });
  return {};
}

/// The channels of an NCHWc8 tensor by constant indices.
Status gather_channels(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const auto indices = constant_ints(p.graph, p.node.inputs[1]);
  if (front_axis(attrs_as<schema::AxisAttrsT>(p.node).axis, x.shape.size()) != 1 || !indices)
    return internal_error("Gather of something else than channels in blocked layout");
  ChannelMap map(1);
  for (const int64_t index : *indices) {
    if (index < -x.shape[1] || index >= x.shape[1])
      return invalid_argument("index " + std::to_string(index) + " is outside the axis of " +
                              std::to_string(x.shape[1]));
    map[0].push_back({0, int32_t(index < 0 ? index + x.shape[1] : index)});
  }
  return prepare_channel_move(p, std::move(map));
}

}  // namespace

Status prepare_gather(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const Tensor& indices = p.input(1);
  if (x.blocked_axis != -1) return gather_channels(p);
  if (x.dtype != p.output(0).dtype) return internal_error("Gather's output has another type than its data");
  GatherParams& params = p.make_params<GatherParams>();
  const size_t axis = front_axis(attrs_as<schema::AxisAttrsT>(p.node).axis, x.shape.size());
  params.outer = dims_product(x.shape, 0, axis);
  params.axis = x.shape[axis];
  params.count = dims_product(indices.shape, 0, indices.shape.size());
  params.inner_bytes = size_t(dims_product(x.shape, axis + 1, x.shape.size())) * dtype_size(x.dtype);
  switch (indices.dtype) {
    case DType::Int32:
      return set_kernel(p, params, "gather", x.dtype, &run_gather<int32_t>);
    case DType::Int64:
      return set_kernel(p, params, "gather", x.dtype, &run_gather<int64_t>);
    default:
      return invalid_argument("indices of Gather must be int32 or int64");
  }
}

}  // namespace lq
