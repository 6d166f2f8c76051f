#pragma once
#include "graph/graph.h"

namespace lq::quantization {

/// Later stages and files name tensors: empty and repeated names get a unique one. Inputs and outputs keep theirs.
void make_names_unique(Graph& graph);

}  // namespace lq::quantization
