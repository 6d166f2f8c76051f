// The quantization half of verify(): parameters, where quantized tensors may appear, accumulator bounds. Internal to
// graph/.
#pragma once
#include "graph/constant_facts.h"

namespace lq {

/// Parameters of one tensor (t.quant is set): valid, of its type, as long as its shape says, no dequantized value
/// infinite; a constant's values inside [qmin, qmax].
Status check_quant_params(const Tensor& t, ConstantFacts& facts);

/// A graph whose structure has been checked: Quantize and Dequantize stand where quantized tensors begin and end;
/// product operators keep int32 (docs/NUMERICS.md, "Bounds"); every multiplier is a normal number.
Status check_quantization(const Graph& graph, ConstantFacts& facts);

}  // namespace lq
