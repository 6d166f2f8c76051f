// What a file leaves out because its reader can tell it again: Quantize/Dequantize pairs where they stand in the usual
// place, and the scales of a bias. Internal to format/. docs/FORMAT.md, 'What is not written', is the contract.
#pragma once
#include "graph/graph.h"

namespace lq {

/// Takes out of a verified graph what expand() puts back:
/// - a Dequantize that is its quantized tensor's only reader: operators read the quantized tensor itself;
/// - a Quantize that is the only reader of a float tensor, if its Dequantize went too: the float tensor carries the
///   parameters, which says that everybody reads its quantized value;
/// - a bias' parameters, if they are exactly input scale times weight scales.
void compact(Graph& graph);

/// Puts it back. New tensors come last, in the order of their nodes; a Quantize right behind its input's producer, a
/// Dequantize right before its first reader. The graph is not verified yet: ids may be anything.
void expand(Graph& graph);

}  // namespace lq
