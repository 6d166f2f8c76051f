// The importer's table: one row an operator spelling (an op_type and the opsets in which it is written that way). The
// rows live in import_<family>.cc and are joined in import_rows.cc; adding an operator is one row and, where its form
// differs from the canonical one, a convert function.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace lq {

class NodeImport;

inline constexpr int kOldestOpset = 7, kLatestOpset = 22;

struct ImportRow {
  const char* op_type;
  int since, to;                   // opsets, inclusive
  Op op;                           // what it becomes; Undefined: nothing or several nodes
  uint8_t min_inputs, max_inputs;  // of the ONNX node; 255: any number
  Status (*convert)(NodeImport& node);
  uint32_t constant_inputs = 0;  // ONNX inputs that must be constants at import, beyond OpDef::planning_inputs
};

/// The row of a default-domain operator in a model of `opset`, or nullptr.
const ImportRow* find_import_row(std::string_view op_type, int opset);
/// "opset 8 to 22" over all rows of the operator, or "" if there is none: for messages.
std::string supported_opsets(std::string_view op_type);

/// Inputs and outputs carry over one to one, no attributes.
Status convert_plain(NodeImport& node);

std::span<const ImportRow> product_rows();      // Conv, ConvTranspose, Gemm, MatMul, Einsum, LSTM, GRU
std::span<const ImportRow> norm_rows();         // batch, instance and layer normalization, softmax
std::span<const ImportRow> elementwise_rows();  // one and two inputs, n-ary sums, Cast, Clip
std::span<const ImportRow> reduce_rows();       // pooling, reductions, ArgMax, TopK
std::span<const ImportRow> move_rows();         // Concat … Transpose, Pad, Slice
std::span<const ImportRow> resize_rows();       // Resize, Upsample, DepthToSpace, SpaceToDepth
std::span<const ImportRow> shape_rows();  // Constant, ConstantOfShape, Shape, Size, Range, Identity, Dropout, Expand …
std::span<const ImportRow> quantize_rows();  // QuantizeLinear, DequantizeLinear
std::span<const ImportRow> control_rows();   // If

}  // namespace lq
