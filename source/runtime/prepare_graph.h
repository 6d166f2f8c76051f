// From a Model's graph to what a plan executes: shapes resolved, constants folded, Q/DQ fused, layouts assigned.
#pragma once
#include <map>
#include <string>

#include "graph/fold_budget.h"
#include "graph/graph.h"
#include "graph/op_def.h"

namespace lq {

/// Sets the shapes of the main graph's inputs. A given shape must agree with the model; a free first dimension that was
/// not given becomes 1, any other free one is an error that names input and dimension. Equal symbols get equal values.
Status apply_input_shapes(Graph& graph, const std::map<std::string, Shape>& shapes);

/// Constants captured by an If move into its branches, where operators want them constant (weights, axes). Says whether
/// anything changed.
bool sink_constants(ModelIr& model);

/// Evaluates every node whose inputs are constants (Dequantize of weights that stayed float) with the runtime's
/// kernels, within the budget.
Status fold_constants(ModelIr& model, const Evaluator& evaluator, FoldBudget& budget);

/// Afterwards every output of the main graph is a constant or written by a node of its own, every output of a branch is
/// written by a node of its own, and every output of an If exists.
void isolate_outputs(ModelIr& model);

/// The whole way, in place. `evaluator`: runtime_evaluator(), or one that watches it.
Status prepare_graph(ModelIr& model, const std::map<std::string, Shape>& input_shapes, const Evaluator& evaluator);

}  // namespace lq
