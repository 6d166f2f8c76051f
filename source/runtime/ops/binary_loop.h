// The loop of every two-operand elementwise operator: a functor with static apply(T, T) -> R over broadcast rows.
#pragma once
#include "numerics/quantize.h"
#include "runtime/ops/broadcast.h"

namespace lq {

struct BinaryParams : BroadcastParams {
  size_t input_index[2] = {0, 1};
  bool clamp = false;  // a Relu or Clip folded into a float Add
  float low = 0, high = 0;
};

// float32 gets its own loops for the strides that occur (0 or 1 after merging), which compilers vectorise; other types
// are shape arithmetic and take the general one.
template <typename F, typename T, typename R>
void binary_row(const T* a, int64_t stride_a, const T* b, int64_t stride_b, R* y, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    if (stride_a == 1 && stride_b == 1) {
      for (int64_t i = 0; i < n; ++i) y[i] = F::apply(a[i], b[i]);
      return;
    }
    if (stride_a == 1 && stride_b == 0) {
      const T value = *b;
      for (int64_t i = 0; i < n; ++i) y[i] = F::apply(a[i], value);
      return;
    }
    if (stride_a == 0 && stride_b == 1) {
      const T value = *a;
      for (int64_t i = 0; i < n; ++i) y[i] = F::apply(value, b[i]);
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) y[i] = F::apply(a[i * stride_a], b[i * stride_b]);
}

template <typename F, typename T, typename R>
Status run_binary(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<BinaryParams>();
  const StridedLoop<4>& loop = params.loop;
  const T* a = static_cast<const T*>(broadcast_operand(params, 0, params.input_index[0], step, context));
  const T* b = static_cast<const T*>(broadcast_operand(params, 1, params.input_index[1], step, context));
  R* y = context.output<R>(step, 0);
  const int64_t stride_a = loop.strides[1][loop.rank - 1], stride_b = loop.strides[2][loop.rank - 1];
  parallel(context, loop.count, kElementGrain, [&](int64_t begin, int64_t end, int) {
    for_rows(loop, begin, end, [&](const int64_t* at, int64_t n) {
      R* row = y + at[0];
      binary_row<F, T, R>(a + at[1], stride_a, b + at[2], stride_b, row, n);
      if constexpr (std::is_same_v<R, float>) {
        if (params.clamp) {
          for (int64_t i = 0; i < n; ++i) row[i] = clamp_nan_to_low(row[i], params.low, params.high);
        }
      }
    });
  });
  finish_broadcast(params, y);
  return {};
}

}  // namespace lq
