// Float activations, AVX2: y = float(f(double(x))) with the bits of f in numerics/elementary, eight values at a time.
//
// exp and what is made of it is computed here in fewer operations than there, but not believed: the relative error of v
// is below 2^-41 (8 more bits than a float's midpoints need almost always), that of f below 2^-50. If v·(1 − 2^-39) and
// v·(1 + 2^-39) round to the same float, so does f; otherwise (one value in some ten thousand), and beyond |x| = 80, f
// itself is asked. hard_sigmoid and hard_swish are the same few operations in double as there.
#include <immintrin.h>

#include "kernels/function_kernels.h"
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"

namespace lq {
namespace avx2 {
namespace {

constexpr float kMostExponent = 80;  // exp stays a normal double, and a sum with 1 loses nothing
constexpr double kTrust = 0x1p-39;

/// e^x within 2^-42, relative, for |x| <= 80: x = k ln 2 + r, Taylor to r^11 (the next term is below 2^-46).
[[gnu::always_inline]] static inline __m256d exp_near(__m256d x) {
  const __m256d magic = _mm256_set1_pd(0x1.8p52);
  const __m256d shifted = _mm256_fmadd_pd(x, _mm256_set1_pd(0x1.71547652b82fep+0), magic);
  const __m256d k = _mm256_sub_pd(shifted, magic);
  const __m256d r = _mm256_fnmadd_pd(k, _mm256_set1_pd(0x1.62e42fefa39efp-1), x);
  constexpr double kInverseFactorial[] = {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                          1.0 / 5040,     1.0 / 720,     1.0 / 120,    1.0 / 24,
                                          1.0 / 6,        1.0 / 2,       1.0,          1.0};
  __m256d p = _mm256_set1_pd(kInverseFactorial[0]);
#pragma GCC unroll 12
  for (int i = 1; i < 12; ++i) p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(kInverseFactorial[i]));
  // k sits in the low bits of `shifted`; added to the exponent of p, it multiplies by 2^k.
  return _mm256_castsi256_pd(
      _mm256_add_epi64(_mm256_castpd_si256(p), _mm256_slli_epi64(_mm256_castpd_si256(shifted), 52)));
}

/// 1 / d within 2^-44 for 1 <= d < 2^126: 11 bits from rcpps, doubled twice by Newton.
[[gnu::always_inline]] static inline __m256d reciprocal_near(__m256d d) {
  __m256d y = _mm256_cvtps_pd(_mm_rcp_ps(_mm256_cvtpd_ps(d)));
  const __m256d one = _mm256_set1_pd(1);
  y = _mm256_fmadd_pd(_mm256_fnmadd_pd(d, y, one), y, y);
  return _mm256_fmadd_pd(_mm256_fnmadd_pd(d, y, one), y, y);
}

struct Exp {
  static constexpr bool kAlwaysRight = false;
  [[gnu::always_inline]] static inline __m256d apply(__m256d x, const FunctionF32Args&) { return exp_near(x); }
};
/// 1 / (1 + e^-x): for x < 0 as well, nothing overflows within |x| <= 80.
struct Sigmoid {
  static constexpr bool kAlwaysRight = false;
  [[gnu::always_inline]] static inline __m256d apply(__m256d x, const FunctionF32Args&) {
    const __m256d e = exp_near(_mm256_xor_pd(x, _mm256_set1_pd(-0.0)));
    return reciprocal_near(_mm256_add_pd(e, _mm256_set1_pd(1)));
  }
};
struct Silu {
  static constexpr bool kAlwaysRight = false;
  [[gnu::always_inline]] static inline __m256d apply(__m256d x, const FunctionF32Args& a) {
    return _mm256_mul_pd(x, Sigmoid::apply(x, a));
  }
};

/// v > 1 ? 1 : v > 0 ? v : v != v ? v : 0 with v = alpha · x + beta, two operations.
struct HardSigmoid {
  static constexpr bool kAlwaysRight = true;
  [[gnu::always_inline]] static inline __m256d apply(__m256d x, const FunctionF32Args& a) {
    const __m256d v = _mm256_add_pd(_mm256_mul_pd(_mm256_set1_pd(a.alpha), x), _mm256_set1_pd(a.beta));
    const __m256d kept = _mm256_and_pd(v, _mm256_cmp_pd(v, _mm256_setzero_pd(), _CMP_NLE_UQ));
    return _mm256_min_pd(_mm256_set1_pd(1), kept);  // minpd: the second operand if one is NaN
  }
};
struct HardSwish {
  static constexpr bool kAlwaysRight = true;
  [[gnu::always_inline]] static inline __m256d apply(__m256d x, const FunctionF32Args& a) {
    return _mm256_mul_pd(x, HardSigmoid::apply(x, a));
  }
};

/// Eight values; returns a bit for each whose result is not certain.
template <typename F>
[[gnu::always_inline]] static inline int eight(const float* x, float* y, const FunctionF32Args& a) {
  const __m256 in = _mm256_loadu_ps(x);
  __m256 low = _mm256_setzero_ps(), high = low;
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    const __m256d v = F::apply(_mm256_cvtps_pd(h == 0 ? _mm256_castps256_ps128(in) : _mm256_extractf128_ps(in, 1)), a);
    const __m256d trust = _mm256_set1_pd(kTrust);
    const __m128 l = _mm256_cvtpd_ps(F::kAlwaysRight ? v : _mm256_fnmadd_pd(v, trust, v));
    const __m128 u = F::kAlwaysRight ? l : _mm256_cvtpd_ps(_mm256_fmadd_pd(v, trust, v));
    low = h == 0 ? _mm256_castps128_ps256(l) : _mm256_insertf128_ps(low, l, 1);
    high = h == 0 ? _mm256_castps128_ps256(u) : _mm256_insertf128_ps(high, u, 1);
  }
  _mm256_storeu_ps(y, low);
  if (F::kAlwaysRight) return 0;
  const __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), in);
  const __m256 far = _mm256_cmp_ps(size, _mm256_set1_ps(kMostExponent), _CMP_NLE_UQ);  // NaN as well
  const __m256 same = _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_castps_si256(low), _mm256_castps_si256(high)));
  return _mm256_movemask_ps(_mm256_or_ps(far, _mm256_xor_ps(same, _mm256_castsi256_ps(_mm256_set1_epi32(-1)))));
}

