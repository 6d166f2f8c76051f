// Branch graphs of If: handing captured values in, putting a branch in the place of its If. Internal to graph/.
#pragma once
#include "graph/graph.h"

namespace lq {

/// Gives the branch's inputs the shape, type, parameters and, for a constant, the value of what the If captures. Counts
/// match.
void pass_captured_values(const Graph& parent, const Node& node, Graph& branch);

/// Replaces node n of graph `parent` (an If whose branches have been checked) by the nodes of branch `which`. The other
/// nodes keep their place, tensors their id; the branch's tensors are appended. Both branch graphs are emptied.
Status inline_branch(ModelIr& model, size_t parent, size_t n, int which);

/// Drops graphs no If reaches any more and renumbers the branches.
void drop_unused_graphs(ModelIr& model);

}  // namespace lq
