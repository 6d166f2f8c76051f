// QuantizeLinear, DequantizeLinear and the operators only runtime passes make. Parameters live in the quantized tensor.
#include "graph/ops_common.h"

namespace lq {
namespace {

/// Output 0 quantized as its own tensor says, with the shape of input 0.
Status infer_to_quantized(InferContext& c) {
  const auto& quant = c.graph().tensor(c.node().outputs[0]).quant;
  if (!quant) return invalid_argument("the output has no quantization parameters");
  if (c.ranked(0)) {
    c.set_output(0, quant->dtype, c.shape(0));
  } else {
    c.set_unranked(0, quant->dtype);
  }
  return {};
}

Status infer_quantize(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_float(c, 0));
  return infer_to_quantized(c);
}

Status expect_quantized_input(const InferContext& c) {
  if (!c.graph().tensor(c.node().inputs[0]).quant) return invalid_argument("the input has no quantization parameters");
  return {};
}

Status infer_dequantize(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_quantized_input(c));
  if (c.ranked(0)) {
    c.set_output(0, DType::Float32, c.shape(0));
  } else {
    c.set_unranked(0, DType::Float32);
  }
  return {};
}

Status infer_requantize(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_quantized_input(c));
  return infer_to_quantized(c);
}

constexpr auto kNone = schema::Attrs::NONE;
constexpr OpDef kOps[] = {
    {Op::QuantizeLinear, 1, 1, 1, 1, 0, QuantRule::kFloatOnly, LayoutRule::kSame, kNone, infer_quantize, nullptr},
    {Op::DequantizeLinear, 1, 1, 1, 1, 0, QuantRule::kFloatOnly, LayoutRule::kSame, kNone, infer_dequantize, nullptr},
    {Op::Requantize, 1, 1, 1, 1, 0, QuantRule::kFloatOnly, LayoutRule::kSame, kNone, infer_requantize, nullptr},
    // The layout pair is placed by the layout pass alone; it reads one layout and writes the other.
    {Op::LayoutToBlocked, 1, 1, 1, 1, 0, QuantRule::kPassThrough, LayoutRule::kLinear, kNone, infer_same, nullptr},
    {Op::LayoutToLinear, 1, 1, 1, 1, 0, QuantRule::kPassThrough, LayoutRule::kLinear, kNone, infer_same, nullptr},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> quant_ops() { return kBuiltOps; }

}  // namespace lq
