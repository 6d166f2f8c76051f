// ArgMax, ArgMin, TopK along one axis of [outer, axis, inner]. Ties go to the smaller index (ArgMax and ArgMin: to the
// larger with select_last_index). NaN never wins in TopK; ArgMax and ArgMin return it only where it stands first.
#include <algorithm>

#include "runtime/ops/dtype_dispatch.h"
#include "runtime/ops/scratch.h"
#include "runtime/ops/strided.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

struct SortParams : NamedParams {
  int64_t outer = 1, axis = 1, inner = 1;
  bool largest = true;
  bool last_index = false;    // ArgMax, ArgMin
  int64_t k = 0;              // TopK
  size_t worker_scratch = 0;  // TopK: bytes of each worker's index list
};

void set_axis(const OpPrepare& p, int64_t named, SortParams& params) {
  const Shape& x = p.input(0).shape;
  const size_t axis = front_axis(named, x.size());
  params.outer = dims_product(x, 0, axis);
  params.axis = x[axis];
  params.inner = dims_product(x, axis + 1, x.size());
}

template <typename T>
Status run_arg(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<SortParams>();
  const T* x = context.input<T>(step, 0);
  int64_t* y = context.output<int64_t>(step, 0);
  const bool largest = params.largest, last = params.last_index;
  const int64_t grain = std::max<int64_t>(1, kElementGrain / params.axis);
  parallel(context, params.outer * params.inner, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const T* from = x + unit / params.inner * params.axis * params.inner + unit % params.inner;
      T best = from[0];
      int64_t at = 0;
      for (int64_t a = 1; a < params.axis; ++a) {
        const T v = from[a * params.inner];
        if ((largest ? v > best : v < best) || (last && v == best)) {
          best = v;
          at = a;
        }
      }
      y[unit] = at;
    }
  });
  return {};
}

template <typename T>
bool is_nan(T v) {
  if constexpr (kIsReal<T>)
    return !(v == v);
  else
    return false;
}

template <typename T>
Status run_top_k(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<SortParams>();
  const T* x = context.input<T>(step, 0);
  T* values = context.output<T>(step, 0);
  int64_t* indices = context.output<int64_t>(step, 1);
  const bool largest = params.largest;
  const int64_t grain = std::max<int64_t>(1, 2048 / std::max<int64_t>(1, params.axis));
  parallel(context, params.outer * params.inner, grain, [&](int64_t begin, int64_t end, int worker) {
    int32_t* order = reinterpret_cast<int32_t*>(context.scratch + size_t(worker) * params.worker_scratch);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t outer = unit / params.inner, inner = unit % params.inner;
      const T* from = x + outer * params.axis * params.inner + inner;
      for (int64_t a = 0; a < params.axis; ++a) order[a] = int32_t(a);
      std::partial_sort(order, order + params.k, order + params.axis, [&](int32_t i, int32_t j) {
        const T a = from[i * params.inner], b = from[j * params.inner];
        if (is_nan(a) || is_nan(b)) return is_nan(a) == is_nan(b) ? i < j : is_nan(b);
        if (a == b) return i < j;
        return largest ? a > b : a < b;
      });
      const int64_t to = outer * params.k * params.inner + inner;
      for (int64_t r = 0; r < params.k; ++r) {
        if (values) values[to + r * params.inner] = from[order[r] * params.inner];
        if (indices) indices[to + r * params.inner] = order[r];
      }
    }
  });
  return {};
}

Status prepare_arg(OpPrepare& p) {
  const auto& attrs = attrs_as<schema::ArgMaxAttrsT>(p.node);
  if (p.input(0).blocked_axis != -1) return internal_error("blocked tensor at a linear operator");
  if (p.input(0).shape.empty()) return invalid_argument("needs an input of at least one axis");
  SortParams& params = p.make_params<SortParams>();
  set_axis(p, attrs.axis, params);
  if (params.axis < 1) return invalid_argument("the axis is empty");
  params.largest = p.node.op == Op::ArgMax;
  params.last_index = attrs.select_last_index;
  const DType dtype = p.input(0).dtype;
  return set_kernel(p, params, params.largest ? "arg_max" : "arg_min", dtype,
                    for_number_type(dtype, [](auto tag) -> RunFn { return &run_arg<typename decltype(tag)::type>; }));
}

Status prepare_top_k(OpPrepare& p) {
  const auto& attrs = attrs_as<schema::TopKAttrsT>(p.node);
  if (p.input(0).blocked_axis != -1) return internal_error("blocked tensor at a linear operator");
  if (p.input(0).shape.empty()) return invalid_argument("needs an input of at least one axis");
  SortParams& params = p.make_params<SortParams>();
  set_axis(p, attrs.axis, params);
  params.largest = attrs.largest;
  const auto k = constant_ints(p.graph, p.node.input(1));
  if (!k || k->size() != 1) return invalid_argument("k must be one number known when the session is planned");
  params.k = (*k)[0];
  if (params.k < 0 || params.k > params.axis || params.axis > INT32_MAX) return invalid_argument("k is out of range");
  params.worker_scratch = align_up(size_t(params.axis) * sizeof(int32_t));
  p.step.scratch_bytes = scratch_total(0, params.worker_scratch, p.threads);
  const DType dtype = p.input(0).dtype;
  return set_kernel(p, params, "top_k", dtype,
                    for_number_type(dtype, [](auto tag) -> RunFn { return &run_top_k<typename decltype(tag)::type>; }));
}

const OpRow kRows[] = {
    {Op::ArgMax, &prepare_arg},
    {Op::ArgMin, &prepare_arg},
    {Op::TopK, &prepare_top_k},
};

}  // namespace

const OpRowTable kSortRows = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
