// Operators that move values without looking at them: which of them run on NCHWc8 tensors as they lie.
#pragma once
#include "graph/graph.h"

namespace lq::passes {

/// Concat, Split, Slice, Gather, Pad, Resize.
bool moves_values(Op op);
/// Can such a node read and write NCHWc8 tensors (3-D or 4-D, known shapes)? Whole channels move along the channel
/// axis by any constant indices; along other axes pixels move with their blocks. Split into a few channels each does
/// not: blocks would be mostly empty.
bool moves_blocked(const Graph& graph, const Node& node);

}  // namespace lq::passes
