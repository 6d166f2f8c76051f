// Pools of any rank, layout and type, channel by channel, with MaxPool's indices: the path of 3-D pools, of folding
// (linear tensors) and of unusual types. The same order of sums as the blocked kernels.
#include <limits>

#include "graph/built_ops.h"
#include "kernels/elementwise_inline.h"
#include "runtime/ops/pool_params.h"

namespace lq {
namespace {

constexpr size_t kMaxSpatial = 6;
constexpr bool kAverageInt8 = any_form_built<kFormInt8, Op::AveragePool, Op::GlobalAveragePool>(),
               kAverageFloat = any_form_built<kFormFloat, Op::AveragePool, Op::GlobalAveragePool>();

/// Positions inside a plane of one window's taps, in row-major order: f(position, its coordinates).
template <typename F>
void for_window(const PoolParams& p, const int64_t* out_at, F&& f) {
  const size_t rank = p.taps.size();
  int64_t k[kMaxSpatial] = {}, at[kMaxSpatial];
  while (true) {
    int64_t position = 0;
    for (size_t a = 0; a < rank; ++a) {
      at[a] = p.taps[a][size_t(out_at[a])].first + k[a] * p.dilations[a];
      position = position * p.in[a] + at[a];
    }
    f(position, static_cast<const int64_t*>(at));
    size_t a = rank;
    while (a-- > 0) {
      if (++k[a] < p.taps[a][size_t(out_at[a])].count) break;
      k[a] = 0;
    }
    if (a == size_t(-1)) return;
  }
}

/// Element offset of channel (n, c)'s first position, and the step between positions.
struct Plane {
  int64_t base, step;
};
Plane plane_of(const BlockedShape& s, bool blocked, int64_t n, int64_t c) {
  if (!blocked) return {(n * s.c + c) * s.spatial, 1};
  return {(n * s.blocks + c / kBlock) * s.spatial * kBlock + c % kBlock, kBlock};
}

/// f(x plane, y plane, indices plane, channel number, output position, output coordinates) over every output.
template <typename F>
void for_outputs(const PoolParams& p, const RunContext& context, F&& f) {
  const int64_t work = std::max<int64_t>(1, p.x.spatial + p.y.spatial);
  parallel(context, p.x.n * p.x.c, std::max<int64_t>(1, kElementGrain / work), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / p.x.c, c = i % p.x.c;
      const Plane x = plane_of(p.x, p.x_blocked, n, c), y = plane_of(p.y, p.y_blocked, n, c);
      const Plane indices = plane_of(p.y, p.indices_blocked, n, c);
      int64_t at[kMaxSpatial] = {};
      for (int64_t o = 0; o < p.y.spatial; ++o) {
        f(x, y, indices, i, o, static_cast<const int64_t*>(at));
        for (size_t a = p.out.size(); a-- > 0;) {
          if (++at[a] < p.out[a]) break;
          at[a] = 0;
        }
      }
    }
  });
}

template <typename T>
void fill_blocked(const PoolParams& p, T* y, bool blocked, T fill) {
  if (!blocked) return;
  for (int64_t n = 0; n < p.y.n; ++n) {
    T* last = y + ((n + 1) * p.y.blocks - 1) * p.y.spatial * kBlock;
    for (int64_t i = 0; i < p.y.spatial; ++i) {
      for (int lane = p.y.tail; lane < kBlock; ++lane) last[i * kBlock + lane] = fill;
    }
  }
}

/// Index of a tap in the whole tensor: row-major, or with the spatial axes column-major (storage_order 1).
int64_t flat_index(const PoolParams& p, int64_t channel, int64_t position, const int64_t* at) {
  if (!p.column_major) return channel * p.x.spatial + position;
  int64_t index = 0;
  for (size_t a = p.in.size(); a-- > 0;) index = index * p.in[a] + at[a];
  return channel * p.x.spatial + index;
}

