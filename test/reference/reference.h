// The oracle: interprets a model with naive NCHW loops straight from docs/NUMERICS.md, node by node, with no passes, packing,
// layout or plan. Slow on purpose. Every plan must equal it bit for bit.
#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lq::reference {

struct Value {
  DType dtype = DType::Undefined;
  Shape shape;
  Bytes data;  // linear order
};

/// Runs the main graph on inputs in the model's order; outputs in the model's order.
Result<std::vector<Value>> interpret(const ModelIr& model, const std::vector<Value>& inputs);

}  // namespace lq::reference
