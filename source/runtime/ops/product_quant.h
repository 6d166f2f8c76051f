// Quantization of the product rule (docs/NUMERICS.md): what Conv, ConvTranspose, Gemm and MatMul share.
#pragma once
#include <initializer_list>
#include <vector>

#include "kernels/conv_kernels.h"
#include "kernels/registry.h"
#include "runtime/op.h"
#include "runtime/ops/stored_range.h"

namespace lq {

/// What the panel kernels multiply (conv_kernels.h): floats, int16 by int16, bytes in one of three dot-product forms,
/// or bytes in steps: x is q, known to be 0…127 (kSteps), or q + 128 (kStepsU8).
enum class ProductForm : uint8_t { kF32, kS16, kU8, kS8x4, kS8x8, kSteps, kStepsU8 };
#ifdef LQ_HAS_AVX2
inline constexpr bool kStepKernelsBuilt = true;
#else
inline constexpr bool kStepKernelsBuilt = false;  // scalar twins only: nothing refers to what packs for them
#endif
constexpr bool is_step_form(ProductForm f) { return kStepKernelsBuilt && f >= ProductForm::kSteps; }
constexpr bool is_byte_form(ProductForm f) { return f >= ProductForm::kU8; }
/// Input channels a panel rounds up to.
constexpr int64_t channels_together(ProductForm f) {
  return f == ProductForm::kF32                             ? 1
         : f == ProductForm::kS16                           ? 2
         : f == ProductForm::kU8 || f == ProductForm::kS8x4 ? 4
                                                            : 8;
}
/// Output channels a panel rounds up to.
constexpr int64_t panel_unit(ProductForm f) { return is_byte_form(f) && !is_step_form(f) ? 2 * kBlock : kBlock; }
/// The largest byte of form kSteps, and of the forms with an offset: what proofs assume.
inline constexpr int32_t kLargestStepByte = 127;
constexpr int32_t largest_byte(ProductForm f) { return f == ProductForm::kSteps ? kLargestStepByte : 255; }
/// Bytes of an element of a strip and of a panel.
constexpr int64_t strip_element(ProductForm f) { return f == ProductForm::kF32 ? 4 : f == ProductForm::kS16 ? 2 : 1; }
/// Byte forms: what x holds beyond q.
constexpr int32_t byte_offset(ProductForm f) { return f == ProductForm::kU8 || f == ProductForm::kStepsU8 ? 128 : 0; }

/// The kernel of `operation` ("conv" or "gemm") for int8 by int8 and the form of its operands: bytes where the
/// processor multiplies them (in steps only if x fits), else kS16. `range`: what values of x are stored. An int16 x
/// always takes kS16: |q| <= 32768 and |w| <= 128, so that a pair of products, 2^23 at most, is exact in int32.
const KernelRow* integer_product_kernel(const char* operation, Isa isa, const Tensor& x, const Tensor& weights,
                                        const StoredRange& range, ProductForm* form);
/// smull adds two byte products in an int16: it wants weights >= -127. Weights of a file are, but one that a branch
/// captures or folding makes may not be.
bool fits_byte_kernels(const Tensor& weights);

/// True if the product runs on int8 or int16 × int8; false: float. Anything else (one of the two, other types) is an
/// error.
Result<bool> is_integer_product(const Tensor& x, const Tensor& w, const Tensor& y);

/// Zero point of a per-tensor int8 or int16 activation; that of int16 is 0.
Result<int32_t> activation_zero_point(const Tensor& x);

/// m[c] = s_x·s_w[c]/s_y for a quantized output, float(s_x·s_w[c]) for a float one; one entry a channel.
Result<std::vector<float>> product_multipliers(const Tensor& x, const Tensor& w, const Tensor& y, int64_t channels);

/// Bounds, zero point and kind of output. bias and multiplier stay null: the caller points them at its tile. For int16
/// the kernel writes float(acc)·m clamped to the bounds, which ShortOutput rounds.
Result<Epilogue> product_epilogue(const OpPrepare& p, const Tensor& y);

/// The node's folded Relu or Clip of a float output.
FloatClamp float_clamp(const Node& node);

/// Product of non-negative counts, INT64_MAX where it would overflow (shapes come from untrusted files).
int64_t saturating_product(std::initializer_list<int64_t> factors);

/// An int32 constant bias of `channels` (or one) values; zeros if `id` is absent.
Result<std::vector<int32_t>> product_bias(const OpPrepare& p, size_t input, int64_t channels);

}  // namespace lq