// The first of equal maxima gives the index; the value is v > best ? v : best from the lowest value, as in the kernels.
template <typename T>
Status run_max(const Step& step, const RunContext& context) {
  const PoolParams& p = step.params_as<PoolParams>();
  const T* x = context.input<T>(step, 0);
  T* y = context.output<T>(step, 0);
  int64_t* indices = context.output<int64_t>(step, 1);
  constexpr T kLowest =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  for_outputs(
      p, context,
      [&](const Plane& xp, const Plane& yp, const Plane& ip, int64_t channel, int64_t o, const int64_t* out_at) {
        T best = kLowest;
        int64_t index = -1;
        for_window(p, out_at, [&](int64_t position, const int64_t* at) {
          const T v = x[xp.base + position * xp.step];
          if (v > best || index < 0) index = flat_index(p, channel, position, at);
          best = v > best ? v : best;
        });
        y[yp.base + o * yp.step] = best;
        if (indices != nullptr) indices[ip.base + o * ip.step] = index;
      });
  fill_blocked(p, y, p.y_blocked, T(p.fill));
  if (indices != nullptr) fill_blocked<int64_t>(p, indices, p.indices_blocked, 0);
  return {};
}

Status run_average_f32(const Step& step, const RunContext& context) {
  const PoolParams& p = step.params_as<PoolParams>();
  const float* x = context.input<float>(step, 0);
  float* y = context.output<float>(step, 0);
  for_outputs(
      p, context, [&](const Plane& xp, const Plane& yp, const Plane&, int64_t, int64_t o, const int64_t* out_at) {
        float partial[8] = {};
        int64_t k = 0, n = 1;
        for_window(p, out_at,
                   [&](int64_t position, const int64_t*) { partial[k++ & 7] += x[xp.base + position * xp.step]; });
        for (size_t a = 0; a < p.taps.size(); ++a) n *= p.taps[a][size_t(out_at[a])].divisor;
        y[yp.base + o * yp.step] = join8(partial) / float(n);
      });
  fill_blocked(p, y, p.y_blocked, 0.0f);
  return {};
}

Status run_average_s8(const Step& step, const RunContext& context) {
  const PoolParams& p = step.params_as<PoolParams>();
  const int8_t* x = context.input<int8_t>(step, 0);
  int8_t* y = context.output<int8_t>(step, 0);
  for_outputs(
      p, context, [&](const Plane& xp, const Plane& yp, const Plane&, int64_t, int64_t o, const int64_t* out_at) {
        int32_t acc = 0;
        for_window(p, out_at,
                   [&](int64_t position, const int64_t*) { acc += x[xp.base + position * xp.step] - p.zero_x; });
        int64_t slot = 0;
        for (size_t a = 0; a < p.taps.size(); ++a) slot = slot * p.slots[a] + p.taps[a][size_t(out_at[a])].slot;
        y[yp.base + o * yp.step] = int8_t(round_clamped(float(acc) * p.multiplier[size_t(slot)], p.round));
      });
  fill_blocked(p, y, p.y_blocked, int8_t(p.fill));
  return {};
}

}  // namespace

Status prepare_pool_strided(OpPrepare& p, PoolParams& params) {
  const DType dtype = p.input(0).dtype;
  if (params.taps.size() > kMaxSpatial) return unsupported("pooling over more than 6 spatial axes");
  if (params.average) {
    const RunFn run = kAverageFloat && dtype == DType::Float32 ? run_average_f32
                      : kAverageInt8 && dtype == DType::Int8   ? run_average_s8
                                                               : RunFn(nullptr);
    return set_kernel(p, params, "average_pool_strided", dtype, run);
  }
  RunFn run = nullptr;
  if constexpr (!any_form_built<kEveryForm, Op::MaxPool, Op::GlobalMaxPool>()) return not_built(p.node);
  switch (dtype) {
    case DType::Float32:
      run = run_max<float>;
      break;
    case DType::Float64:
      run = run_max<double>;
      break;
    case DType::Int8:
      run = run_max<int8_t>;
      break;
    case DType::UInt8:
      run = run_max<uint8_t>;
      break;
    case DType::Int16:
      run = run_max<int16_t>;
      break;
    default:
      break;
  }
  return set_kernel(p, params, "max_pool_strided", dtype, run);
}

}  // namespace lq
