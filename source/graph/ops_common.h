// Shared by the families' files (ops_*.cc): their tables, and helpers of shape functions. Internal to graph/.
#pragma once
#include <array>
#include <span>

#include "graph/built_ops.h"
#include "graph/op_def.h"

namespace lq {

using schema::Op;

// The families, joined by find_op.
std::span<const OpDef> product_ops();  // Conv, ConvTranspose, Gemm, MatMul
std::span<const OpDef> einsum_ops();
std::span<const OpDef> norm_ops();  // normalizations and softmax
std::span<const OpDef> unary_ops();
std::span<const OpDef> binary_ops();  // broadcasting
std::span<const OpDef> pool_ops();
std::span<const OpDef> reduce_ops();  // reductions, ArgMax, TopK
std::span<const OpDef> move_ops();    // values move, shape follows from attributes
std::span<const OpDef> index_ops();   // Slice, Gather, Split, Pad
std::span<const OpDef> resize_ops();
std::span<const OpDef> shape_ops();  // Reshape and its like, Shape, Range
std::span<const OpDef> recurrent_ops();
std::span<const OpDef> quant_ops();    // Quantize, Dequantize and what runtime passes make
std::span<const OpDef> control_ops();  // If, Custom

/// A family's rows as this build has them: those of operators it leaves out refer to no function.
template <size_t kCount>
constexpr std::array<OpDef, kCount> built_rows(const OpDef (&rows)[kCount]) {
  std::array<OpDef, kCount> result{};
  for (size_t i = 0; i < kCount; ++i) {
    result[i] = rows[i];
    if (!is_op_built(rows[i].op)) result[i].infer = nullptr, result[i].check_attrs = nullptr;
  }
  return result;
}

/// Arity, presence of what is required, kind and meaning of the attributes. Ids are taken as valid. Errors do not name
/// the node.
Status check_node(const Node& node, const OpDef& def);
/// Dims legal (−1 or 0…kMaxDim), rank at most 8, elements of a static shape at most 2^40.
Status check_shape(const Shape& shape);

inline constexpr uint32_t planning(std::initializer_list<int> inputs) {
  uint32_t bits = 0;
  for (int i : inputs) bits |= 1u << i;
  return bits;
}

/// Output 0 has the dtype and shape of input 0 (unranked included).
Status infer_same(InferContext& c);

/// Inputs i and j hold the same type. Not asked when one is unknown yet, or quantized (a fused operator reads int8 data
/// beside float or int32 parameters).
Status same_dtype(const InferContext& c, size_t i, size_t j);
Status expect_dtype(const InferContext& c, size_t i, DType dtype);
Status expect_rank(const InferContext& c, size_t i, size_t rank);
/// Input i is float (any width), or quantized in a fused graph, or not known yet.
Status expect_float(const InferContext& c, size_t i);
bool is_index_dtype(DType dtype);  // int32, int64, or not known yet
/// Scalar or one element, as far as known.
Status expect_single(const InferContext& c, size_t i);

/// Type of a result computed from input i: quantized inputs give float (unless the output tensor itself is quantized,
/// which infer_shapes honours).
DType result_dtype(const InferContext& c, size_t i);

/// "expected 3, got 4" style refusal of two dims that are both known and differ.
Status same_dim(int64_t a, int64_t b, const char* what);

/// a·b (or a + b) of two dims; unknown if either is; kInvalidArgument above kMaxDim.
Result<int64_t> mul_dims(int64_t a, int64_t b);
Result<int64_t> add_dims(int64_t a, int64_t b);

}  // namespace lq
