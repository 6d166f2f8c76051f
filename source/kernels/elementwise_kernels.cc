// Choice of the elementwise kernel tables by ISA: the one place that knows which folders are built.
#include "kernels/elementwise_kernels.h"

#include "kernels/cpu_features.h"
#include "kernels/s16_kernels.h"

namespace lq {

const ElementwiseKernels& elementwise_kernels(Isa isa) {
  for (; isa != Isa::kScalar; isa = fallback_isa(isa)) {
#ifdef LQ_HAS_SSE41
    if (isa == Isa::kSse41) return elementwise_kernels_sse41();
#endif
#ifdef LQ_HAS_AVX2
    if (isa == Isa::kAvx2) return elementwise_kernels_avx2();
#endif
#ifdef LQ_HAS_NEON
    if (isa == Isa::kNeon) return elementwise_kernels_neon();
#endif
#ifdef LQ_HAS_RVV
    if (isa == Isa::kRvv) return elementwise_kernels_rvv();
#endif
  }
  return elementwise_kernels_scalar();
}

const S16Kernels& s16_kernels(Isa isa) {
#ifdef LQ_HAS_AVX2
  for (; isa != Isa::kScalar; isa = fallback_isa(isa)) {
    if (isa == Isa::kAvx2) return s16_kernels_avx2();
  }
#else
  static_cast<void>(isa);
#endif
  return s16_kernels_scalar();
}

}  // namespace lq
