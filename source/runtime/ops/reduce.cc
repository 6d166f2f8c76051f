// ReduceMean, ReduceSum, ReduceMax, ReduceMin, ReduceL2, ReduceProd over any axes, in the order of partial_sums.h.
#include <cmath>
#include <cstring>
#include <limits>

#include "graph/built_ops.h"
#include "runtime/ops/dtype_dispatch.h"
#include "runtime/ops/partial_sums.h"
#include "runtime/ops/reduce_s8.h"
#include "runtime/ops/strided.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

constexpr int kTileWidth = 16;  // outputs reduced side by side when the innermost kept axis is contiguous

struct ReduceParams;
/// One output from its reduced elements.
using ReduceOneFn = void (*)(const ReduceParams& params, const void* x, void* y);
/// `width` (<= kTileWidth) neighbouring outputs whose inputs are neighbours too.
using ReduceTileFn = void (*)(const ReduceParams& params, const void* x, void* y, int width);

struct ReduceKernels {
  ReduceOneFn one = nullptr;
  ReduceTileFn tile = nullptr;  // float32 and int8 only: other types are shape arithmetic
  explicit operator bool() const { return one != nullptr; }
};

struct ReduceParams : NamedParams {
  ReduceKernels kernels;
  size_t size = 0;         // of an element
  StridedLoop<2> kept;     // [0] output, [1] input
  StridedLoop<1> reduced;  // input offsets of the reduced elements, in row-major order
  size_t bytes = 0;        // of the output, when nothing is reduced
};

// Sums of integers wrap modulo 2^64; float16 is summed in float.
template <typename T>
using SumType =
    std::conditional_t<std::is_same_v<T, Half>, float, std::conditional_t<std::is_integral_v<T>, uint64_t, T>>;

template <typename T>
T from_sum(SumType<T> v) {
  return T(v);
}

struct SumFn {
  template <typename T>
  using Acc = SumType<T>;
  template <typename T>
  static Acc<T> initial() {
    return 0;
  }
  template <typename T>
  static Acc<T> load(T x) {
    return Acc<T>(x);
  }
  template <typename A>
  static A join(A a, A b) {
    return a + b;
  }
  template <typename T>
  static T finish(Acc<T> v, int64_t) {
    return from_sum<T>(v);
  }
};
struct MeanFn : SumFn {
  template <typename T>
  static T finish(Acc<T> v, int64_t n) {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
      return T(int64_t(v) / n);
    else
      return T(v / Acc<T>(n));
  }
};
struct L2Fn : SumFn {
  template <typename T>
  static Acc<T> load(T x) {
    return Acc<T>(x) * Acc<T>(x);
  }
  template <typename T>
  static T finish(Acc<T> v, int64_t) {
    if constexpr (std::is_integral_v<T>)
      return T(std::sqrt(double(v)));
    else
      return T(std::sqrt(v));
  }
};
struct ProdFn : SumFn {
  template <typename T>
  static Acc<T> initial() {
    return 1;
  }
  template <typename A>
  static A join(A a, A b) {
    return a * b;
  }
};
struct MaxFn {
  template <typename T>
  using Acc = std::conditional_t<std::is_same_v<T, Half>, float, T>;
  template <typename T>
  static Acc<T> initial() {
    if constexpr (std::numeric_limits<Acc<T>>::has_infinity)
      return -std::numeric_limits<Acc<T>>::infinity();
    else
      return std::numeric_limits<Acc<T>>::lowest();
  }
  template <typename T>
  static Acc<T> load(T x) {
    return Acc<T>(x);
  }
  template <typename A>
  static A join(A a, A b) {
    return b > a ? b : a;
  }
  template <typename T>
  static T finish(Acc<T> v, int64_t) {
    return T(v);
  }
};
struct MinFn : MaxFn {
  template <typename T>
  static Acc<T> initial() {
    if constexpr (std::numeric_limits<Acc<T>>::has_infinity)
      return std::numeric_limits<Acc<T>>::infinity();
    else
      return std::numeric_limits<Acc<T>>::max();
  }
  template <typename A>
  static A join(A a, A b) {
    return b < a ? b : a;
  }
};

template <typename T>
inline constexpr bool kTiled = std::is_same_v<T, float> || std::is_same_v<T, int8_t>;

