// The canonical order of float reductions (docs/NUMERICS.md): element i of the reduced elements, row-major, goes to
// partial i % 8; the partials join as ((p0+p4)+(p2+p6))+((p1+p5)+(p3+p7)).
#pragma once
#include <cstdint>

namespace lq {

template <typename Join, typename T>
T join_partials(const T (&p)[8], Join join) {
  return join(join(join(p[0], p[4]), join(p[2], p[6])), join(join(p[1], p[5]), join(p[3], p[7])));
}

inline float join_sum(const float (&p)[8]) {
  return join_partials(p, [](float a, float b) { return a + b; });
}

/// Σ f(x[i]) of n contiguous elements in canonical order.
template <typename F>
float sum_of(const float* x, int64_t n, F&& f) {
  float p[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int k = 0; k < 8; ++k) p[k] += f(x[i + k]);
  }
  for (int k = 0; i < n; ++i, ++k) p[k] += f(x[i]);
  return join_sum(p);
}

}  // namespace lq
