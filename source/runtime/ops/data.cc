// Operators that move or name data: the rows, and those too small for a file of their own. Copies are in data_*.cc.
#include <cstring>

#include "runtime/ops/data_copy.h"
#include "graph/built_ops.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

struct BytesParams : NamedParams {
  size_t bytes = 0;
};

// The same bytes under another shape. The planner may give input and output one place; then there is nothing to do.
Status run_same_bytes(const Step& step, const RunContext& context) {
  const size_t bytes = step.params_as<BytesParams>().bytes;
  const void* x = context.input<void>(step, 0);
  void* y = context.output<void>(step, 0);
  if (x != y && bytes != 0) std::memcpy(y, x, bytes);
  return {};
}

Status prepare_same_bytes(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  if (x.blocked_axis != y.blocked_axis) return internal_error("input and output differ in layout");
  if (x.blocked_axis != -1 && x.shape != y.shape) return internal_error("a blocked tensor cannot be reshaped");
  if (x.dtype != y.dtype || element_count(x.shape) != element_count(y.shape)) {
    return invalid_argument("output " + shape_string(y.shape) + " does not hold input " + shape_string(x.shape));
  }
  BytesParams& params = p.make_params<BytesParams>();
  params.bytes = size_t(storage_elements(x)) * dtype_size(x.dtype);
  return set_kernel(p, params, "copy", x.dtype, &run_same_bytes);
}

struct ValuesParams : NamedParams {
  std::vector<int64_t> values;
};

Status run_values(const Step& step, const RunContext& context) {
  const std::vector<int64_t>& values = step.params_as<ValuesParams>().values;
  if (!values.empty()) std::memcpy(context.output<int64_t>(step, 0), values.data(), values.size() * sizeof(int64_t));
  return {};
}

Status prepare_shape(OpPrepare& p) {
  const Shape& x = p.input(0).shape;
  ValuesParams& params = p.make_params<ValuesParams>();
  if (p.node.op == Op::Size) {
    params.values = {element_count(x)};
  } else {
    const auto& attrs = attrs_as<schema::ShapeAttrsT>(p.node);
    const int64_t rank = int64_t(x.size());
    const auto bound = [rank](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
    for (int64_t i = bound(attrs.start); i < bound(attrs.end); ++i) params.values.push_back(x[size_t(i)]);
  }
  if (element_count(p.output(0).shape) != int64_t(params.values.size()))
    return internal_error("output shape is inconsistent");
  return set_kernel(p, params, p.node.op == Op::Size ? "size" : "shape", DType::Int64, &run_values);
}

struct CountParams : NamedParams {
  int64_t count = 0;
  bool has_value = false;
};

// y[i] = start + i · delta: integers wrap, reals in double, rounded once.
template <typename T>
Status run_range(const Step& step, const RunContext& context) {
  const T start = *context.input<T>(step, 0), delta = *context.input<T>(step, 2);
  T* y = context.output<T>(step, 0);
  for (int64_t i = 0; i < step.params_as<CountParams>().count; ++i) {
    if constexpr (std::is_integral_v<T>)
      y[i] = T(uint64_t(start) + uint64_t(i) * uint64_t(delta));
    else
      y[i] = T(double(start) + double(i) * double(delta));
  }
  return {};
}

Status prepare_range(OpPrepare& p) {
  CountParams& params = p.make_params<CountParams>();
  for (size_t i = 0; i < 3; ++i) {
    if (p.input(i).dtype != p.output(0).dtype || element_count(p.input(i).shape) != 1) {
      return invalid_argument("start, limit and delta of Range must be scalars of one type");
    }
  }
  params.count = element_count(p.output(0).shape);
  switch (p.output(0).dtype) {
    case DType::Float32:
      return set_kernel(p, params, "range", DType::Float32, &run_range<float>);
    case DType::Float64:
      return set_kernel(p, params, "range", DType::Float64, &run_range<double>);
    case DType::Int16:
      return set_kernel(p, params, "range", DType::Int16, &run_range<int16_t>);
    case DType::Int32:
      return set_kernel(p, params, "range", DType::Int32, &run_range<int32_t>);
    case DType::Int64:
      return set_kernel(p, params, "range", DType::Int64, &run_range<int64_t>);
    default:
      return set_kernel(p, params, "range", p.output(0).dtype, nullptr);
  }
}

template <typename T>
Status run_constant_of_shape(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<CountParams>();
  const T value = params.has_value ? *context.input<T>(step, 1) : T(0);
  T* y = context.output<T>(step, 0);
  std::fill(y, y + params.count, value);
  return {};
}

Status prepare_constant_of_shape(OpPrepare& p) {
  const Tensor& y = p.output(0);
  CountParams& params = p.make_params<CountParams>();
  params.count = element_count(y.shape);
  params.has_value = p.has_input(1);
  if (params.has_value && (p.input(1).dtype != y.dtype || element_count(p.input(1).shape) != 1)) {
    return invalid_argument("the value of ConstantOfShape must be one element of the output's type");
  }
  return set_kernel(p, params, "constant_of_shape", y.dtype,
                    for_element_size(dtype_size(y.dtype), [](auto tag) -> RunFn {
                      return &run_constant_of_shape<typename decltype(tag)::type>;
                    }));
}

constexpr OpRow kRows[] = {
    {Op::Identity, built<Op::Identity>(&prepare_same_bytes)},
    {Op::Reshape, built<Op::Reshape>(&prepare_same_bytes)},
    {Op::Flatten, built<Op::Flatten>(&prepare_same_bytes)},
    {Op::Squeeze, built<Op::Squeeze>(&prepare_same_bytes)},
    {Op::Unsqueeze, built<Op::Unsqueeze>(&prepare_same_bytes)},
    {Op::Concat, built<Op::Concat>(&prepare_concat)},
    {Op::Split, built<Op::Split>(&prepare_split)},
    {Op::Slice, built<Op::Slice>(&prepare_slice)},
    {Op::Gather, built<Op::Gather>(&prepare_gather)},
    {Op::Pad, built<Op::Pad>(&prepare_pad)},
    {Op::Transpose, built<Op::Transpose>(&prepare_transpose)},
    {Op::Expand, built<Op::Expand>(&prepare_expand)},
    {Op::Tile, built<Op::Tile>(&prepare_tile)},
    {Op::DepthToSpace, built<Op::DepthToSpace>(&prepare_depth_space)},
    {Op::SpaceToDepth, built<Op::SpaceToDepth>(&prepare_depth_space)},
    {Op::Shape, built<Op::Shape>(&prepare_shape)},
    {Op::Size, built<Op::Size>(&prepare_shape)},
    {Op::Range, built<Op::Range>(&prepare_range)},
    {Op::ConstantOfShape, built<Op::ConstantOfShape>(&prepare_constant_of_shape)},
};

}  // namespace

const OpRowTable kDataRows = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