template <typename F, typename T>
void reduce_one(const ReduceParams& params, const void* data, void* y) {
  const T* x = static_cast<const T*>(data);
  using Acc = typename F::template Acc<T>;
  Acc p[8];
  std::fill(p, p + 8, F::template initial<T>());
  const StridedLoop<1>& loop = params.reduced;
  const int64_t stride = loop.strides[0][loop.rank - 1];
  int phase = 0;
  for_rows(loop, 0, loop.count, [&](const int64_t* at, int64_t n) {
    const T* row = x + at[0];
    int64_t i = 0;
    if constexpr (kTiled<T>) {
      if (phase == 0 && stride == 1) {
        for (; i + 8 <= n; i += 8) {
          for (int k = 0; k < 8; ++k) p[k] = F::join(p[k], F::template load<T>(row[i + k]));
        }
      }
    }
    for (; i < n; ++i) {
      p[phase] = F::join(p[phase], F::template load<T>(row[i * stride]));
      phase = (phase + 1) % 8;
    }
  });
  *static_cast<T*>(y) = F::template finish<T>(join_partials(p, [](Acc a, Acc b) { return F::join(a, b); }), loop.count);
}

template <typename F, typename T>
void reduce_tile(const ReduceParams& params, const void* x_data, void* y_data, int width) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  using Acc = typename F::template Acc<T>;
  Acc p[8][kTileWidth];
  for (auto& row : p) std::fill(row, row + kTileWidth, F::template initial<T>());
  const StridedLoop<1>& loop = params.reduced;
  const int64_t stride = loop.strides[0][loop.rank - 1];
  int phase = 0;
  for_rows(loop, 0, loop.count, [&](const int64_t* at, int64_t n) {
    const T* row = x + at[0];
    for (int64_t i = 0; i < n; ++i, row += stride) {
      Acc* into = p[phase];
      if (width == kTileWidth) {
        for (int k = 0; k < kTileWidth; ++k) into[k] = F::join(into[k], F::template load<T>(row[k]));
      } else {
        for (int k = 0; k < width; ++k) into[k] = F::join(into[k], F::template load<T>(row[k]));
      }
      phase = (phase + 1) % 8;
    }
  });
  for (int k = 0; k < width; ++k) {
    const Acc column[8] = {p[0][k], p[1][k], p[2][k], p[3][k], p[4][k], p[5][k], p[6][k], p[7][k]};
    y[k] = F::template finish<T>(join_partials(column, [](Acc a, Acc b) { return F::join(a, b); }), loop.count);
  }
}

Status run_reduce(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<ReduceParams>();
  const uint8_t* x = context.input<uint8_t>(step, 0);
  uint8_t* y = context.output<uint8_t>(step, 0);
  const StridedLoop<2>& kept = params.kept;
  const int64_t stride = kept.strides[1][kept.rank - 1], size = int64_t(params.size);
  const int64_t grain = std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, params.reduced.count));
  parallel(context, kept.count, grain, [&](int64_t begin, int64_t end, int) {
    for_rows(kept, begin, end, [&](const int64_t* at, int64_t n) {
      const uint8_t* from = x + at[1] * size;
      uint8_t* to = y + at[0] * size;
      if (stride == 1 && n > 1 && params.kernels.tile != nullptr) {
        for (int64_t i = 0; i < n; i += kTileWidth)
          params.kernels.tile(params, from + i * size, to + i * size, int(std::min<int64_t>(kTileWidth, n - i)));
      } else {
        for (int64_t i = 0; i < n; ++i) params.kernels.one(params, from + i * stride * size, to + i * size);
      }
    });
  });
  return {};
}

template <typename F, typename T>
ReduceKernels kernels_of() {
  if constexpr (kTiled<T>) return {&reduce_one<F, T>, &reduce_tile<F, T>};
  return {&reduce_one<F, T>, nullptr};
}

Status run_copy(const Step& step, const RunContext& context) {
  const size_t bytes = step.params_as<ReduceParams>().bytes;
  if (bytes != 0) std::memcpy(context.output<void>(step, 0), context.input<void>(step, 0), bytes);
  return {};
}

