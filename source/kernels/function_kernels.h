// Families of float activations, y[i] = float(f(double(x[i]))): "exp_f32", "sigmoid_f32", "silu_f32",
// "hard_sigmoid_f32", "hard_swish_f32". There are only kernels that vectorise; without one the runtime calls f itself
// (numerics/elementary.h), value by value, which is also what every kernel equals bit for bit.
#pragma once
#include "kernels/kernel_types.h"

namespace lq {

struct FunctionF32Args {
  const float* x;
  float* y;  // x itself, or apart from it
  int64_t n;
  double alpha, beta;                              // of hard_sigmoid; hard_swish: 1.0 / 6 and 0.5
  double (*exact)(double x, const void* context);  // f, for values a kernel cannot decide
  const void* context;
};
using FunctionF32Fn = void (*)(const FunctionF32Args& args);

}  // namespace lq
