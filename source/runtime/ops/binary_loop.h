// The loop of every two-operand elementwise operator: one walk over broadcast rows, and for each functor and type a
// function that does a row. A functor has static apply(T, T) -> R.
#pragma once
#include <type_traits>

#include "runtime/ops/broadcast.h"

namespace lq {

/// y[i] = apply(a[i * stride_a], b[i * stride_b]), y contiguous.
using BinaryRowFn = void (*)(const void* a, int64_t stride_a, const void* b, int64_t stride_b, void* y, int64_t n);

struct BinaryParams : BroadcastParams {
  size_t input_index[2] = {0, 1};
  BinaryRowFn row = nullptr;
  size_t input_size = 0;  // bytes of an input element
  bool clamp = false;     // a Relu or Clip folded into a float Add
  float low = 0, high = 0;
};

// float32 gets its own loops for the strides that occur (0 or 1 after merging), which compilers vectorise; other types
// are shape arithmetic and take the general one.
template <typename F, typename T, typename R>
void binary_row(const void* a_data, int64_t stride_a, const void* b_data, int64_t stride_b, void* y_data, int64_t n) {
  const T* a = static_cast<const T*>(a_data);
  const T* b = static_cast<const T*>(b_data);
  R* y = static_cast<R*>(y_data);
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

/// Runs params.row over operands `a` (strides of loop row `stride_row`: 1, or 0 for the output itself) and `b` into
/// `y`.
void run_rows(const BinaryParams& params, const RunContext& context, const void* a, int stride_row, const void* b,
              void* y);
/// The RunFn of a step whose params are BinaryParams.
Status run_binary(const Step& step, const RunContext& context);

}  // namespace lq