// Fills the two loops; `none` says that no axis is reduced (noop_with_empty_axes).
Status make_loops(const OpPrepare& p, ReduceParams& params, bool& none) {
  const Shape& x = p.input(0).shape;
  std::vector<bool> reduced(x.size(), false);
  std::vector<int64_t> axes;
  if (p.has_input(1)) {
    const auto known = constant_ints(p.graph, p.node.input(1));
    if (!known) return invalid_argument("axes must be known when the session is planned");
    axes = *known;
  }
  none = axes.empty() && attrs_as<schema::ReduceAttrsT>(p.node).noop_with_empty_axes;
  if (axes.empty() && !none) reduced.assign(x.size(), true);
  for (int64_t axis : axes) {
    if (axis < -int64_t(x.size()) || axis >= int64_t(x.size())) return invalid_argument("axis out of range");
    reduced[front_axis(axis, x.size())] = true;
  }
  const std::vector<int64_t> strides = row_major_strides(x);
  Shape kept_dims, reduced_dims;
  std::vector<int64_t> kept_strides, reduced_strides;
  for (size_t i = 0; i < x.size(); ++i) {
    (reduced[i] ? reduced_dims : kept_dims).push_back(x[i]);
    (reduced[i] ? reduced_strides : kept_strides).push_back(strides[i]);
  }
  if (dims_product(kept_dims, 0, kept_dims.size()) != element_count(p.output(0).shape)) {
    return internal_error("output shape is inconsistent");
  }
  LQ_RETURN_IF_ERROR(make_loop<2>(kept_dims, {row_major_strides(kept_dims), kept_strides}, params.kept));
  return make_loop<1>(reduced_dims, {reduced_strides}, params.reduced);
}

template <Op kOp, typename F>
ReduceKernels select_any(DType dtype) {
  ReduceKernels kernels;
  if constexpr (built_forms(kOp) == 0) return kernels;
  for_number_type(dtype, [&](auto tag) -> RunFn {
    kernels = kernels_of<F, typename decltype(tag)::type>();
    return &run_reduce;
  });
  return kernels;
}

// ONNX sums no 8- or 16-bit integers.
template <Op kOp, typename F>
ReduceKernels select_sum(DType dtype) {
  if constexpr (!any_form_built<kNotInt8, kOp>()) return {};
  switch (dtype) {
    case DType::Float32:
      return kernels_of<F, float>();
    case DType::Float64:
      return kernels_of<F, double>();
    case DType::Float16:
      return kernels_of<F, Half>();
    case DType::Int32:
      return kernels_of<F, int32_t>();
    case DType::Int64:
      return kernels_of<F, int64_t>();
    case DType::UInt32:
      return kernels_of<F, uint32_t>();
    case DType::UInt64:
      return kernels_of<F, uint64_t>();
    default:
      return {};
  }
}

Status set_reduction(OpPrepare& p, ReduceParams& params, const char* name, const ReduceKernels& kernels) {
  params.kernels = kernels;
  params.size = dtype_size(p.input(0).dtype);
  return set_kernel(p, params, name, p.input(0).dtype, kernels ? &run_reduce : nullptr);
}

Status prepare_reduce(OpPrepare& p) {
  const Tensor& x = p.input(0);
  if constexpr (any_form_built<kFormInt8, Op::ReduceMean>()) {
    if (p.node.op == Op::ReduceMean && is_quantized(x)) return prepare_reduce_mean_s8(p);
  }
  if (x.blocked_axis != -1 || p.output(0).blocked_axis != -1)
    return internal_error("blocked tensor at a linear operator");
  ReduceParams& params = p.make_params<ReduceParams>();
  bool none = false;
  LQ_RETURN_IF_ERROR(make_loops(p, params, none));
  if (none) {
    params.bytes = size_t(params.kept.count) * dtype_size(x.dtype);
    return set_kernel(p, params, "reduce_nothing", x.dtype, &run_copy);
  }
  switch (p.node.op) {
    case Op::ReduceMean:
      return set_reduction(p, params, "reduce_mean", select_sum<Op::ReduceMean, MeanFn>(x.dtype));
    case Op::ReduceSum:
      return set_reduction(p, params, "reduce_sum", select_sum<Op::ReduceSum, SumFn>(x.dtype));
    case Op::ReduceL2:
      return set_reduction(p, params, "reduce_l2", select_sum<Op::ReduceL2, L2Fn>(x.dtype));
    case Op::ReduceProd:
      return set_reduction(p, params, "reduce_prod", select_sum<Op::ReduceProd, ProdFn>(x.dtype));
    case Op::ReduceMax:
      return set_reduction(p, params, "reduce_max", select_any<Op::ReduceMax, MaxFn>(x.dtype));
    default:
      return set_reduction(p, params, "reduce_min", select_any<Op::ReduceMin, MinFn>(x.dtype));
  }
}

const OpRow kRows[] = {
    {Op::ReduceMean, &prepare_reduce}, {Op::ReduceSum, &prepare_reduce}, {Op::ReduceMax, &prepare_reduce},
    {Op::ReduceMin, &prepare_reduce},  {Op::ReduceL2, &prepare_reduce},  {Op::ReduceProd, &prepare_reduce},
};

}  // namespace

const OpRowTable kReduceRows = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
