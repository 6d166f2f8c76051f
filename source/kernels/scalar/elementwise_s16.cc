// Table of the int16 kernels, scalar: the shared loops under this folder's flags.
#include "kernels/elementwise_inline.h"
#include "kernels/s16_kernels.h"

namespace lq::scalar {
namespace {
#include "kernels/s16_inline.h"
}  // namespace
}  // namespace lq::scalar

namespace lq {

const S16Kernels& s16_kernels_scalar() {
  constexpr Isa kIsa = Isa::kScalar;
  static constexpr S16Kernels kTable = {
      {"quantize_s16__scalar", kIsa, scalar::quantize_s16}, {"dequantize_s16__scalar", kIsa, scalar::dequantize_s16},
      {"round_s16__scalar", kIsa, scalar::round_s16},       {"requantize_s16__scalar", kIsa, scalar::requantize_s16},
      {"add_s16__scalar", kIsa, scalar::add_s16},           {"mul_s16__scalar", kIsa, scalar::mul_s16},
      {"widen_run__scalar", kIsa, scalar::widen_run},       {"narrow_run__scalar", kIsa, scalar::narrow_run},
  };
  return kTable;
}

}  // namespace lq
