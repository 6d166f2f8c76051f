#include "kernels/registry.h"

#include <cstring>

#include "kernels/cpu_features.h"

namespace lq {

extern const KernelTable kScalarConvKernels;
extern const KernelTable kScalarWinogradKernels;
#ifdef LQ_HAS_SSE41
extern const KernelTable kSse41ConvKernels;
extern const KernelTable kSse41WinogradKernels;
#endif
#ifdef LQ_HAS_AVX2
extern const KernelTable kAvx2ConvKernels;
extern const KernelTable kAvx2FunctionKernels;
extern const KernelTable kAvx2WinogradKernels;
#endif
#ifdef LQ_HAS_AVXVNNI
extern const KernelTable kAvxVnniConvKernels;
extern const KernelTable kAvxVnniWinogradKernels;
#endif
#ifdef LQ_HAS_AVX512VNNI
extern const KernelTable kAvx512VnniConvKernels;
extern const KernelTable kAvx512VnniWinogradKernels;
#endif
#ifdef LQ_HAS_NEON
extern const KernelTable kNeonConvKernels;
extern const KernelTable kNeonWinogradKernels;
#endif
#ifdef LQ_HAS_NEON_DOTPROD
extern const KernelTable kNeonDotprodConvKernels;
#endif
#ifdef LQ_HAS_NEON_I8MM
extern const KernelTable kNeonI8mmConvKernels;
#endif
#ifdef LQ_HAS_NEON_VFPV4
extern const KernelTable kNeonVfpv4ConvKernels;
#endif
#ifdef LQ_HAS_RVV
extern const KernelTable kRvvConvKernels;
extern const KernelTable kRvvWinogradKernels;
#endif

namespace {

const KernelRow* find_exact(const char* family, Isa isa) {
  int count = 0;
  const KernelTable* const* tables = kernel_tables(&count);
  for (int t = 0; t < count; ++t) {
    for (int r = 0; r < tables[t]->count; ++r) {
      const KernelRow& row = tables[t]->rows[r];
      if (row.fn != nullptr && row.isa == isa && std::strcmp(row.family, family) == 0) return &row;
    }
  }
  return nullptr;
}

}  // namespace

const KernelTable* const* kernel_tables(int* count) {
  static const KernelTable* const kTables[] = {
      &kScalarConvKernels,
      &kScalarWinogradKernels,
#ifdef LQ_HAS_SSE41
      &kSse41ConvKernels,
      &kSse41WinogradKernels,
#endif
#ifdef LQ_HAS_AVX2
      &kAvx2ConvKernels,
      &kAvx2FunctionKernels,
      &kAvx2WinogradKernels,
#endif
#ifdef LQ_HAS_AVXVNNI
      &kAvxVnniConvKernels,
      &kAvxVnniWinogradKernels,
#endif
#ifdef LQ_HAS_AVX512VNNI
      &kAvx512VnniConvKernels,
      &kAvx512VnniWinogradKernels,
#endif
#ifdef LQ_HAS_NEON
      &kNeonConvKernels,
      &kNeonWinogradKernels,
#endif
#ifdef LQ_HAS_NEON_DOTPROD
      &kNeonDotprodConvKernels,
#endif
#ifdef LQ_HAS_NEON_I8MM
      &kNeonI8mmConvKernels,
#endif
#ifdef LQ_HAS_NEON_VFPV4
      &kNeonVfpv4ConvKernels,
#endif
#ifdef LQ_HAS_RVV
      &kRvvConvKernels,
      &kRvvWinogradKernels,
#endif
  };
  *count = int(sizeof(kTables) / sizeof(kTables[0]));
  return kTables;
}

const KernelRow* find_kernel(const char* family, Isa isa) {
  for (;;) {
    const KernelRow* row = find_exact(family, isa);
    if (row != nullptr || isa == Isa::kScalar) return row;
    isa = fallback_isa(isa);
  }
}

}  // namespace lq
