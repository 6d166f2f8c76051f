// ModelIr -> ONNX. A quantized model (explicit Quantize/Dequantize nodes) becomes a QDQ model that ONNX Runtime and
// others run: int8 weights with per-channel DequantizeLinear, int32 bias, uint8 activations (q + 128). A float model
// is written too.
//
// Written as opset 17, or 19 where an operator needs it. What ONNX cannot say is written as an equal float form: Silu
// as x·Sigmoid(x), Gelu by Erf (or Tanh), a quantized range narrower than its type as a Clip before QuantizeLinear,
// weights of a grouped ConvTranspose (whose scales follow groups, not an axis) as float constants.
#pragma once
#include <string>

#include "graph/graph.h"

namespace lq {

/// Written atomically. Fails with kUnsupported for what has no ONNX form (Custom, runtime-only operators) and over 2
/// GB.
Status export_onnx(const ModelIr& model, const std::string& path);
/// The serialized ModelProto.
Result<std::string> export_onnx_bytes(const ModelIr& model);

}  // namespace lq
