// Table of the int16 kernels, AVX2: the shared loops under this folder's flags.
#include "kernels/elementwise_inline.h"
#include "kernels/s16_kernels.h"

namespace lq::avx2 {
namespace {
#include "kernels/s16_inline.h"
}  // namespace
}  // namespace lq::avx2

namespace lq {

const S16Kernels& s16_kernels_avx2() {
  constexpr Isa kIsa = Isa::kAvx2;
  static constexpr S16Kernels kTable = {
      {"quantize_s16__avx2", kIsa, avx2::quantize_s16}, {"dequantize_s16__avx2", kIsa, avx2::dequantize_s16},
      {"round_s16__avx2", kIsa, avx2::round_s16},       {"requantize_s16__avx2", kIsa, avx2::requantize_s16},
      {"add_s16__avx2", kIsa, avx2::add_s16},           {"mul_s16__avx2", kIsa, avx2::mul_s16},
      {"widen_run__avx2", kIsa, avx2::widen_run},       {"narrow_run__avx2", kIsa, avx2::narrow_run},
  };
  return kTable;
}

}  // namespace lq
