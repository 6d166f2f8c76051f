// Choice of the elementwise kernel table by ISA: the one place that knows which folders are built.
#include "kernels/elementwise_kernels.h"

#include "kernels/cpu_features.h"

namespace lq {

const ElementwiseKernels& elementwise_kernels(Isa isa) {
#if defined(LQ_HAS_AVX2)
  if (isa == Isa::kAvx2 || fallback_isa(isa) == Isa::kAvx2) return elementwise_kernels_avx2();
#endif
  return elementwise_kernels_scalar();
}

}  // namespace lq
