// Conv, ConvTranspose, Gemm, MatMul: the operators with integer accumulators (product rule).
#include "graph/ops_common.h"

namespace lq {
namespace {

using schema::ConvAttrsT;
using schema::GemmAttrsT;

Status check_conv(const Node& node) {
  const auto& a = attrs_as<ConvAttrsT>(node);
  if (a.groups < 1) return invalid_argument("groups is " + std::to_string(a.groups) + ", expected at least 1");
  if (a.auto_pad > schema::AutoPad::MAX) return invalid_argument("unknown auto_pad " + std::to_string(int(a.auto_pad)));
  for (const auto* list : {&a.kernel_shape, &a.strides, &a.dilations, &a.output_shape}) {
    for (int32_t v : *list) {
      if (v < 1)
        return invalid_argument("kernel_shape, strides, dilations and output_shape must be positive, got " +
                                std::to_string(v));
    }
  }
  for (const auto* list : {&a.pads, &a.output_padding}) {
    for (int32_t v : *list) {
      if (v < 0) return invalid_argument("pads must not be negative, got " + std::to_string(v));
    }
  }
  return {};
}

/// Types of x, w, b: one float type, or int8 data and weights with an int32 bias in a fused graph.
Status check_product_dtypes(const InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_float(c, 0));
  LQ_RETURN_IF_ERROR(same_dtype(c, 0, 1));
  return c.has_input(2) ? same_dtype(c, 0, 2) : Status();
}

Status check_bias(const InferContext& c, int64_t channels) {
  if (!c.has_input(2) || !c.ranked(2)) return {};
  LQ_RETURN_IF_ERROR(expect_rank(c, 2, 1));
  return same_dim(c.shape(2)[0], channels, "bias length and output channels");
}

Status infer_conv(InferContext& c) {
  LQ_RETURN_IF_ERROR(check_product_dtypes(c));
  const DType dtype = result_dtype(c, 0);
  if (!c.ranked(0) || !c.ranked(1)) {
    c.set_unranked(0, dtype);
    return {};
  }
  const auto& attrs = attrs_as<ConvAttrsT>(c.node());
  const Shape &x = c.shape(0), &w = c.shape(1);
  if (x.size() < 3 || w.size() != x.size()) {
    return invalid_argument("input " + shape_string(x) + " and weights " + shape_string(w) +
                            " are not [N,C,...] and [M,C/groups,...]");
  }
  LQ_ASSIGN_OR_RETURN(const int64_t channels, mul_dims(w[1], attrs.groups));
  LQ_RETURN_IF_ERROR(same_dim(x[1], channels, "input channels and weights' channels times groups"));
  if (w[0] >= 0 && (w[0] == 0 || w[0] % attrs.groups != 0)) {
    return invalid_argument(std::to_string(w[0]) + " output channels cannot be split into " +
                            std::to_string(attrs.groups) + " groups");
  }
  LQ_RETURN_IF_ERROR(check_bias(c, w[0]));
  Shape out = {x[0], w[0]};
  bool kernel_known = true;
  for (size_t i = 2; i < w.size(); ++i) kernel_known &= w[i] >= 0 || attrs.kernel_shape.size() == w.size() - 2;
  if (!kernel_known) {
    out.resize(x.size(), kUnknownDim);
  } else {
    LQ_ASSIGN_OR_RETURN(const WindowGeometry g, conv_geometry(attrs, x, w));
    out.insert(out.end(), g.output.begin(), g.output.end());
  }
  c.set_output(0, dtype, std::move(out));
  return {};
}

Status infer_conv_transpose(InferContext& c) {
  LQ_RETURN_IF_ERROR(check_product_dtypes(c));
  const DType dtype = result_dtype(c, 0);
  if (!c.ranked(0) || !c.ranked(1)) {
    c.set_unranked(0, dtype);
    return {};
  }
  const auto& attrs = attrs_as<ConvAttrsT>(c.node());
  const Shape &x = c.shape(0), &w = c.shape(1);
  if (x.size() < 3 || w.size() != x.size()) {
    return invalid_argument("input " + shape_string(x) + " and weights " + shape_string(w) +
                            " are not [N,C,...] and [C,M/groups,...]");
  }
  LQ_RETURN_IF_ERROR(same_dim(x[1], w[0], "input channels and weights' channels"));
  if (w[0] >= 0 && (w[0] == 0 || w[0] % attrs.groups != 0)) {
    return invalid_argument(std::to_string(w[0]) + " input channels cannot be split into " +
                            std::to_string(attrs.groups) + " groups");
  }
  LQ_ASSIGN_OR_RETURN(const int64_t channels, mul_dims(w[1], attrs.groups));
  if (channels == 0) return invalid_argument("weights " + shape_string(w) + " have no output channel");
  LQ_RETURN_IF_ERROR(check_bias(c, channels));
  Shape out = {x[0], channels};
  bool kernel_known = true;
  for (size_t i = 2; i < w.size(); ++i) kernel_known &= w[i] >= 0 || attrs.kernel_shape.size() == w.size() - 2;
  if (!kernel_known) {
    out.resize(x.size(), kUnknownDim);
  } else {
    LQ_ASSIGN_OR_RETURN(const WindowGeometry g, conv_transpose_geometry(attrs, x, w));
    out.insert(out.end(), g.output.begin(), g.output.end());
  }
  c.set_output(0, dtype, std::move(out));
  return {};
}

Status infer_gemm(InferContext& c) {
  LQ_RETURN_IF_ERROR(same_dtype(c, 0, 1));
  if (c.has_input(2)) LQ_RETURN_IF_ERROR(same_dtype(c, 0, 2));
  LQ_RETURN_IF_ERROR(expect_rank(c, 0, 2));
  LQ_RETURN_IF_ERROR(expect_rank(c, 1, 2));
  const auto& a = attrs_as<GemmAttrsT>(c.node());
  const Shape unknown = {kUnknownDim, kUnknownDim};
  const Shape& sa = c.ranked(0) ? c.shape(0) : unknown;
  const Shape& sb = c.ranked(1) ? c.shape(1) : unknown;
  LQ_RETURN_IF_ERROR(same_dim(sa[a.trans_a ? 0 : 1], sb[a.trans_b ? 1 : 0], "inner dimensions"));
  Shape out = {sa[a.trans_a ? 1 : 0], sb[a.trans_b ? 0 : 1]};
  if (c.has_input(2) && c.ranked(2)) {
    LQ_ASSIGN_OR_RETURN(const Shape both, broadcast(out, c.shape(2)));
    // C is broadcast one way: it must not enlarge the product.
    for (size_t i = 0; i < both.size(); ++i) {
      if (both.size() != 2 || (out[i] >= 0 && both[i] != out[i])) {
        return invalid_argument("C " + shape_string(c.shape(2)) + " does not broadcast to " + shape_string(out));
      }
    }
  }
  c.set_output(0, result_dtype(c, 0), std::move(out));
  return {};
}

Status infer_matmul(InferContext& c) {
  LQ_RETURN_IF_ERROR(same_dtype(c, 0, 1));
  const DType dtype = result_dtype(c, 0);
  if (!c.ranked(0) || !c.ranked(1)) {
    c.set_unranked(0, dtype);
    return {};
  }
  Shape a = c.shape(0), b = c.shape(1);
  if (a.empty() || b.empty()) return invalid_argument("operands must have at least one axis");
  const bool vector_a = a.size() == 1, vector_b = b.size() == 1;
  if (vector_a) a.insert(a.begin(), 1);
  if (vector_b) b.push_back(1);
  LQ_RETURN_IF_ERROR(same_dim(a.back(), b[b.size() - 2], "inner dimensions"));
  LQ_ASSIGN_OR_RETURN(Shape out, broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  if (!vector_a) out.push_back(a[a.size() - 2]);
  if (!vector_b) out.push_back(b.back());
  c.set_output(0, dtype, std::move(out));
  return {};
}

constexpr OpDef kOps[] = {
    {Op::Conv, 2, 3, 1, 1, 0, QuantRule::kProduct, LayoutRule::kBlocked, schema::Attrs::ConvAttrs, infer_conv,
     check_conv},
    {Op::ConvTranspose, 2, 3, 1, 1, 0, QuantRule::kProduct, LayoutRule::kBlocked, schema::Attrs::ConvAttrs,
     infer_conv_transpose, check_conv},
    {Op::Gemm, 2, 3, 1, 1, 0, QuantRule::kProduct, LayoutRule::kLinear, schema::Attrs::GemmAttrs, infer_gemm, nullptr},
    {Op::MatMul, 2, 2, 1, 1, 0, QuantRule::kProduct, LayoutRule::kLinear, schema::Attrs::NONE, infer_matmul, nullptr},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> product_ops() { return kBuiltOps; }

}  // namespace lq