template <typename F>
void row(const FunctionF32Args& args) {
  const FunctionF32Args a = args;
  int64_t i = 0;
  for (; i + 8 <= a.n; i += 8) {
    float in[8];  // y may be x
    if (!F::kAlwaysRight) _mm256_storeu_ps(in, _mm256_loadu_ps(a.x + i));
    for (int doubtful = eight<F>(a.x + i, a.y + i, a); doubtful != 0; doubtful &= doubtful - 1) {
      const int lane = __builtin_ctz(unsigned(doubtful));
      a.y[i + lane] = float(a.exact(double(in[lane]), a.context));
    }
  }
  for (; i < a.n; ++i) a.y[i] = float(a.exact(double(a.x[i]), a.context));
}

}  // namespace

void exp_f32(const FunctionF32Args& args) { row<Exp>(args); }
void sigmoid_f32(const FunctionF32Args& args) { row<Sigmoid>(args); }
void silu_f32(const FunctionF32Args& args) { row<Silu>(args); }
void hard_sigmoid_f32(const FunctionF32Args& args) { row<HardSigmoid>(args); }
void hard_swish_f32(const FunctionF32Args& args) { row<HardSwish>(args); }

}  // namespace avx2

static const KernelRow kRows[] = {
    {"exp_f32__avx2", "exp_f32", Isa::kAvx2, 0, has::kExp ? reinterpret_cast<KernelFn>(avx2::exp_f32) : nullptr},
    {"sigmoid_f32__avx2", "sigmoid_f32", Isa::kAvx2, 0,
     has::kSigmoid ? reinterpret_cast<KernelFn>(avx2::sigmoid_f32) : nullptr},
    {"silu_f32__avx2", "silu_f32", Isa::kAvx2, 0, has::kSilu ? reinterpret_cast<KernelFn>(avx2::silu_f32) : nullptr},
    {"hard_sigmoid_f32__avx2", "hard_sigmoid_f32", Isa::kAvx2, 0,
     has::kHardSigmoid ? reinterpret_cast<KernelFn>(avx2::hard_sigmoid_f32) : nullptr},
    {"hard_swish_f32__avx2", "hard_swish_f32", Isa::kAvx2, 0,
     has::kHardSwish ? reinterpret_cast<KernelFn>(avx2::hard_swish_f32) : nullptr},
};

extern const KernelTable kAvx2FunctionKernels;
const KernelTable kAvx2FunctionKernels = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
