// Quantized constants and parameters of imported QDQ models, turned into the forms our integer rules take.
#pragma once
#include "graph/graph.h"

namespace lq {

/// uint8 parameters as int8 ones: zero points and limits − 128.
QuantParams shifted_params(const QuantParams& uint8_params);
/// Back: int8 as uint8.
QuantParams unshifted_params(const QuantParams& int8_params);
/// uint8 bytes − 128, as int8.
Result<Bytes> shifted_bytes(const Bytes& uint8_values);
/// Same type, scales and zero points.
bool same_params(const QuantParams& a, const QuantParams& b);

/// Rewrites an int8 constant with `quant` to zero point 0 and values in −127…127 without changing any real value: q −
/// zp where it fits, half of it at twice the scale where all of a channel's are even. False, and untouched, where
/// neither does.
Result<bool> make_symmetric(Tensor& tensor);
/// The float32 constant an int8 or int32 one stands for.
Result<Tensor> dequantized(const Tensor& tensor);

}  // namespace lq
