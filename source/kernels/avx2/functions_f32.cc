// Float activations, AVX2: y = float(f(double(x))) with the bits of f in numerics/elementary, eight values at a time.
//
// exp and what is made of it is computed here in fewer operations than there, but not believed: the relative error of v
// is below 2^-39, that of f below 2^-50. Unless v lies within 2^-39 of a point where two floats meet, both round to the
// same float; otherwise (one value in some sixteen thousand), and beyond |x| = 80, f itself is asked. hard_sigmoid and
// hard_swish are the same few operations in double as there.
#include <immintrin.h>

#include "kernels/function_kernels.h"
#include "kernels/kernels_of_this_build.h"
#include "kernels/registry.h"

namespace lq {
namespace avx2 {
namespace {

constexpr float kMostExponent = 80;  // exp and 1 / exp stay normal floats, and a sum with 1 loses nothing

/// e^(sign · x) within 2^-40, relative, for |x| <= 80: sign · x = k ln 2 + r, and 1 + c1 r + … + c8 r^8 has the least
/// greatest relative error, 2^-40.16, on |r| <= ln 2 / 2 (of all with 1 in front, so that e^0 is 1).
template <int kSign>
[[gnu::always_inline]] static inline __m256d exp_near(__m256d x) {
  const __m256d magic = _mm256_set1_pd(0x1.8p52);
  const __m256d shifted = _mm256_fmadd_pd(x, _mm256_set1_pd(kSign * 0x1.71547652b82fep+0), magic);
  const __m256d k = _mm256_sub_pd(shifted, magic);
  // s = sign · r; the signs of odd powers go into the coefficients.
  const __m256d s = _mm256_fnmadd_pd(k, _mm256_set1_pd(kSign * 0x1.62e42fefa39efp-1), x);
  constexpr double kCoefficient[] = {
      0x1.9ef35de4fc713p-16,        kSign * 0x1.a1a40c07847b8p-13, 0x1.6c188a82a3acep-10,
      kSign * 0x1.1110867144171p-7, 0x1.55555430af051p-5,          kSign * 0x1.5555559c4cd08p-3,
      0x1.0000000064b8cp-1,         kSign * 0x1.ffffffffdac70p-1,  1.0};
  __m256d p = _mm256_set1_pd(kCoefficient[0]);
#pragma GCC unroll 9
  for (int i = 1; i < 9; ++i) p = _mm256_fmadd_pd(p, s, _mm256_set1_pd(kCoefficient[i]));
  // k sits in the low bits of `shifted`; added to the exponent of p, it multiplies by 2^k.
  return _mm256_castsi256_pd(
      _mm256_add_epi64(_mm256_castpd_si256(p), _mm256_slli_epi64(_mm256_castpd_si256(shifted), 52)));
}

struct Exp {
  static constexpr bool kAlwaysRight = false;
  [[gnu::always_inline]] static inline __m256d apply(__m256d x, const FunctionF32Args&) { return exp_near<1>(x); }
};
/// 1 / (1 + e^-x): for x < 0 as well, nothing overflows within |x| <= 80.
struct Sigmoid {
  static constexpr bool kAlwaysRight = false;
  [[gnu::always_inline]] static inline __m256d apply(__m256d x, const FunctionF32Args&) {
    const __m256d one = _mm256_set1_pd(1);
    return _mm256_div_pd(one, _mm256_add_pd(exp_near<-1>(x), one));
  }
};
/// Of a tiny x, whose result is no normal float, it is x / 2 in double, as f is.
struct Silu {
  static constexpr bool kAlwaysRight = false;
  [[gnu::always_inline]] static inline __m256d apply(__m256d x, const FunctionF32Args&) {
    return _mm256_div_pd(x, _mm256_add_pd(exp_near<-1>(x), _mm256_set1_pd(1)));
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

/// Lanes where v and a value within 2^-39 of it may round to different floats: of the 52 bits behind the point the last
/// 29 are rounded away, and they are nearly 2^28. Order of lanes: low[0…1], high[0…1], low[2…3], high[2…3].
[[gnu::always_inline]] static inline __m256i doubtful_lanes(__m256d low, __m256d high) {
  constexpr int kNear = 1 << 14;  // 2^-39 of v is at most that many units of its last bit
  const __m256i bits =
      _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castpd_ps(low), _mm256_castpd_ps(high), _MM_SHUFFLE(2, 0, 2, 0)));
  // 2^28 - kNear … 2^28 + kNear become the smallest of all int32.
  const __m256i from_middle = _mm256_slli_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(kNear)), 3);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(INT32_MIN + ((2 * kNear + 1) << 3)), from_middle);
}

/// Lanes of x that f decides: |x| > 80 and NaN.
[[gnu::always_inline]] static inline __m256i far_lanes(__m256 x) {
  const __m256i size = _mm256_castps_si256(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x));
  return _mm256_cmpgt_epi32(size, _mm256_castps_si256(_mm256_set1_ps(kMostExponent)));
}

/// The lanes of y that are not certain, by f itself.
[[gnu::noinline]] static void ask(__m256 in, __m256i doubtful, float* y, const FunctionF32Args& a) {
  float x[8];
  _mm256_storeu_ps(x, in);
  const __m256i in_order = _mm256_permute4x64_epi64(doubtful, _MM_SHUFFLE(3, 1, 2, 0));
  const __m256i all = _mm256_or_si256(in_order, far_lanes(in));
  for (int lanes = _mm256_movemask_ps(_mm256_castsi256_ps(all)); lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(unsigned(lanes));
    y[lane] = float(a.exact(double(x[lane]), a.context));
  }
}

/// Eight values.
template <typename F>
[[gnu::always_inline]] static inline void eight(const float* x, float* y, const FunctionF32Args& a) {
  const __m256 in = _mm256_loadu_ps(x);
  const __m256d low = F::apply(_mm256_cvtps_pd(_mm256_castps256_ps128(in)), a);
  const __m256d high = F::apply(_mm256_cvtps_pd(_mm256_extractf128_ps(in, 1)), a);
  _mm256_storeu_ps(y, _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high), 1));
  if (F::kAlwaysRight) return;
  const __m256i doubtful = doubtful_lanes(low, high), either = _mm256_or_si256(doubtful, far_lanes(in));
  if (__builtin_expect(_mm256_testz_si256(either, either) == 0, 0)) ask(in, doubtful, y, a);
}

template <typename F>
void row(const FunctionF32Args& args) {
  const FunctionF32Args a = args;
  int64_t i = 0;
  for (; i + 8 <= a.n; i += 8) eight<F>(a.x + i, a.y + i, a);
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
