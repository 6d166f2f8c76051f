// The loop of every two-operand elementwise operator: one walk over broadcast rows, and for each functor and type a
// function that does a row. A functor has static apply(T, T) -> R.
#pragma once
#include <type_traits>

#include "runtime/ops/broadcast.h"

namespace lq {

/// y[i] = apply(a[i * stride_a], b[i * stride_b]), y contiguous.
using BinaryRowFn = void (*)(const void* a, int64_t stride_a, const void* b, int64_t stride_b, void* y, int64_t n);

/// Floats: y[i] = apply(along[i], repeating[(phase + i) % 8]), or the operands the other way round.
using BinaryRepeatFn = void (*)(const float* along, const float* repeating, int64_t phase, float* y, int64_t n);

struct BinaryParams : BroadcastParams {
  size_t input_index[2] = {0, 1};
  BinaryRowFn row = nullptr;
  BinaryRepeatFn repeat = nullptr;  // set: the innermost axis is one operand against eight values of the other
  int repeating = 1;                // which operand those are
  size_t input_size = 0;            // bytes of an input element
  bool clamp = false;               // a Relu or Clip folded into a float Add
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

template <typename F, int kRepeating>
void repeat_row(const float* along, const float* repeating, int64_t phase, float* y, int64_t n) {
  const auto one = [](float u, float v) { return kRepeating == 1 ? F::apply(u, v) : F::apply(v, u); };
  int64_t i = 0;
  for (; i < n && (phase + i) % kBlock != 0; ++i) y[i] = one(along[i], repeating[(phase + i) % kBlock]);
  for (; i + kBlock <= n; i += kBlock) {
    for (int l = 0; l < kBlock; ++l) y[i + l] = one(along[i + l], repeating[l]);
  }
  for (int l = 0; i < n; ++i, ++l) y[i] = one(along[i], repeating[l]);
}

/// A blocked float tensor against one value a channel (squeeze and excite, biases): the walk over [pixels, 8] becomes
/// one axis, and the eight values repeat. Leaves any other loop as it is.
template <typename F>
void choose_repeat(BinaryParams& params) {
  StridedLoop<4>& loop = params.loop;
  const int inner = loop.rank - 1;
  if (inner < 1 || loop.dims[inner] != kBlock) return;
  const auto walks = [&](int k) { return loop.strides[k][inner] == 1 && loop.strides[k][inner - 1] == kBlock; };
  const auto repeats = [&](int k) { return loop.strides[k][inner] == 1 && loop.strides[k][inner - 1] == 0; };
  if (!walks(0)) return;
  if (walks(1) && repeats(2)) {
    params.repeat = &repeat_row<F, 1>;
    params.repeating = 1;
  } else if (walks(2) && repeats(1)) {
    params.repeat = &repeat_row<F, 0>;
    params.repeating = 0;
  } else {
    return;
  }
  --loop.rank;
  loop.dims[inner - 1] *= kBlock;
  for (int k = 0; k < 4; ++k) loop.strides[k][inner - 1] = k == 1 + params.repeating ? 0 : loop.strides[k][inner];
}

/// Runs params.row over operands `a` (strides of loop row `stride_row`: 1, or 0 for the output itself) and `b` into
/// `y`.
void run_rows(const BinaryParams& params, const RunContext& context, const void* a, int stride_row, const void* b,
              void* y);
/// The RunFn of a step whose params are BinaryParams.
Status run_binary(const Step& step, const RunContext& context);
/// Floats of one shape on NCHWc8 can be done piece by piece. Params, row included, are complete.
void offer_binary_piece(OpPrepare& p, const BinaryParams& params);

}  // namespace lq
