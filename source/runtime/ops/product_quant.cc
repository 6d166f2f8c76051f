#include "runtime/ops/product_quant.h"

#include "numerics/quantize.h"

namespace lq {

const KernelRow* integer_product_kernel(const char* operation, Isa isa, const Tensor& x, const Tensor& weights,
                                        const StoredRange& range, ProductForm* form) {
  struct Choice {
    const char* suffix;
    ProductForm form;
  };
  // Of the same instruction set the earlier wins.
  constexpr Choice kBytes[] = {{"_s8x4", ProductForm::kS8x4},
                               {"_s8x8", ProductForm::kS8x8},
                               {"_u8", ProductForm::kU8},
                               {"_steps_u8", ProductForm::kSteps}};
  *form = ProductForm::kS16;
  const KernelRow* best = find_kernel((operation + std::string("_s8")).c_str(), isa);
  if (x.dtype == DType::Int16 || !fits_byte_kernels(weights)) return best;
  bool bytes = false;
  for (const Choice& c : kBytes) {
    if (c.form == ProductForm::kSteps && (range.low < 0 || range.high > kLargestStepByte)) continue;
    const KernelRow* row = find_kernel((operation + std::string(c.suffix)).c_str(), isa);
    // The scalar rows are only the twins that tests need: int16 is as fast there.
    if (row->isa == Isa::kScalar || (bytes && row->isa <= best->isa)) continue;
    best = row;
    bytes = true;
    *form = c.form;
  }
  return best;
}

bool fits_byte_kernels(const Tensor& weights) { return weights.quant && weights.quant->qmin >= -127; }

Result<bool> is_integer_product(const Tensor& x, const Tensor& w, const Tensor& y) {
  if (x.dtype == DType::Float32 && w.dtype == DType::Float32 && y.dtype == DType::Float32) return false;
  const auto quantized = [](const Tensor& t) {
    return (t.dtype == DType::Int8 || t.dtype == DType::Int16) && t.quant.has_value();
  };
  const bool output = y.dtype == DType::Float32 || quantized(y);
  if (quantized(x) && w.dtype == DType::Int8 && w.quant && output) return true;
  return unsupported(std::string("no kernel multiplies ") + dtype_name(x.dtype) + " by " + dtype_name(w.dtype) +
                     " into " + dtype_name(y.dtype) + "; float32, or quantized int8 or int16 by int8, can run");
}

Result<int32_t> activation_zero_point(const Tensor& x) {
  if (x.quant->scale.size() != 1) return unsupported("tensor '" + x.name + "' must be quantized per tensor");
  const int32_t zero_point = zero_point_at(*x.quant, 0);
  if (x.dtype == DType::Int16 && zero_point != 0)
    return unsupported("the int16 tensor '" + x.name + "' must have zero point 0");
  return zero_point;
}

Result<std::vector<float>> product_multipliers(const Tensor& x, const Tensor& w, const Tensor& y, int64_t channels) {
  const std::vector<float>& scales = w.quant->scale;
  if (scales.size() != 1 && int64_t(scales.size()) != channels) {
    return invalid_argument("weights '" + w.name + "' have " + std::to_string(scales.size()) + " scales for " +
                            std::to_string(channels) + " output channels");
  }
  if (x.quant->scale.size() != 1) return unsupported("tensor '" + x.name + "' must be quantized per tensor");
  const bool quantizes = y.dtype != DType::Float32;
  if (quantizes && y.quant->scale.size() != 1)
    return unsupported("tensor '" + y.name + "' must be quantized per tensor");
  std::vector<float> m(static_cast<size_t>(channels));
  for (size_t c = 0; c < m.size(); ++c) {
    const float s_w = scale_at(*w.quant, c), s_x = x.quant->scale[0];
    m[c] = quantizes ? requantize_multiplier(s_x, s_w, y.quant->scale[0]) : float(double(s_x) * double(s_w));
  }
  return m;
}

FloatClamp float_clamp(const Node& node) {
  if (!node.fused_clamp) return {false, 0, 0};
  return {true, node.fused_clamp->min, node.fused_clamp->max};
}

Result<Epilogue> product_epilogue(const OpPrepare& p, const Tensor& y) {
  Epilogue e{};
  e.struct_size = sizeof(Epilogue);
  if (y.dtype == DType::Float32) {
    const FloatClamp clamp = float_clamp(p.node);
    e.float_output = true;
    e.float_clamp = clamp.enabled;
    e.low = clamp.low, e.high = clamp.high;
    return e;
  }
  if (p.node.fused_clamp)
    return internal_error("a quantized output carries its activation in qmin and qmax, not in a clamp");
  e.zero_point = zero_point_at(*y.quant, 0);
  e.low = float(y.quant->qmin - e.zero_point), e.high = float(y.quant->qmax - e.zero_point);
  e.float_output = e.float_clamp = y.dtype == DType::Int16;
  if (e.float_output && e.zero_point != 0)
    return unsupported("the int16 tensor '" + y.name + "' must have zero point 0");
  return e;
}

int64_t saturating_product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t f : factors) {
    if (f == 0) return 0;
    if (__builtin_mul_overflow(product, f, &product)) product = INT64_MAX;
  }
  return product;
}

Result<std::vector<int32_t>> product_bias(const OpPrepare& p, size_t input, int64_t channels) {
  std::vector<int32_t> bias(static_cast<size_t>(channels), 0);
  if (!p.has_input(input)) return bias;
  const Tensor& b = p.input(input);
  const int64_t count = element_count(b.shape);
  if (b.dtype != DType::Int32 || !b.is_constant() || (count != channels && count != 1)) {
    return unsupported("the bias of an int8 product must be an int32 constant of " + std::to_string(channels) +
                       " values; '" + b.name + "' is " + dtype_name(b.dtype) + " " + shape_string(b.shape));
  }
  for (size_t c = 0; c < bias.size(); ++c) bias[c] = b.data.as<int32_t>()[count == 1 ? 0 : c];
  return bias;
}

}  // namespace lq
