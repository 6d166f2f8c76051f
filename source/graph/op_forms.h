// Forms of an operator: which of its algorithms a node needs. A selective build (LIBQUANT_OPS, docs/EMBEDDING.md) names
// them, `lq-inspect --ops` prints a model's, and a plan asks for them node by node: one function answers all three.
#pragma once
#include <string>

#include "graph/graph.h"

namespace lq {

/// Bits. An operator with none of them is one that passes fold away: its shape function is built, no code that runs it.
enum OpForm : unsigned {
  kFormInt8 = 1 << 0,   // int8 tensors
  kFormFloat = 1 << 1,  // float tensors
  kFormOther = 1 << 2,  // neither: indices, shapes, conditions
  // Conv alone; then int8 and float are the layers that are not depthwise
  kFormDepthwiseInt8 = 1 << 3,     // with a window of 3 × 3
  kFormDepthwise5x5 = 1 << 7,      // and those of 5 × 5
  kFormDepthwiseWindows = 1 << 8,  // and any other, dilated ones too
  kFormDepthwiseFloat = 1 << 4,
  kFormWinograd = 1 << 5,  // beside int8: 3 × 3 of stride 1, which a processor may compute by Winograd
  // int16 tensors; and beside int8, products: two activations, or weights of −128 or with a zero point, which kernels
  // on bytes do not take
  kFormInt16 = 1 << 6,
};
inline constexpr unsigned kEveryForm = 0x1ff, kNotInt8 = kFormFloat | kFormOther | kFormInt16;

/// Names in LIBQUANT_OPS; cmake/lq_selective.cmake reads them here.
struct OpFormName {
  const char* name;
  unsigned form;
};
inline constexpr OpFormName kOpFormNames[] = {
    {"int8", kFormInt8},
    {"float", kFormFloat},
    {"other", kFormOther},
    {"depthwise_int8", kFormDepthwiseInt8},
    {"winograd", kFormWinograd},
    {"depthwise_float", kFormDepthwiseFloat},
    {"depthwise_5x5", kFormDepthwise5x5},
    {"depthwise_windows", kFormDepthwiseWindows},
    {"int16", kFormInt16},
    {"folded", 0},
};

/// What running this node takes. The graph is one that a plan is made of: shapes inferred, Q/DQ fused.
unsigned op_forms(const Graph& graph, const Node& node);

/// "Conv:int8+winograd": the item of LIBQUANT_OPS.
std::string op_forms_item(Op op, unsigned forms);

/// For code behind check_built, where a form this build leaves out has no branch.
Status not_built(const Node& node);

/// OK if this build has what running the node takes; otherwise a line that says what to add to LIBQUANT_OPS.
Status check_built(const Graph& graph, const Node& node);

}  // namespace lq
